"""E2M3 of OCP MX (version 1.0) in the lower bits of a byte: finite numbers only."""

from .number_format import FORMATS, FloatFormat

__all__ = ["FP6_E2M3"]

FP6_E2M3 = FloatFormat(
    "fp6_e2m3",
    exponent_bits=2,
    fraction_bits=3,
    has_infinity=False,
    has_nan=False,
    padding_above=2,
)
FORMATS.add(FP6_E2M3.name, FP6_E2M3)
