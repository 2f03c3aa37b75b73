"""Adopt a patch folder that somebody else laid out: pure rules about names, order, Dockerfiles and tags."""
