"""Broken units that the benches must notice."""
