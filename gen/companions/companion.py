"""The interface of a companion file, and the registry of companion files."""

from collections.abc import Callable
from dataclasses import dataclass

from fred_hw.registry import Registry
from gen.any_design import AnyDesign

__all__ = ["COMPANIONS", "Companion"]


@dataclass(frozen=True)
class Companion:
    """A file that accompanies a design.

    Parameters
    ----------
    ending : str
        Suffix of the file name, after the name of the top module.
    write : Callable
        Returns the text of the file for a design.
    levels : tuple of str, optional
        Levels of generation whose designs come with the file; all without it.
    fileset : str
        Fileset of the FuseSoC core, if tools read the file: ``rtl``, ``constraints``, ``lint``,
        ``bench``, or a new one, which then belongs to the default target.
    file_type : str
        File type in FuseSoC.
    """

    ending: str
    write: Callable[[AnyDesign], str]
    levels: tuple[str, ...] | None = None
    fileset: str = ""
    file_type: str = ""

    def serves(self, level: str) -> bool:
        """Return whether a design of a level has the file."""
        return self.levels is None or level in self.levels


COMPANIONS: Registry[Companion] = Registry("gen.companions", "companion file")
"""All companion files by name, in the order of writing."""
