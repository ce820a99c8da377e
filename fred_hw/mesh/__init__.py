"""Routers of a 2-D mesh, the baseline, with the links of the switch."""
