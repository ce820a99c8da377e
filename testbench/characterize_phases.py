"""Cycles of phases on a fabric with endpoints, measured by co-simulation."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbench.collectives.fabric import Finished
from testbench.collectives.phase_cycles import CONFIGURATION, Job, job_row, measured_rows
from testbench.collectives.plane import PlaneRun
from testbench.measurement import Say, Spec, SpecMeasurement

__all__ = ["CyclesMeasurement", "PhasesMeasurement"]


@dataclass(frozen=True, kw_only=True)
class CyclesMeasurement(SpecMeasurement[Spec]):
    """Rows of cycles, measured on a fabric with the links and memories of ``CONFIGURATION``."""

    @abstractmethod
    def wanted_rows(self) -> Sequence[Mapping[str, Any]]:
        """Return all rows of the record as they are before measuring: without cycles."""

    def other_inputs(self, record: Any) -> Iterator[str]:
        yield from super().other_inputs(record)
        yield from (key for key, value in CONFIGURATION.items() if getattr(record, key) != value)
        wanted = self.wanted_rows()
        if not wanted:
            yield "rows"
            return
        for key in wanted[0]:
            other = {getattr(row, key) for row in record.rows} ^ {row[key] for row in wanted}
            if other:
                yield f"{key}: {', '.join(sorted(map(str, other)))}"


@dataclass(frozen=True, kw_only=True)
class PhasesMeasurement(CyclesMeasurement[Spec]):
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

    def wanted_rows(self) -> list[dict[str, Any]]:
        return [job_row(job) for job in self.jobs()]
