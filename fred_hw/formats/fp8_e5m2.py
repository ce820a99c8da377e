"""E5M2 of OCP OFP8 (revision 1.0), which follows IEEE 754."""

from .number_format import FORMATS, FloatFormat

__all__ = ["FP8_E5M2"]

FP8_E5M2 = FloatFormat("fp8_e5m2", exponent_bits=5, fraction_bits=2)
FORMATS.add(FP8_E5M2.name, FP8_E5M2)
