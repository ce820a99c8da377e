"""Report sections that compare RTL simulation and model: whole iterations and single phases."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from fred_cli.columns.rtl import COLUMNS, SUMMARY
from fred_cli.drawings.hardware import Drawn, iterations_chart, phases_chart
from fred_cli.drawings.perfetto import perfetto
from studies.rtl import CyclesRecord, RtlRow, Summary, summaries
from studies.rtl_iteration import (
    KINDS,
    SHIPPED_ITERATIONS,
    IterationRecord,
    Lane,
    load_iteration,
    model_lanes,
    rtl_lanes,
    simulated,
)
from studies.rtl_shipped import SHIPPED_CYCLES, shipped_against_rtl

__all__ = ["Busy", "Hardware", "RtlIteration", "gather_hardware"]


@dataclass(frozen=True)
class Busy:
    """Time in which NPUs of a stage perform one kind of activity.

    Parameters
    ----------
    stage, kind : int, str
        Number of the stage, and one of ``KINDS``.
    least_s, most_s, model_s : float
        Times of the NPUs in RTL with the shortest and the longest time, and in the model [s].
    """

    stage: int
    kind: str
    least_s: float
    most_s: float
    model_s: float


@dataclass(frozen=True)
class RtlIteration:
    """An iteration in RTL simulation and in the model.

    Parameters
    ----------
    record : IterationRecord
        The measurement.
    model_s : float
        Time in the model [s].
    rtl, model : dict of int to Lane
        Activities of each NPU.
    """

    record: IterationRecord
    model_s: float
    rtl: dict[int, Lane]
    model: dict[int, Lane]

    @property
    def ratio(self) -> float:
        """Time in the model relative to RTL simulation."""
        return self.model_s / self.record.time_s

    @property
    def said(self) -> str:
        """The figures of the iteration as text."""
        return (
            f"{self.record.cycles:,} cycles or {self.record.time_s * 1e6:.2f} µs in RTL, "
            f"{self.model_s * 1e6:.2f} µs in the model, {self.ratio - 1:+.1%}"
        )

    @property
    def shown(self) -> list[int]:
        """The first NPU of each stage."""
        stages = {lane.stage: npu for npu, lane in sorted(self.rtl.items(), reverse=True)}
        return [stages[stage] for stage in sorted(stages)]

    def drawn(self) -> Drawn:
        """Return the iteration in the form to be drawn."""
        pick = [[lanes[npu] for npu in self.shown] for lanes in (self.rtl, self.model)]
        title = f"{self.record.fabric.capitalize()}: {self.said}"
        return Drawn(title, pick[0], pick[1], self._busy_words())

    def processes(self) -> dict[str, dict[str, Lane]]:
        """Return the activities of each NPU in RTL, and of each stage's first NPU in the model."""
        fabric = self.record.fabric.capitalize()
        return {
            f"{fabric}, RTL": {f"NPU {npu}": lane for npu, lane in sorted(self.rtl.items())},
            f"{fabric}, model": {f"stage {self.model[n].stage}": self.model[n] for n in self.shown},
        }

    def _busy_words(self) -> str:
        """Return busy times as text."""
        return "; ".join(
            f"stage {one.stage}, {one.kind}: {one.least_s * 1e6:.2f} to {one.most_s * 1e6:.2f} µs "
            f"in RTL, {one.model_s * 1e6:.2f} in the model"
            for one in self.busy()
        )

    def busy(self) -> list[Busy]:
        """Return the busy time of each stage by kind of activity."""
        found: list[Busy] = []
        for first in self.shown:
            stage = self.rtl[first].stage
            own = [lane for lane in self.rtl.values() if lane.stage == stage]
            for kind in KINDS:
                times = [lane.busy_s(kind) for lane in own]
                if any(times):
                    ours = self.model[first].busy_s(kind)
                    found.append(Busy(stage, kind, min(times), max(times), ours))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of the iteration as JSON values."""
        return {
            "fabric": self.record.fabric,
            "name": self.record.name,
            "strategy": self.record.strategy,
            "cycles": self.record.cycles,
            "rtl_s": self.record.time_s,
            "model_s": self.model_s,
            "ratio": self.ratio,
        }


@dataclass(frozen=True)
class Hardware:
    """Content of the sections that compare RTL and model.

    Parameters
    ----------
    iterations : tuple of RtlIteration
        RTL iterations on each fabric.
    cycles : CyclesRecord
        Measured phases.
    rows, told : tuple of RtlRow, tuple of Summary
        Comparison with the model, and its errors.
    """

    iterations: tuple[RtlIteration, ...]
    cycles: CyclesRecord[Any, Any, Any]
    rows: tuple[RtlRow, ...]
    told: tuple[Summary, ...]

    @property
    def columns(self) -> dict[str, Sequence[Any]]:
        """Columns of the tables of phases and of errors."""
        return {"rows": COLUMNS.titled, "told": SUMMARY.titled}

    @property
    def good(self) -> int:
        """Number of phases within tolerance."""
        return sum(row.ok for row in self.rows)

    @property
    def all(self) -> Summary:
        """Errors over all phases."""
        return next(one for one in self.told if one.what == "all")

    def charts(self) -> dict[str, str]:
        """Return the charts by name."""
        drawn = [one.drawn() for one in self.iterations]
        return {
            "iterations": iterations_chart(drawn, "chart-rtl-iteration"),
            "phases": phases_chart(self.rows, "chart-rtl-phases"),
        }

    def timeline(self) -> dict[str, Any]:
        """Return all iterations, in RTL and in the model, as one timeline for Perfetto."""
        each = (one.processes() for one in self.iterations)
        return perfetto({name: lanes for own in each for name, lanes in own.items()})

    def table(self) -> str:
        """Return the phases as CSV."""
        return COLUMNS.csv(self.rows)


@cache
def gather_hardware() -> Hardware:
    """Read the measurements, and simulate the same cases in the model."""
    iterations: list[RtlIteration] = []
    for name in SHIPPED_ITERATIONS:
        record = load_iteration(name)
        iteration = simulated(record).iteration
        model = model_lanes(iteration)
        rtl = rtl_lanes(record, {npu: lane.stage for npu, lane in model.items()})
        iterations.append(RtlIteration(record, iteration.time_s, rtl, model))
    every = {name: shipped_against_rtl(name) for name in SHIPPED_CYCLES}
    rows = tuple(
        replace(row, collectives=f"{one.fabric}, {row.collectives}") if one.fabric else row
        for one in every.values()
        for row in one.rows
        if row.evidence == "predicted"
    )
    return Hardware(tuple(iterations), every["wafer-20"].record, rows, summaries(rows))
