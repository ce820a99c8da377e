"""Maximum and minimum: golden model and hardware."""

from typing import TYPE_CHECKING

from fred_hw.formats.number_format import IntFormat, NumberFormat
from fred_hw.formats.values import Words, is_nan, values_of

from .operation import Operation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fred_hw.arith.lane_unit import LaneUnit

__all__ = ["Extremum"]


class Extremum(Operation):
    """IEEE 754-2019 maximumNumber or minimumNumber (clause 9.6), or an integer extremum.

    Parameters
    ----------
    name : str
        "max" or "min".
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.description = (
            f"{name}imumNumber of IEEE 754-2019, clause 9.6: a NaN loses against a number, -0 is "
            "below +0, and of two NaNs comes the canonical one"
        )

    def registers(self, number_format: NumberFormat) -> int:
        """Return 0, as a comparison is faster than the sum in ``Sum.registers``."""
        return 0

    def unit(self, number_format: NumberFormat, overflow: str, registers: int) -> "LaneUnit":
        from fred_hw.arith.extremum import FloatExtremum, IntExtremum

        if isinstance(number_format, IntFormat):
            return IntExtremum(
                number_format=number_format, operation=self.name, registers=registers
            )
        return FloatExtremum(number_format=number_format, operation=self.name, registers=registers)

    def golden(self, a: Words, b: Words, number_format: NumberFormat, overflow: str) -> Words:
        """Choose by value; by sign between zeros; a NaN only if both are."""
        import numpy as np

        if isinstance(number_format, IntFormat):
            first = self._first(values_of(a, number_format), values_of(b, number_format))
            return np.where(first, a, b)
        sign = number_format.bits - 1

        def rank(words: Words) -> "NDArray[np.int64]":
            """Return integers ordered like the numbers, with -0 just below +0."""
            magnitude = (words & a.dtype.type((1 << sign) - 1)).astype(np.int64)
            return np.where(words >> a.dtype.type(sign), -magnitude - 1, magnitude)

        nan_a, nan_b = is_nan(a, number_format), is_nan(b, number_format)
        chosen = np.where((self._first(rank(a), rank(b)) & ~nan_a) | nan_b, a, b)
        if number_format.canonical_nan is None:
            return chosen
        canonical = a.dtype.type(number_format.canonical_nan)
        return np.where(nan_a & nan_b, canonical, chosen)

    def _first(self, a: "NDArray[np.integer]", b: "NDArray[np.integer]") -> "NDArray[np.bool_]":
        return a >= b if self.name == "max" else a <= b
