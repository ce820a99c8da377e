"""Collective algorithms; each module registers its own."""
