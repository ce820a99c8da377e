"""Chakra execution traces (arXiv 2305.14516): files, conversion and ordered delivery of nodes."""
