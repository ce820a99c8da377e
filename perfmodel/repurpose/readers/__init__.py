"""Readers of trained networks, one module for each format."""
