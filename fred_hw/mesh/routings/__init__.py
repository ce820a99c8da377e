"""Routing algorithms of a mesh, one file each."""
