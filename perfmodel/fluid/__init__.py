"""Bytes on links that serve in a fixed order: the network model of every estimate."""
