"""LIBRA: optimal bandwidth of each network dimension (arXiv 2109.11762)."""
