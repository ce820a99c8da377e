"""Algorithms of collectives, a file each."""
