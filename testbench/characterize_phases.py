"""Cycles of phases on a fabric with endpoints, measured by co-simulation."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fred_hw.compiler.placement import Strategy
from testbench.collectives.fabric import Finished
from testbench.collectives.phase_cycles import Job, measured_rows
from testbench.collectives.plane import PlaneRun
from testbench.measurement import Say, Spec, SpecMeasurement

__all__ = ["PhasesMeasurement"]


@dataclass(frozen=True, kw_only=True)
class PhasesMeasurement(SpecMeasurement[Spec]):
    """Cycles of each phase of the given strategies, run alone.

    Results of all are compared with the golden model, bit for bit.

    Parameters
    ----------
    strategies : Sequence of str
        Strategies such as ``MP2-DP5-PP2``.
    flits : Sequence of int
        Data that an NPU sends in a phase [flits].

    Raises
    ------
    ValueError
        While it measures: a strategy does not fit the fabric, or has no phases.
    """

    strategies: Sequence[str]
    flits: Sequence[int]

    @abstractmethod
    def jobs(self) -> list[Job]:
        """Return the phases to run."""

    @abstractmethod
    def runner(self) -> Callable[[PlaneRun, Path], Finished]:
        """Return a function that simulates the fabric in a folder."""

    def figures(self, work: Path, say: Say) -> dict[str, Any]:
        jobs = self.jobs()  # raises before anything is built
        return measured_rows(jobs, self.runner(), self.seed)

    def other_inputs(self, record: Any) -> Iterator[str]:
        yield from super().other_inputs(record)
        strategies = [str(Strategy.parse(one)) for one in self.strategies]
        yield from self.other_rows(record, strategy=strategies, flits=self.flits)

    def other_rows(self, record: Any, **wanted: Sequence[object]) -> Iterator[str]:
        """Yield the keys of rows with values other than the requested ones, and these values."""
        for name, values in wanted.items():
            other = {getattr(row, name) for row in record.rows} ^ {*values}
            if other:
                yield f"{name}: {', '.join(sorted(map(str, other)))}"
