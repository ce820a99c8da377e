"""Network models: the time of a schedule on a topology, by name."""
