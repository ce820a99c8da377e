"""Bandwidth, latency and sharing of links that serve in a fixed order."""
