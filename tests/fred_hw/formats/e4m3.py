"""E4M3 of OCP OFP8 (revision 1.0): all that it takes to define a format without infinity."""

from fred_hw.formats.number_format import FloatFormat

__all__ = ["E4M3"]

E4M3 = FloatFormat(
    "e4m3", exponent_bits=4, fraction_bits=3, numpy_type="float8_e4m3fn", has_infinity=False
)
