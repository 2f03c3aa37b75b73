"""Upstream releases: brought here, proven, kept by content, and told from each other."""
