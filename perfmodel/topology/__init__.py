"""Wafer topologies: graphs of NPUs, switches, I/O controllers and directed links."""
