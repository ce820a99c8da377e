"""Golden arithmetic of one lane, on whole arrays, written from the standards.

FP16 and BF16 sums are computed in float32 by numpy and ml_dtypes and then rounded to the format.
Rounding twice gives the same as rounding once when the wide significand has at least 2p + 2 bits
(S. A. Figueroa, "When is double rounding innocuous?", SIGNUM Newsletter 30(3), 1995): 24 bits serve
p = 11 and p = 8. The tests check it against exact rational arithmetic.
"""

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from fred_hw.checks import check_choice
from fred_hw.formats import FloatFormat, IntFormat, NumberFormat

__all__ = ["combine", "is_nan", "storage"]

Words = NDArray[np.unsignedinteger]

_FLOATS = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32}


def storage(number_format: NumberFormat) -> np.dtype[np.unsignedinteger]:
    """Return the unsigned type that holds the bits of a number, little endian."""
    return np.dtype(f"<u{number_format.width // 8}")


def is_nan(words: Words, number_format: FloatFormat) -> NDArray[np.bool_]:
    """Return which words are NaNs: all exponent bits set and a fraction (IEEE 754-2019, 3.4)."""
    infinity = ((1 << number_format.exponent_bits) - 1) << number_format.fraction_bits
    magnitude = words.astype(np.uint64) & ((1 << (number_format.width - 1)) - 1)
    return magnitude > infinity


def combine(
    a: Words, b: Words, number_format: NumberFormat, operation: str, overflow: str = "saturate"
) -> Words:
    """Return ``a`` and ``b`` reduced, element by element.

    Parameters
    ----------
    a, b : array of unsigned integers
        Bits of the operands, equal shapes.
    number_format : NumberFormat
        Their format.
    operation : str
        "sum" (IEEE 754-2019 addition, ties to even, one NaN), "max" or "min" (maximumNumber and
        minimumNumber, clause 9.6); of integers the usual.
    overflow : str
        "saturate" or "wrap", for sums of integers.

    Raises
    ------
    ValueError
        ``operation`` or ``overflow`` is none of these.
    """
    check_choice("operation", operation, ("sum", "max", "min"))
    check_choice("overflow", overflow, ("saturate", "wrap"))
    kind = storage(number_format)
    a, b = np.asarray(a, dtype=kind), np.asarray(b, dtype=kind)
    if isinstance(number_format, IntFormat):
        return _combine_integers(a, b, number_format, operation, overflow)
    if operation == "sum":
        return _add(a, b, number_format)
    return _extremum(a, b, number_format, operation)


def _add(a: Words, b: Words, number_format: FloatFormat) -> Words:
    """Add as floating point; every NaN becomes the canonical one."""
    kind = _FLOATS[number_format.name]
    with np.errstate(all="ignore"):
        total = (a.view(kind) + b.view(kind)).view(a.dtype)
    return np.where(is_nan(total, number_format), a.dtype.type(number_format.canonical_nan), total)


def _extremum(a: Words, b: Words, number_format: FloatFormat, operation: str) -> Words:
    """Choose by value; by sign between zeros; a NaN only when there is nothing else."""
    sign = number_format.width - 1

    def rank(words: Words) -> NDArray[np.int64]:
        """Return integers ordered like the numbers, -0 just below +0."""
        magnitude = (words & a.dtype.type((1 << sign) - 1)).astype(np.int64)
        return np.where(words >> a.dtype.type(sign), -magnitude - 1, magnitude)

    first = rank(a) >= rank(b) if operation == "max" else rank(a) <= rank(b)
    nan_a, nan_b = is_nan(a, number_format), is_nan(b, number_format)
    chosen = np.where((first & ~nan_a) | nan_b, a, b)
    canonical = a.dtype.type(number_format.canonical_nan)
    return np.where(nan_a & nan_b, canonical, chosen)


def _combine_integers(
    a: Words, b: Words, number_format: IntFormat, operation: str, overflow: str
) -> Words:
    """Combine two's complement integers in 64 bits, where nothing overflows."""
    signed = np.dtype(f"<i{number_format.width // 8}")
    wide_a, wide_b = a.view(signed).astype(np.int64), b.view(signed).astype(np.int64)
    if operation == "max":
        result = np.maximum(wide_a, wide_b)
    elif operation == "min":
        result = np.minimum(wide_a, wide_b)
    else:
        result = wide_a + wide_b
        if overflow == "saturate":
            limits = np.iinfo(signed)
            result = np.clip(result, limits.min, limits.max)
    return result.astype(signed).view(a.dtype)  # the conversion keeps the low bits: it wraps
