"""Themis: chunked collectives whose chunks each have their own order of dimensions."""
