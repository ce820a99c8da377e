"""What a writer of a file says of itself, and the registry of all of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fred_hw.registry import Registry

__all__ = ["COMPANIONS", "Companion"]


@dataclass(frozen=True)
class Companion:
    """A file that comes with a design.

    Parameters
    ----------
    ending : str
        What stands behind the name of the top module in the name of the file.
    write : Callable
        From the design, one of the kinds of ``AnyDesign``, to the text of the file.
    switch_only : bool
        Whether only what has registers has it, whole switches and endpoints; others are also of
        meshes and wafers.
    fileset : str
        Of the FuseSoC core, if tools read the file: ``rtl``, ``constraints``, ``lint``, or a new
        one, which then belongs to the default target.
    file_type : str
        What FuseSoC calls such a file.
    """

    ending: str
    write: Callable[[Any], str]
    switch_only: bool = False
    fileset: str = ""
    file_type: str = ""

    def serves(self, level: str) -> bool:
        """Whether a design of a level has the file."""
        return level in ("switch", "endpoint") or not self.switch_only


COMPANIONS: Registry[Companion] = Registry("gen.companions", "companion file")
"""All of them by name, in the order of writing."""
