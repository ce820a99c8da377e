"""LIBRA: optimal bandwidth of each dimension of a network (arXiv 2109.11762)."""
