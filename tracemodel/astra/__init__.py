"""ASTRA-sim 2.0 (arXiv 2303.14006): input files, network models and graph engine."""
