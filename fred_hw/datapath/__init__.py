"""Micro-switches and the interconnect built from them."""
