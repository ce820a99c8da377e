"""Congestion controllers of a sender, each a module of pure functions of events."""
