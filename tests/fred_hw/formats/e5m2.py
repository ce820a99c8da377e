"""E5M2 of OCP OFP8 (revision 1.0), which is like the formats of IEEE 754."""

from fred_hw.formats.number_format import FloatFormat

__all__ = ["E5M2"]

E5M2 = FloatFormat("e5m2", exponent_bits=5, fraction_bits=2, numpy_type="float8_e5m2")
