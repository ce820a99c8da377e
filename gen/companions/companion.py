"""What a writer of a file says of itself, and the registry of all of them."""

from collections.abc import Callable
from dataclasses import dataclass

from fred_hw.registry import Registry
from gen.any_design import AnyDesign
from gen.level import LEVELS

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
        Whether only levels with registers have it, switches and endpoints; others all have.
    fileset : str
        Of the FuseSoC core, if tools read the file: ``rtl``, ``constraints``, ``lint``, or a new
        one, which then belongs to the default target.
    file_type : str
        What FuseSoC calls such a file.
    """

    ending: str
    write: Callable[[AnyDesign], str]
    switch_only: bool = False
    fileset: str = ""
    file_type: str = ""

    def serves(self, level: str) -> bool:
        """Whether a design of a level has the file."""
        return not self.switch_only or LEVELS[level].registers is not None


COMPANIONS: Registry[Companion] = Registry("gen.companions", "companion file")
"""All of them by name, in the order of writing."""
