"""Format binary32 of IEEE 754-2019."""

from .number_format import FORMATS, FloatFormat

__all__ = ["FP32"]

FP32 = FloatFormat("fp32", exponent_bits=8, fraction_bits=23)
FORMATS.add(FP32.name, FP32, rank=3)
