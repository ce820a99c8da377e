"""Assumed constants of the model in SI base units; published ones are in published.py."""

__all__ = ["HBM_BYTES", "NUMBER_BYTES"]

HBM_BYTES = 80e9
"""Memory of an NPU [B]: five stacks of 16 GB, as on the H100 that the published NPU resembles."""

NUMBER_BYTES = 2
"""Bytes of an FP16 weight, gradient or activation [B]."""
