"""Cluster design: memory footprint and iteration time in closed form (COMET)."""
