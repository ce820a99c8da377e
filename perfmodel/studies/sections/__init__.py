"""Sections of the table of published figures: each module adds its own to the registry."""
