"""Routers of a 2-D mesh, and the mesh of them: the rival of the switch, on the same links."""
