"""ASTRA-sim 2.0 (arXiv 2303.14006): its input files, its network models, and its graph engine."""
