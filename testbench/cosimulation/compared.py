"""Comparison of a netlist with the Verilog that it was synthesized from, in the same bench."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from testbench.sim.kept import Written
from testbench.sim.runner import SimulationResult

from .launch import OUTPUTS

__all__ = ["Compared", "compare_with_rtl"]


@dataclass(frozen=True)
class Compared:
    """Results of a netlist and of its Verilog.

    Parameters
    ----------
    rtl, netlist : SimulationResult
        Results of the same tests.
    changes : int
        Values of outputs that were compared.
    difference : str
        The first difference in the outputs, empty if there is none.
    """

    rtl: SimulationResult
    netlist: SimulationResult
    changes: int
    difference: str

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON values."""
        kind = self.netlist.simulator
        return {"simulator": kind, "changes": self.changes, "difference": self.difference}


def compare_with_rtl(
    run: Callable[..., SimulationResult],
    spec: Any,
    work: Path,
    synthesize: Callable[[Written], str],
    **options: Any,
) -> Compared:
    """Run a regression on generated Verilog and on its netlist, and compare all outputs.

    Outputs are compared cycle by cycle, the payload of a stream while it is valid. In Icarus no
    such output may be undefined after the first reset.

    Parameters
    ----------
    run : callable
        The regression.
    spec : FileModel
        Specification to simulate.
    work : Path
        Folder for logs, in a folder for each.
    synthesize : callable
        Returns the netlist of a design.
    options
        Options of ``testbench.cosimulation.launch``.

    Raises
    ------
    SimulatorError
        The simulator is not installed or failed.
    InputError
        The design cannot be synthesized.
    """
    # The netlist comes first, as it may be refused.
    netlist = run(spec, work / "netlist", outputs=True, synthesize=synthesize, **options)
    rtl = run(spec, work / "rtl", outputs=True, **options)
    want, found = (
        (work / name / OUTPUTS).read_text(encoding="utf-8").splitlines()
        for name in ("rtl", "netlist")
    )
    tests = [test.name for test in netlist.tests]
    changes = sum(map(bool, found))
    difference = _difference(want, found, tests) if changes else "no output was recorded"
    return Compared(rtl, netlist, changes, difference)


def _difference(want: list[str], found: list[str], tests: list[str]) -> str:
    """Return the first difference in two records of outputs, as text."""
    number = -1
    for wanted, one in zip_longest(want, found, fillvalue=""):
        if wanted != one:
            cycle, name, value = (one or wanted).split()
            other = wanted.split()[-1] if wanted else "unchanged"
            what = f"{name} is {value}" if one else f"{name} does not become {value}"
            return f"{tests[max(number, 0)]}, cycle {cycle}: {what}, in the RTL {other}"
        number += not one
    return ""
