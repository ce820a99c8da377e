"""Number formats of floats and integers, and the registry of all formats."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from fred_hw.checks import check_int
from fred_hw.registry import Registry

__all__ = [
    "FORMATS",
    "OVERFLOWS",
    "WIDE_FORMATS",
    "FloatFormat",
    "IntFormat",
    "NumberFormat",
    "wider_formats",
]

OVERFLOWS = ("saturate", "wrap")
"""Behaviour of integer sums beyond the range; saturation depends on the order of addition."""

_STORAGE_BITS = (8, 16, 32)


@dataclass(frozen=True)
class _Stored:
    """A number, and its place in a storage word of memory and flits."""

    name: str
    bits: int
    padding_below: int = field(default=0, kw_only=True)
    padding_above: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        what = type(self).__name__
        check_int(f"{what} bits", self.bits, minimum=2)
        for name in ("padding_below", "padding_above"):
            check_int(f"{what} {name}", getattr(self, name), minimum=0)
        if self.storage_bits not in _STORAGE_BITS:
            raise ValueError(
                f"{what} storage_bits must be one of {_STORAGE_BITS}, not {self.storage_bits}"
            )

    @property
    def storage_bits(self) -> int:
        """Bits of the storage word: the number and its padding."""
        return self.padding_below + self.bits + self.padding_above

    @property
    def place(self) -> slice:
        """Bits of the storage word that hold the number."""
        return slice(self.padding_below, self.padding_below + self.bits)


@dataclass(frozen=True)
class FloatFormat(_Stored):
    """A binary floating-point format: sign, exponent and fraction, subnormals kept.

    Without their sign, encodings are ordered like what they stand for: zero, subnormals, normal
    numbers, then the infinity if there is one, then NaNs if there are any. Arithmetic and benches
    ask the format for whatever is special.

    Parameters
    ----------
    name : str
        Name in specifications.
    exponent_bits, fraction_bits : int
        Widths of the two fields, 2 to 8 and 1 to 23; golden sums are exact enough for no more. The
        significand has one more bit than the fraction.
    has_infinity : bool
        True as in IEEE 754-2019, clause 3.4: exponents of all ones are an infinity and NaNs. False
        as in E4M3 of OCP OFP8 (revision 1.0, section 5.2): all ones in exponent and fraction are
        the one NaN, everything else is a number, and sums beyond the range become that NaN, which
        is OFP8's non-saturating conversion.
    has_nan : bool
        False as in FP6 of OCP MX (version 1.0), which requires ``has_infinity`` to
        be False: all encodings are numbers, and sums beyond the range become the largest number
        of their sign.
    padding_below, padding_above : int
        Bits of the storage word below and above the number, which fill it up to 8, 16 or 32 bits.
        Arithmetic ignores the padding of operands and clears that of results. Data that is not
        reduced keeps its padding, but conversions of ``accumulation`` clear it.

    Attributes
    ----------
    bits : int
        Bits of a number, including the sign.
    """

    bits: int = field(init=False)
    exponent_bits: int
    fraction_bits: int
    has_infinity: bool = True
    has_nan: bool = True

    def __post_init__(self) -> None:
        check_int("FloatFormat exponent_bits", self.exponent_bits, minimum=2, maximum=8)
        check_int("FloatFormat fraction_bits", self.fraction_bits, minimum=1, maximum=23)
        if self.has_infinity and not self.has_nan:
            raise ValueError("FloatFormat has_infinity must be False without NaNs, not True")
        object.__setattr__(self, "bits", 1 + self.exponent_bits + self.fraction_bits)
        super().__post_init__()

    def contains(self, other: "FloatFormat") -> bool:
        """Return whether numbers of another format can be added in this one.

        This one has infinities and all numbers of the other, which are normal here if the biases
        differ.
        """
        if not self.has_infinity or self.fraction_bits < other.fraction_bits:
            return False
        more = self.bias - other.bias
        if more == 0:
            return other.has_infinity and self.fraction_bits > other.fraction_bits
        return more >= other.fraction_bits

    @property
    def bias(self) -> int:
        """Exponent bias."""
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def largest(self) -> int:
        """Encoding of the largest finite number."""
        if self.has_infinity:
            return (((1 << self.exponent_bits) - 1) << self.fraction_bits) - 1
        return (1 << (self.bits - 1)) - 1 - self.has_nan

    @property
    def infinity(self) -> int | None:
        """Encoding of positive infinity; None if the format has none."""
        return self.largest + 1 if self.has_infinity else None

    @property
    def beyond(self) -> int:
        """Encoding of a positive sum beyond the range: infinity, NaN, or the largest number."""
        return self.largest + (self.has_infinity or self.has_nan)

    @property
    def first_nan(self) -> int:
        """Encoding of the lowest positive NaN; all higher encodings below the sign bit are NaNs.

        Without NaNs it is above all encodings.
        """
        return self.largest + 1 + self.has_infinity

    @property
    def canonical_nan(self) -> int | None:
        """Encoding of the canonical NaN, which arithmetic returns: positive, quiet, no payload.

        None if the format has no NaN.
        """
        if not self.has_nan:
            return None
        quiet = 1 << (self.fraction_bits - 1)
        return self.largest + 1 + quiet if self.has_infinity else self.first_nan


@dataclass(frozen=True)
class IntFormat(_Stored):
    """An integer format; arithmetic, golden models and benches ask it for its sign.

    Parameters
    ----------
    name : str
        Name in specifications.
    bits : int
        Bits of a number, 2 or more.
    signed : bool
        True for two's complement, False for numbers from 0 on.
    padding_below, padding_above : int
        As for ``FloatFormat``.
    """

    signed: bool = True

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the largest number."""
        size = 1 << self.bits
        return (-size // 2, size // 2 - 1) if self.signed else (0, size - 1)


NumberFormat = FloatFormat | IntFormat

FORMATS: Registry[NumberFormat] = Registry("fred_hw.formats", "number format")
"""All formats by name."""


class _WideFormats(Collection[str]):
    """Names of formats that contain another one, whatever formats are added later."""

    def __iter__(self) -> Iterator[str]:
        wide = {name for form in FORMATS.values() for name in wider_formats(form)}
        return (name for name in FORMATS if name in wide)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return any(name == one for one in self)


WIDE_FORMATS = _WideFormats()
"""Names of the formats in which numbers of another format can be accumulated."""


def wider_formats(number_format: NumberFormat) -> list[str]:
    """Return the names of the formats in which numbers of a format can be accumulated."""
    if not isinstance(number_format, FloatFormat):
        return []
    floats = ((name, one) for name, one in FORMATS.items() if isinstance(one, FloatFormat))
    return [name for name, one in floats if one.contains(number_format)]
