"""Chakra execution traces (arXiv 2305.14516): files, and what becomes of their nodes."""
