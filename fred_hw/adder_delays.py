"""Measured delays of adders by operation, format and depth."""

from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from .files import FileModel, load_model

__all__ = ["LIBRARY", "RECORD", "REFERENCE_NS", "AdderDelays", "adder_delays"]

RECORD = Path(__file__).parent / "adder_delays.json"

REFERENCE_NS = 0.853
"""Clock of the fabric in a 45 nm library [ns], to which all others are held."""

LIBRARY = "nangate45"
"""The library that delays are measured in, which synth.installed has."""

_Delays = dict[str, dict[str, list[Annotated[float, Field(gt=0)]]]]


class Library(FileModel):
    """A file of a cell library: its name and hash."""

    library: str
    sha256: str


class MeasuredDesign(FileModel):
    """What a delay is of: an interconnect of so many ports and lanes, and how it was mapped."""

    ports: int
    lanes: int
    effort: str


class AdderDelays(FileModel):
    """The record of all measurements.

    Parameters
    ----------
    schema : str
        ``fred-adders/2``; the field is called ``schema_name`` in Python.
    git_commit, tools : str, dict of str to str
        Who measured: the commit of the generator, and versions.
    measured : MeasuredDesign
        The interconnects that were mapped.
    verilog_sha256 : dict of str to str
        Hash of the Verilog of each, by name.
    library : str
        Name of the cell library.
    files : list of Library
        Its files.
    delays_ns : dict of str to dict of str to list of float
        By operation and format, the shortest clock with 0, 1, 2 and more registers [ns].
    """

    schema_name: Annotated[Literal["fred-adders/2"], Field(alias="schema")]
    git_commit: str | None
    tools: dict[str, str]
    measured: MeasuredDesign
    verilog_sha256: dict[str, str]
    library: str
    files: list[Library]
    delays_ns: _Delays

    def clocks_ns(self, operation: str, format: str) -> list[float]:
        """Return the shortest clock with 0, 1, 2 and more registers [ns].

        The list is empty if nobody has measured it.
        """
        return self.delays_ns.get(operation, {}).get(format, [])


@cache
def adder_delays() -> AdderDelays:
    """Return the record that comes with the package."""
    return load_model(AdderDelays, RECORD)
