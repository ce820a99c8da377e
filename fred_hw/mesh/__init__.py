"""Routers of a 2-D mesh, the rival of the switch, on the same links."""
