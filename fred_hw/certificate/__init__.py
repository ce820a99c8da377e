"""Routing certificates: configurations with what shows them right, and their checker."""
