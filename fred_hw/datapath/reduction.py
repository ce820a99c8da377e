"""The unit that reduces a lane, for every format and operation."""

from fred_hw.arith.lane_unit import LaneUnit
from fred_hw.checks import check_choice
from fred_hw.formats.number_format import NumberFormat
from fred_hw.operations.operation import OPERATIONS, fitting

__all__ = ["reduction_unit"]


def reduction_unit(
    number_format: NumberFormat, operation: str, overflow: str, registers: int
) -> LaneUnit:
    """Return the unit that reduces two numbers, with members ``i0``, ``i1`` and ``o``.

    Parameters
    ----------
    number_format : NumberFormat
        Format of a lane.
    operation : str
        One of ``OPERATIONS`` that takes the format.
    overflow : str
        One of ``OVERFLOWS``; only sums of integers heed it.
    registers : int
        Pipeline registers, 0 to 8; the latency in cycles.

    Raises
    ------
    TypeError, ValueError
        An argument is of the wrong type or out of range.
    """
    check_choice("operation", operation, OPERATIONS)
    check_choice(f"operation with format {number_format.name}", operation, fitting(number_format))
    return OPERATIONS[operation].unit(number_format, overflow, registers)
