"""Faults: broken units that the benches must detect."""
