"""Placement policies; each module registers its own."""
