"""Design of clusters: what fits the memory of an NPU, and what an iteration takes (COMET)."""
