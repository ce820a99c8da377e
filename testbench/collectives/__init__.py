"""Endpoints with memories and programs on a switch, a plane or a mesh, in Icarus and C++."""
