"""Routing algorithms of a mesh, one module each."""
