"""Bandwidth, latency and sharing of links that serve transfers in a fixed order."""
