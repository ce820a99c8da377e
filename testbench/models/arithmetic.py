"""Golden arithmetic of one lane on whole arrays, written from the standards."""

import numpy as np

from fred_hw.checks import check_choice
from fred_hw.formats.number_format import OVERFLOWS, NumberFormat
from fred_hw.formats.values import Words, numbers_of, storage, stored
from fred_hw.operations.operation import OPERATIONS

__all__ = ["combine"]


def combine(
    a: Words, b: Words, number_format: NumberFormat, operation: str, overflow: str = "saturate"
) -> Words:
    """Return the elementwise reduction of ``a`` and ``b``, as storage words.

    Parameters
    ----------
    a, b : array of unsigned integers
        Storage words of the operands, equal shapes.
    number_format : NumberFormat
        Their format.
    operation : str
        One of ``OPERATIONS``; what it returns is said there.
    overflow : str
        One of ``OVERFLOWS``, for sums of integers.

    Raises
    ------
    ValueError
        ``operation`` or ``overflow`` has another value.
    """
    check_choice("operation", operation, OPERATIONS)
    check_choice("overflow", overflow, OVERFLOWS)
    kind = storage(number_format)
    a, b = (numbers_of(np.asarray(one, dtype=kind), number_format) for one in (a, b))
    return stored(OPERATIONS[operation].golden(a, b, number_format, overflow), number_format)
