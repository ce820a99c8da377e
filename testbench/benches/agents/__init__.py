"""Drivers, sinks, monitors and scoreboards of the benches."""
