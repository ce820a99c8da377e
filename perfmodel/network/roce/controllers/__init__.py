"""Congestion controllers of a sender; each module has pure functions of events."""
