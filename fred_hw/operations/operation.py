"""The interface of an operation, and the registry of operations."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from fred_hw.formats.number_format import NumberFormat
from fred_hw.formats.values import Words
from fred_hw.registry import Registry

if TYPE_CHECKING:
    from fred_hw.arith.lane_unit import LaneUnit

__all__ = ["OPERATIONS", "Operation", "fitting"]


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
        """Return the encodings of the results, given those of the operands, elementwise."""


OPERATIONS: Registry[Operation] = Registry("fred_hw.operations", "operation")
"""All operations by name."""


def fitting(number_format: NumberFormat) -> tuple[str, ...]:
    """Return the names of the operations that support a number format."""
    return tuple(name for name, one in OPERATIONS.items() if one.takes(number_format))
