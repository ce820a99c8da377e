"""Number formats of a lane."""

from dataclasses import dataclass

__all__ = ["FORMATS", "FloatFormat", "IntFormat", "NumberFormat"]


@dataclass(frozen=True)
class FloatFormat:
    """A binary interchange format of IEEE 754, or one of its shape.

    Parameters
    ----------
    name : str
        Name in specifications.
    exponent_bits, fraction_bits : int
        Widths of the two fields; the significand has one more bit than the fraction.
    """

    name: str
    exponent_bits: int
    fraction_bits: int

    @property
    def width(self) -> int:
        """Bits of a number, sign included."""
        return 1 + self.exponent_bits + self.fraction_bits

    @property
    def canonical_nan(self) -> int:
        """Bits of the one NaN that arithmetic returns: positive, quiet, no payload."""
        exponent = (1 << self.exponent_bits) - 1
        return (exponent << self.fraction_bits) | (1 << (self.fraction_bits - 1))


@dataclass(frozen=True)
class IntFormat:
    """A two's complement integer.

    Parameters
    ----------
    name : str
        Name in specifications.
    width : int
        Bits of a number.
    """

    name: str
    width: int


NumberFormat = FloatFormat | IntFormat

FORMATS: dict[str, NumberFormat] = {
    "fp16": FloatFormat("fp16", 5, 10),
    "bf16": FloatFormat("bf16", 8, 7),
    "fp32": FloatFormat("fp32", 8, 23),
    "int8": IntFormat("int8", 8),
    "int16": IntFormat("int16", 16),
    "int32": IntFormat("int32", 32),
}
