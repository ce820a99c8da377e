"""Routing certificates: configurations with the data to check them, and their checker."""
