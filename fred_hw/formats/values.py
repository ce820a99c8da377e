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

__all__ = ["Words", "encoded", "is_nan", "numbers_of", "storage", "stored", "values_of"]

Words: TypeAlias = "NDArray[np.unsignedinteger]"


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
    fraction_bits = number_format.fraction_bits
    field, fraction = np.divmod(magnitude, 1 << fraction_bits)
    significand = fraction + ((field > 0) << fraction_bits)
    exponent = np.maximum(field, 1) - number_format.bias - fraction_bits
    value = np.ldexp(significand.astype(np.float64), exponent)
    if number_format.infinity is not None:
        value = np.where(magnitude == number_format.infinity, np.inf, value)
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
    finite = np.where(np.isfinite(values), np.abs(values), 0)
    bias, fraction_bits = number_format.bias, number_format.fraction_bits
    smallest = 1 - bias
    exponent = np.where(finite > 0, np.frexp(finite)[1] - 1, smallest).clip(smallest)
    significand = np.rint(np.ldexp(finite, fraction_bits - exponent)).astype(np.int64)
    # The hidden bit and a carry out of rounding count as one more in the exponent field.
    magnitude = significand + ((exponent.astype(np.int64) - smallest) << fraction_bits)
    beyond = np.isinf(values) | (magnitude > number_format.largest)
    magnitude = np.where(beyond, number_format.beyond, magnitude)
    result = magnitude | np.where(np.signbit(values), 1 << (number_format.bits - 1), 0)
    if number_format.canonical_nan is not None:
        nan = np.isnan(values) | (magnitude >= number_format.first_nan)
        result = np.where(nan, number_format.canonical_nan, result)
    return result.astype(kind)
