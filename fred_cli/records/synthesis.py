"""Measurements by synthesis, for built-in records."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fred_hw.errors import InputError
from synth.installed import library_path
from synth.liberty import Libraries, read_libraries
from synth.mapping import find_yosys
from synth.timing import find_opensta
from testbench.measurement import Measurement, Say, git_commit, today
from testbench.sim.cache import cpu_s

__all__ = ["EFFORT", "LIBRARY", "SynthesisMeasurement"]

LIBRARY, EFFORT = "nangate45", "speed"


@dataclass(frozen=True, kw_only=True)
class SynthesisMeasurement(Measurement):
    """A measurement of clocks or areas with the cells of ``LIBRARY``.

    Parameters
    ----------
    effort : str
        Effort of the mapping.
    """

    simulators: tuple[str, ...] = ()
    effort: str = EFFORT

    @cached_property
    def cells(self) -> Libraries:
        """The cell library."""
        return read_libraries([library_path(LIBRARY)])

    def tools(self) -> dict[str, str]:
        opensta = find_opensta()
        return {"Yosys": find_yosys()} | ({"OpenSTA": opensta} if opensta else {})

    def recorded_tools(self, record: Any) -> dict[str, str]:
        return record.tools

    def head(self) -> dict[str, Any]:
        return {
            "library": LIBRARY,
            "libraries": {one.path.name: one.sha256 for one in self.cells.files},
            "tools": self.tools(),
            "effort": self.effort,
        }

    def other_inputs(self, record: Any) -> Iterator[str]:
        wanted = {key: value for key, value in self.head().items() if key != "tools"}
        yield from (key for key, value in wanted.items() if getattr(record, key) != value)

    def record(self, work: Path, say: Say = lambda _: None) -> dict[str, Any]:
        """Run the measurement, and return the record.

        Raises
        ------
        InputError
            Yosys, OpenSTA or the library is not installed or fails.
        """
        if "OpenSTA" not in self.tools():
            raise InputError("OpenSTA", "", "must be installed, as a record has measured clocks")
        begun_s = cpu_s()
        figures = self.figures(work, say)
        return {
            "schema": self.SCHEMA,
            **self.head(),
            "git_commit": git_commit(),
            "date": today(),
            "minutes": round((cpu_s() - begun_s) / 60, 1),
            **figures,
        }
