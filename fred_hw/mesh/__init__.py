"""Routers of the baseline, a 2-D mesh, with the links of the switch."""
