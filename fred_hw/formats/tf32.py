"""TF32: the exponent of binary32 with the fraction of binary16, in the upper bits of 32."""

from .number_format import FORMATS, FloatFormat

__all__ = ["TF32"]

TF32 = FloatFormat("tf32", exponent_bits=8, fraction_bits=10, padding_below=13)
FORMATS.add(TF32.name, TF32)
