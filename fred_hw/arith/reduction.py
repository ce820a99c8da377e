"""The unit that reduces a lane, for every format and operation."""

from fred_hw.checks import check_choice
from fred_hw.formats import FloatFormat, NumberFormat
from fred_hw.unit import Unit

from .extremum import EXTREMA, FloatExtremum, IntExtremum
from .float_add import FloatAdd
from .int_add import IntAdd

__all__ = ["reduction_unit"]


def reduction_unit(
    number_format: NumberFormat, operation: str, overflow: str, registers: int
) -> Unit:
    """Return the unit with members ``i0``, ``i1`` and ``o`` that reduces two numbers.

    Parameters
    ----------
    number_format : NumberFormat
        Format of a lane.
    operation : str
        "sum", "max" or "min".
    overflow : str
        "saturate" or "wrap"; only sums of integers heed it.
    registers : int
        Pipeline registers, 0 to 8; the latency in cycles.

    Raises
    ------
    TypeError, ValueError
        An argument is of the wrong type or out of range.
    """
    check_choice("operation", operation, ("sum", *EXTREMA))
    if isinstance(number_format, FloatFormat):
        if operation == "sum":
            return FloatAdd(number_format=number_format, registers=registers)
        return FloatExtremum(number_format=number_format, operation=operation, registers=registers)
    if operation == "sum":
        return IntAdd(number_format=number_format, overflow=overflow, registers=registers)
    return IntExtremum(number_format=number_format, operation=operation, registers=registers)
