"""Format binary16 of IEEE 754-2019."""

from .number_format import FORMATS, FloatFormat

__all__ = ["FP16"]

FP16 = FloatFormat("fp16", exponent_bits=5, fraction_bits=10)
FORMATS.add(FP16.name, FP16, rank=1)
