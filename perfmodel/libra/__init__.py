"""LIBRA: how much bandwidth each dimension of a network should get (arXiv 2109.11762)."""
