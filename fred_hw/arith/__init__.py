"""Arithmetic units of one lane: addition, maximum and minimum."""
