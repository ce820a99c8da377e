"""Format bfloat16: binary32 of IEEE 754-2019 with the fraction cut to 7 bits."""

from .number_format import FORMATS, FloatFormat

__all__ = ["BF16"]

BF16 = FloatFormat("bf16", exponent_bits=8, fraction_bits=7)
FORMATS.add(BF16.name, BF16, rank=2)
