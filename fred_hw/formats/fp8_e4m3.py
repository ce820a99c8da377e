"""E4M3 of OCP OFP8 (revision 1.0): no infinities, and sums beyond the range become the NaN."""

from .number_format import FORMATS, FloatFormat

__all__ = ["FP8_E4M3"]

FP8_E4M3 = FloatFormat("fp8_e4m3", exponent_bits=4, fraction_bits=3, has_infinity=False)
FORMATS.add(FP8_E4M3.name, FP8_E4M3)
