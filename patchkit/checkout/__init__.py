"""A directory with upstream source: what is in it, and how it is written in one step."""
