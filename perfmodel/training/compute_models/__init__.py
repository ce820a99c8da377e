"""Compute models: each module adds its own to the registry."""
