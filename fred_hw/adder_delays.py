"""Measured delays of adders by operation, format and depth."""

from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from .files import FileModel, load_model

__all__ = ["REFERENCE_NS", "AdderDelays", "adder_delays"]

REFERENCE_NS = 0.853
"""Clock period of the fabric in a 45 nm library [ns], to which other libraries are scaled."""

_Delays = dict[str, dict[str, list[Annotated[float, Field(gt=0)]]]]


class AdderDelays(FileModel):
    """Record of all measurements.

    Parameters
    ----------
    schema : str
        ``fred-adders/3``; the field is called ``schema_name`` in Python.
    ports, lanes : int
        Size of the interconnects that were mapped.
    library : str
        Name of the cell library.
    libraries, tools : dict of str to str
        Hash of each file of the library, and versions of the tools.
    effort, target_clock_ns : str, float
        How they were mapped, and the clock that was asked for [ns].
    git_commit : str or None
        Revision of the sources.
    date, minutes : str, float
        Day of the synthesis, and its processor time [min]; None if unknown.
    verilog_sha256 : dict of str to str
        Canonical hash of the Verilog of each interconnect, by name.
    delays_ns : dict of str to dict of str to list of float
        By operation and format, the shortest clock with 0, 1, 2 and more registers [ns].
    """

    schema_name: Annotated[Literal["fred-adders/3"], Field(alias="schema")]
    ports: int
    lanes: int
    library: str
    libraries: dict[str, str]
    tools: dict[str, str]
    effort: str
    target_clock_ns: Annotated[float, Field(gt=0)]
    git_commit: str | None
    date: str | None = None
    minutes: Annotated[float, Field(ge=0)] | None = None
    verilog_sha256: dict[str, str]
    delays_ns: _Delays

    def clocks_ns(self, operation: str, format: str) -> list[float]:
        """Return the shortest clock period with 0, 1, 2 and more registers [ns].

        The list is empty if there is no measurement.
        """
        return self.delays_ns.get(operation, {}).get(format, [])


@cache
def adder_delays() -> AdderDelays:
    """Return the built-in record."""
    return load_model(AdderDelays, Path(__file__).with_suffix(".json"))
