"""Patch text: read and written byte for byte, placed and composed; pure."""
