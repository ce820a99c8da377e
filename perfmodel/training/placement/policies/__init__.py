"""Placement policies: each module adds its own to the registry."""
