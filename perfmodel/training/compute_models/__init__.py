"""Compute models; each module registers its own."""
