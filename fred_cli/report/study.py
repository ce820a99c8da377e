"""What a report is about: a workload and a strategy on some fabrics, simulated once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any

from fred_cli.drawings.charts import short
from fred_cli.drawings.roofline import Point, roofline
from fred_cli.drawings.timeline import timeline
from fred_hw.compiler.placement import Strategy
from perfmodel.studies.compare import Row
from perfmodel.studies.strategies import StrategyRow, feasible, sweep
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import FABRICS, parse_topology
from perfmodel.training.compute import Npu
from perfmodel.training.compute_model import compute_model
from perfmodel.training.estimate import simulate, summarize
from perfmodel.training.iteration import Iteration
from perfmodel.workloads.workload import PUBLISHED, Workload, load_workload, parse_strategy

__all__ = ["Question", "Study", "study"]

WORKLOAD = "transformer-17b"
ROOMY, SWEPT = 64, 128
"""NPUs up to which strategies may leave a tenth of a wafer idle, and up to which all are estimated
unasked: beyond there are too many, and each takes too long."""


@dataclass(frozen=True)
class Question:
    """What was asked for; nothing where the report is that of the published wafers.

    Parameters
    ----------
    topologies : tuple of str
        Names or files.
    workload, strategy, compute : str or None
        Name or file, such as MP2-DP5-PP2, and a name of ``COMPUTE_MODELS``.
    least_npus : int or None
        NPUs that strategies use at least.
    """

    topologies: tuple[str, ...] = ()
    workload: str | None = None
    strategy: str | None = None
    compute: str | None = None
    least_npus: int | None = None

    @property
    def own(self) -> bool:
        """Whether anything was asked for."""
        return self != Question()


@dataclass(frozen=True)
class Study:
    """One workload on fabrics, of which the first is what the others are compared with.

    Parameters
    ----------
    own : bool
        Whether it is not that of the published wafers.
    fabrics : tuple of Topology
        The first is the baseline.
    workload, strategy, compute : Workload, Strategy, str
        What is trained, how in parallel, and the model of compute.
    npu : Npu
        The roofline, before any scale.
    rows : tuple of Row
        The iteration on each fabric.
    iterations : tuple of Iteration
        The same as they were simulated.
    swept : tuple of StrategyRow
        All strategies on the first and the last fabric, fastest first; of wafers that are too large
        the given one alone. Empty where those of the paper serve.
    added : bool
        Whether the baseline is a mesh that nobody asked for.
    """

    own: bool
    fabrics: tuple[Topology, ...]
    workload: Workload
    strategy: Strategy
    compute: str
    npu: Npu
    rows: tuple[Row, ...]
    iterations: tuple[Iteration, ...]
    swept: tuple[StrategyRow, ...]
    added: bool

    @property
    def title(self) -> str:
        """The workload's name, of a file without its folder."""
        return short(self.workload.name)

    @property
    def best(self) -> Row:
        """The fastest row."""
        return max(self.rows, key=lambda row: row.speedup)

    @property
    def subject(self) -> int:
        """Place of the fabric that is looked into: the one asked for, or else the fastest."""
        if self.own:
            return len(self.fabrics) - 1
        return self.rows.index(self.best)

    @property
    def points(self) -> tuple[Point, ...]:
        """Operators on the roofline."""
        return roofline(self.workload, self.strategy.mp, self.npu)

    def timelines(self) -> dict[str, dict[str, Any]]:
        """Return the timelines of the fabric that is looked into, and of the baseline."""
        places = dict.fromkeys((self.subject, 0))
        return {self.fabrics[i].name: timeline(self.iterations[i]) for i in places}


def study(question: Question) -> Study:
    """Simulate what was asked for.

    Raises
    ------
    InputError
        A name or a file is bad, or they do not go together.
    """
    workload = load_workload(WORKLOAD if question.workload is None else question.workload)
    strategy = workload.strategy
    if question.strategy is not None:
        strategy = parse_strategy(question.strategy)
    fabrics = _fabrics(question.topologies)
    compute = question.compute
    if compute is None:
        compute = _default_compute(workload, fabrics)
    compute_model(compute).check(fabrics)
    rows: list[Row] = []
    iterations: list[Iteration] = []
    for fabric in fabrics:
        simulated = simulate(fabric, workload, strategy, compute=compute, repeats=False)
        found = summarize(fabric, workload, *simulated)
        first = rows[0].estimate if rows else found
        rows.append(Row(found, first.iteration_time_s / found.iteration_time_s))
        iterations.append(simulated[0])
    swept: tuple[StrategyRow, ...] = ()
    if question.own:
        swept = _swept(fabrics, workload, strategy, compute, question.least_npus, rows)
    return Study(
        own=question.own,
        fabrics=fabrics,
        workload=workload,
        strategy=strategy,
        compute=compute,
        npu=replace(Npu(), **fabrics[-1].npu_rates),
        rows=tuple(rows),
        iterations=tuple(iterations),
        swept=swept,
        added=len(fabrics) > len(question.topologies) == 1,
    )


def _fabrics(names: Sequence[str]) -> tuple[Topology, ...]:
    """Return the fabrics; a lone one is put beside the mesh of as many NPUs."""
    found = tuple(parse_topology(name) for name in names or FABRICS)
    last = found[-1]
    if len(found) > 1 or last.grid:
        return found
    rows = next(n for n in range(isqrt(last.npus), 0, -1) if last.npus % n == 0)
    if rows == 1:
        return found
    mesh = parse_topology(f"mesh:{last.npus // rows}x{rows}", last.protocol)
    mesh.npu_rates = last.npu_rates  # the same NPUs, on another fabric
    return (mesh, last)


def _default_compute(workload: Workload, fabrics: Sequence[Topology]) -> str:
    """Return ``calibrated`` where that is known and may be used."""
    alike = len({fabric.protocol for fabric in fabrics}) == 1
    usual = all(replace(Npu(), **fabric.npu_rates) == Npu() for fabric in fabrics)
    return "calibrated" if workload.name in PUBLISHED and alike and usual else "first-principles"


def _swept(
    fabrics: Sequence[Topology],
    workload: Workload,
    strategy: Strategy,
    compute: str,
    least_npus: int | None,
    given: Sequence[Row],
) -> tuple[StrategyRow, ...]:
    """Return all strategies on the baseline and on what is compared with it, or the given one.

    Beside those of MP, DP and PP are those with its CP, EP and SP. It is one of them, unless it
    uses fewer NPUs than were asked for.
    """
    npus = min(fabric.npus for fabric in fabrics)
    places = tuple(dict.fromkeys((0, len(fabrics) - 1)))
    if least_npus is None and npus > SWEPT:
        return tuple(StrategyRow(given[i].estimate, feasible=True) for i in places)
    least = npus if least_npus is None and npus > ROOMY else least_npus
    choices = feasible(
        workload, npus, least, cp=(1, strategy.cp), ep=(1, strategy.ep), sp=(False, strategy.sp)
    )
    if least_npus is None and strategy not in choices:
        choices.append(strategy)
    shown = [fabrics[i] for i in places]
    return sweep(shown, workload, choices, workload.samples_per_replica, compute)
