"""Simulators: location, build and run."""
