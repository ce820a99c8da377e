"""Studies: a space of points, an engine that estimates them, and a store of the results."""
