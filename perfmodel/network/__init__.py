"""Network models: the time of a schedule on a topology, selected by name."""
