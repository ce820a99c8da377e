"""Number formats of floats and integers, and the registry of all formats."""

from dataclasses import dataclass

from fred_hw.checks import check_int
from fred_hw.registry import Registry

__all__ = ["FORMATS", "OVERFLOWS", "FloatFormat", "IntFormat", "NumberFormat"]

OVERFLOWS = ("saturate", "wrap")
"""Behaviour of integer sums beyond the range; saturation depends on the order of addition."""

_WIDTHS = (8, 16, 32)


@dataclass(frozen=True)
class FloatFormat:
    """A binary floating-point format: sign, exponent and fraction, subnormals kept.

    Without their sign, encodings are ordered like what they stand for: zero, subnormals, normal
    numbers, then the infinity if there is one, then NaNs. Arithmetic and benches ask the format
    for whatever is special.

    Parameters
    ----------
    name : str
        Name in specifications.
    exponent_bits, fraction_bits : int
        Widths of the two fields, at least 2 and 1; with the sign 8, 16 or 32 bits. The significand
        has one more bit than the fraction.
    numpy_type : str
        Name of the type of numpy or ml_dtypes that golden arithmetic computes with.
    has_infinity : bool
        True as in IEEE 754-2019, clause 3.4: exponents of all ones are an infinity and NaNs. False
        as in E4M3 of OCP OFP8 (revision 1.0, section 5.2): all ones in exponent and fraction are
        the one NaN, everything else is a number, and sums beyond the range become that NaN, which
        is OFP8's non-saturating conversion.
    """

    name: str
    exponent_bits: int
    fraction_bits: int
    numpy_type: str
    has_infinity: bool = True

    def __post_init__(self) -> None:
        check_int("FloatFormat exponent_bits", self.exponent_bits, minimum=2)
        check_int("FloatFormat fraction_bits", self.fraction_bits, minimum=1)
        _check_width("FloatFormat", self.width)

    @property
    def width(self) -> int:
        """Bits of a number, including the sign."""
        return 1 + self.exponent_bits + self.fraction_bits

    @property
    def bias(self) -> int:
        """Exponent bias."""
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def largest(self) -> int:
        """Encoding of the largest finite number."""
        if self.has_infinity:
            return (((1 << self.exponent_bits) - 1) << self.fraction_bits) - 1
        return (1 << (self.width - 1)) - 2

    @property
    def infinity(self) -> int | None:
        """Encoding of positive infinity; None if the format has none."""
        return self.largest + 1 if self.has_infinity else None

    @property
    def beyond(self) -> int:
        """Encoding of a positive sum beyond the range: infinity, or the canonical NaN."""
        return self.canonical_nan if self.infinity is None else self.infinity

    @property
    def first_nan(self) -> int:
        """Encoding of the lowest positive NaN; all higher encodings below the sign bit are NaNs."""
        return self.largest + 1 + self.has_infinity

    @property
    def canonical_nan(self) -> int:
        """Encoding of the canonical NaN, which arithmetic returns: positive, quiet, no payload."""
        quiet = 1 << (self.fraction_bits - 1)
        return self.largest + 1 + quiet if self.has_infinity else self.first_nan


@dataclass(frozen=True)
class IntFormat:
    """An integer format; arithmetic, golden models and benches ask it for its sign.

    Parameters
    ----------
    name : str
        Name in specifications.
    width : int
        Bits of a number: 8, 16 or 32.
    signed : bool
        True for two's complement, False for numbers from 0 on.
    """

    name: str
    width: int
    signed: bool = True

    def __post_init__(self) -> None:
        _check_width("IntFormat", self.width)


def _check_width(what: str, width: object) -> None:
    """Fail for widths that benches and golden arithmetic cannot hold in whole words."""
    if check_int(f"{what} width", width, minimum=1) not in _WIDTHS:
        raise ValueError(f"{what} width must be one of {_WIDTHS}, not {width}")


NumberFormat = FloatFormat | IntFormat

FORMATS: Registry[NumberFormat] = Registry("fred_hw.formats", "number format")
"""All formats by name."""
