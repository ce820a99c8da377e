"""E3M2 of OCP MX (version 1.0) in the lower bits of a byte: finite numbers only."""

from .number_format import FORMATS, FloatFormat

__all__ = ["FP6_E3M2"]

FP6_E3M2 = FloatFormat(
    "fp6_e3m2",
    exponent_bits=3,
    fraction_bits=2,
    has_infinity=False,
    has_nan=False,
    padding_above=2,
)
FORMATS.add(FP6_E3M2.name, FP6_E3M2)
