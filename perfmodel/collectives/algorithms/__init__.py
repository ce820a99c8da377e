"""Collective algorithms: each module adds its own to the registry."""
