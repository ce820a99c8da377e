"""The interface of an operation, and the registry of operations."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, TypeAlias

from fred_hw.formats.number_format import FloatFormat, IntFormat, NumberFormat
from fred_hw.registry import Registry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fred_hw.arith.lane_unit import LaneUnit

__all__ = [
    "OPERATIONS",
    "Operation",
    "Words",
    "fitting",
    "float_type",
    "int_type",
    "is_nan",
    "storage",
]

Words: TypeAlias = "NDArray[np.unsignedinteger]"


class Operation(ABC):
    """A reduction of two numbers: its hardware and its golden model.

    The two are independent: ``golden`` is written from the standards, on whole arrays. Hardware
    is imported where it is built, and numpy where it computes: a specification needs neither.

    Attributes
    ----------
    description : str
        The operation, for readers of the documentation.
    overflows : bool
        Whether results of integers can pass the range, so that ``overflow`` matters.
    """

    description: str
    overflows: bool = False

    def takes(self, number_format: NumberFormat) -> bool:
        """Return whether the operation supports a format; by default every format."""
        return True

    def registers(self, number_format: NumberFormat) -> int:
        """Return the hardware's registers for ``adder_registers: auto``, 0 to 8.

        They should be as few as reach the clock of 0.853 ns; see ``Sum.registers``.
        """
        return 2

    @abstractmethod
    def unit(self, number_format: NumberFormat, overflow: str, registers: int) -> "LaneUnit":
        """Return the hardware; ``registers`` is its latency in cycles, 0 to 8."""

    @abstractmethod
    def golden(self, a: Words, b: Words, number_format: NumberFormat, overflow: str) -> Words:
        """Return the bits of the results, given the bits of the operands, elementwise."""


OPERATIONS: Registry[Operation] = Registry("fred_hw.operations", "operation")
"""All operations by name."""


def fitting(number_format: NumberFormat) -> tuple[str, ...]:
    """Return the names of the operations that support a number format."""
    return tuple(name for name, one in OPERATIONS.items() if one.takes(number_format))


def storage(number_format: NumberFormat) -> "np.dtype[Any]":
    """Return the little-endian type that holds the bits of a number.

    Nothing else says how wide the words are that hold numbers.
    """
    import numpy as np

    return np.dtype(f"<u{number_format.width // 8}")


def int_type(number_format: IntFormat) -> "np.dtype[Any]":
    """Return the numpy integer type of a format, signed or unsigned."""
    import numpy as np

    kind = "i" if number_format.signed else "u"
    return np.dtype(f"<{kind}{storage(number_format).itemsize}")


def float_type(number_format: FloatFormat) -> "np.dtype[Any]":
    """Return the numpy or ml_dtypes type that computes in a float format."""
    import ml_dtypes
    import numpy as np

    return np.dtype(getattr(ml_dtypes, number_format.numpy_type, number_format.numpy_type))


def is_nan(words: Words, number_format: FloatFormat) -> "NDArray[np.bool_]":
    """Return which words are NaN encodings."""
    import numpy as np

    magnitude = words.astype(np.uint64) & ((1 << (number_format.width - 1)) - 1)
    return magnitude >= number_format.first_nan
