"""Stimulus for the hardware."""
