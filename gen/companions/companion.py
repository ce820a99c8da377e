"""What a writer of a file says of itself, and the registry of all of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fred_hw.registry import Registry

if TYPE_CHECKING:
    from gen.design import Design

__all__ = ["COMPANIONS", "Companion"]


@dataclass(frozen=True)
class Companion:
    """A file that comes with a design.

    Parameters
    ----------
    ending : str
        What stands behind the name of the top module in the name of the file.
    write : Callable
        From the design to the text of the file.
    switch_only : bool
        Whether only whole switches have it.
    """

    ending: str
    write: Callable[["Design"], str]
    switch_only: bool = False


COMPANIONS: Registry[Companion] = Registry("gen.companions", "companion file")
"""All of them by name, in the order of writing."""
