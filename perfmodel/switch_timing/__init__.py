"""Timing records of switches, routers and endpoints, and the provenance of results."""
