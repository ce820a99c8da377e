"""Themis: chunked collectives in which each chunk has its own order of dimensions."""
