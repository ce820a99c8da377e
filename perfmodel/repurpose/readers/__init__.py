"""Readers of trained networks, one module per format."""
