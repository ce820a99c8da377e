"""Values of encoded numbers, and encodings of values, for golden models.

Floats are computed in float64. Rounding a sum to 53 bits and then to p bits gives the same as
rounding once when 53 is at least 2p + 2 (S. A. Figueroa, "When is double rounding innocuous?",
SIGNUM Newsletter 30(3), 1995), and so for every ``FloatFormat``. The tests check it against exact
rational arithmetic and against numpy and ml_dtypes.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

from .number_format import FloatFormat, IntFormat, NumberFormat

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "Words",
    "converted",
    "encoded",
    "is_nan",
    "numbers_of",
    "storage",
    "stored",
    "values_of",
]

Words: TypeAlias = "NDArray[np.unsignedinteger]"

_FRACTION_BITS, _BIAS = 52, 1023
"""Of float64. With the bias of a format, its fields begin with the fields of that format."""


def storage(number_format: NumberFormat) -> "np.dtype[Any]":
    """Return the little-endian type of storage words."""
    import numpy as np

    return np.dtype(f"<u{number_format.storage_bits // 8}")


def numbers_of(words: Words, number_format: NumberFormat) -> Words:
    """Return the encodings that storage words hold, without padding."""
    mask = (1 << number_format.bits) - 1
    return (words >> number_format.padding_below) & mask


def stored(numbers: "NDArray[Any]", number_format: NumberFormat) -> Words:
    """Return storage words of encodings, with zeros as padding."""
    return numbers.astype(storage(number_format)) << number_format.padding_below


def is_nan(numbers: Words, number_format: FloatFormat) -> "NDArray[np.bool_]":
    """Return which encodings are NaNs."""
    import numpy as np

    magnitude = numbers.astype(np.int64) & ((1 << (number_format.bits - 1)) - 1)
    return magnitude >= number_format.first_nan


def values_of(numbers: Words, number_format: NumberFormat) -> "NDArray[Any]":
    """Return the values of encodings, as int64 or float64."""
    import numpy as np

    whole = numbers.astype(np.int64)
    sign = 1 << (number_format.bits - 1)
    if isinstance(number_format, IntFormat):
        return (whole ^ sign) - sign if number_format.signed else whole
    magnitude = whole & (sign - 1)
    fields = magnitude << (_FRACTION_BITS - number_format.fraction_bits)
    value = fields.view(np.float64) * 2.0 ** (_BIAS - number_format.bias)
    if number_format.infinity is not None:
        value = np.where(magnitude == number_format.infinity, np.inf, value)
    if number_format.has_nan:
        value = np.where(magnitude >= number_format.first_nan, np.nan, value)
    return np.where(whole & sign, -value, value)


def encoded(
    values: "NDArray[Any]", number_format: NumberFormat, overflow: str = "saturate"
) -> Words:
    """Return the encodings of the nearest numbers, ties to even.

    Parameters
    ----------
    values : array of int64 or float64
        Sums, or other values with enough bits to be rounded once more.
    number_format : NumberFormat
        Their format. A float beyond the range becomes ``FloatFormat.beyond``.
    overflow : str
        One of ``OVERFLOWS``, for integers.
    """
    import numpy as np

    kind = storage(number_format)
    if isinstance(number_format, IntFormat):
        if overflow == "saturate":
            values = np.clip(values, *number_format.limits)
        return (values & ((1 << number_format.bits) - 1)).astype(kind)
    fields = (np.abs(values) * 2.0 ** (number_format.bias - _BIAS)).view(np.int64)
    cut = _FRACTION_BITS - number_format.fraction_bits
    last_place = fields >> cut & 1
    # A carry out of the fraction is right in the exponent. Infinity and NaN exceed all numbers.
    rounded = (fields + ((1 << (cut - 1)) - 1) + last_place) >> cut
    magnitude = np.minimum(rounded, number_format.beyond)
    result = magnitude | np.signbit(values).astype(np.int64) << (number_format.bits - 1)
    if number_format.canonical_nan is not None:
        nan = np.isnan(values) | (magnitude >= number_format.first_nan)
        result = np.where(nan, number_format.canonical_nan, result)
    return result.astype(kind)


def converted(words: Words, given: FloatFormat, wanted: FloatFormat) -> Words:
    """Return storage words in another format, of which one contains the other.

    Numbers are rounded to nearest, ties to even. A NaN keeps its sign and the upper bits of its
    payload; if none of these are set it becomes a quiet one. In a format without NaNs it becomes
    the largest number.
    """
    import numpy as np

    numbers = numbers_of(words, given)
    result = encoded(values_of(numbers, given), wanted).astype(np.int64)
    whole = numbers.astype(np.int64)
    sign = (whole >> (given.bits - 1)) << (wanted.bits - 1)
    payload = whole & ((1 << given.fraction_bits) - 1)
    more = wanted.fraction_bits - given.fraction_bits
    payload = payload << more if more >= 0 else payload >> -more
    quiet = 1 << (wanted.fraction_bits - 1)
    nan = wanted.beyond
    if wanted.infinity is not None:
        nan = wanted.infinity | np.where(payload == 0, quiet, payload)
    result = np.where(is_nan(numbers, given), sign | nan, result)
    return stored(result, wanted)
