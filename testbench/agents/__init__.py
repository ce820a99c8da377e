"""Drivers, sinks, monitors and scoreboards of benches (docs/how-to/agents.md)."""
