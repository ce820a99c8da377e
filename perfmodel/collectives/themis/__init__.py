"""Collectives in chunks, each of which takes the dimensions of a network in an order of its own."""
