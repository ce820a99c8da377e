"""Subject of a report: a workload and a strategy on several fabrics, simulated once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isqrt
from typing import Any

from fred_cli.drawings.charts import short
from fred_cli.drawings.roofline import Point, roofline
from fred_cli.drawings.timeline import timeline
from fred_cli.options import EQUAL_TERMS
from fred_hw.compiler.placement import Strategy
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import FABRICS, parse_topology
from perfmodel.training.compare import Row
from perfmodel.training.compute import Npu, npu_of
from perfmodel.training.equal_terms import on_equal_terms
from perfmodel.training.estimate import simulate, summarize
from perfmodel.training.iteration import Iteration
from perfmodel.training.request import Request
from perfmodel.training.strategies import StrategyRow, feasible, sweep
from perfmodel.workloads.workload import PUBLISHED, Workload, load_workload

__all__ = ["Question", "Study", "study"]

WORKLOAD = "transformer-17b"
ROOMY, SWEPT = 64, 128
"""Largest numbers of NPUs for which strategies may leave a tenth of a wafer idle, and for which all
strategies are estimated by default; beyond that, estimates are too many and too slow."""

_ESTIMATE_S, _ESTIMATE_NPUS = 0.06, 20
"""Processor time of one estimate [s] at this number of NPUs; it grows with the square."""


@dataclass(frozen=True)
class Question:
    """The user's request; empty for the report on the published wafers.

    Parameters
    ----------
    topologies : tuple of str
        Names or files.
    workload, strategy, compute : str or None
        Name or file, such as MP2-DP5-PP2, and a name of ``COMPUTE_MODELS``.
    least_npus : int or None
        NPUs that strategies use at least.
    npu_from, as_is : str or None, bool
        As for ``equal_terms.equal_npus``.
    """

    topologies: tuple[str, ...] = ()
    workload: str | None = None
    strategy: str | None = None
    compute: str | None = None
    least_npus: int | None = None
    npu_from: str | None = None
    as_is: bool = False

    @property
    def own(self) -> bool:
        """Whether the user requested anything."""
        return self != Question()


@dataclass(frozen=True)
class Study:
    """One workload on several fabrics; the first fabric is the baseline.

    Parameters
    ----------
    own : bool
        Whether it differs from the published wafers.
    requests : tuple of Request
        One for each topology; the first is the baseline.
    rows : tuple of Row
        The iteration on each fabric.
    iterations : tuple of Iteration
        The simulated iterations.
    choices : tuple of Strategy or None
        Strategies to estimate on the first and the last fabric; None on wafers that are too large.
    added : bool
        Whether the baseline is a mesh that was added automatically.
    """

    own: bool
    requests: tuple[Request, ...]
    rows: tuple[Row, ...]
    iterations: tuple[Iteration, ...]
    choices: tuple[Strategy, ...] | None
    added: bool

    @cached_property
    def swept(self) -> tuple[StrategyRow, ...]:
        """Strategies on the first and the last fabric, fastest first; includes the given one."""
        places = self._swept_places
        if self.choices is None:
            return tuple(StrategyRow(self.rows[i].estimate) for i in places)
        return sweep([self.requests[i] for i in places], self.choices)

    @property
    def sweep_s(self) -> float:
        """Approximate processor time of ``swept`` [s]."""
        npus = max(self.fabrics[i].npus for i in self._swept_places)
        each_s = _ESTIMATE_S * (npus / _ESTIMATE_NPUS) ** 2
        return each_s * len(self.choices or ()) * len(self._swept_places)

    @property
    def _swept_places(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys((0, len(self.requests) - 1)))

    @property
    def fabrics(self) -> tuple[Topology, ...]:
        """The topologies."""
        return tuple(request.topology for request in self.requests)

    @property
    def published(self) -> bool:
        """Whether all topologies are those of the paper, for which area records exist."""
        return all(one.name in FABRICS for one in self.fabrics)

    @property
    def workload(self) -> Workload:
        """The workload that is trained."""
        return self.requests[0].workload

    @property
    def strategy(self) -> Strategy:
        """The strategy of the workload."""
        return self.requests[0].strategy

    @property
    def compute(self) -> str:
        """The compute model."""
        return self.requests[0].compute

    @property
    def npu(self) -> Npu:
        """The NPU rates of the last topology, before any compute scale."""
        return self.requests[-1].npu

    @property
    def title(self) -> str:
        """Name of the workload; for a file, without its folder."""
        return short(self.workload.name)

    @property
    def best(self) -> Row:
        """The fastest row."""
        return max(self.rows, key=lambda row: row.speedup)

    @property
    def subject(self) -> int:
        """Index of the fabric in focus: the requested one, otherwise the fastest."""
        if self.own:
            return len(self.fabrics) - 1
        return self.rows.index(self.best)

    @property
    def points(self) -> tuple[Point, ...]:
        """Operators for the roofline."""
        return roofline(self.workload, self.strategy.mp, self.npu)

    def timelines(self) -> dict[str, dict[str, Any]]:
        """Return the timelines of the fabric in focus and of the baseline."""
        places = dict.fromkeys((self.subject, 0))
        return {self.fabrics[i].name: timeline(self.iterations[i]) for i in places}


def study(question: Question) -> Study:
    """Simulate the request.

    Raises
    ------
    InputError
        A name or a file is bad, or they do not go together.
    """
    workload = load_workload(WORKLOAD if question.workload is None else question.workload)
    fabrics, npu = _fabrics(question.topologies)
    compute = question.compute
    requests = [Request.of(one, workload, question.strategy, npu=npu) for one in fabrics]
    if compute is None:
        compute = _default_compute(requests)
    asked = [replace(request, compute=compute) for request in requests]
    fair = on_equal_terms(asked, question.npu_from, as_is=question.as_is, choices=EQUAL_TERMS)
    choices = _choices(fair, question.least_npus)
    rows: list[Row] = []
    iterations: list[Iteration] = []
    for request in fair:
        simulated = simulate(request, repeats=False)
        found = summarize(simulated)
        first = rows[0].estimate if rows else found
        rows.append(Row(found, first.iteration_time_s / found.iteration_time_s))
        iterations.append(simulated.iteration)
    return Study(
        own=question.own,
        requests=fair,
        rows=tuple(rows),
        iterations=tuple(iterations),
        choices=choices,
        added=len(fabrics) > len(question.topologies) == 1,
    )


def _fabrics(names: Sequence[str]) -> tuple[tuple[Topology, ...], Npu | None]:
    """Return the topologies, and the NPU of all of them; None where each has its own.

    A lone one is put beside the mesh of as many NPUs.
    """
    found = tuple(parse_topology(name) for name in names or FABRICS)
    last = found[-1]
    if len(found) > 1 or last.grid:
        return found, None
    rows = next(n for n in range(isqrt(last.npus), 0, -1) if last.npus % n == 0)
    if rows == 1:
        return found, None
    mesh = parse_topology(f"mesh:{last.npus // rows}x{rows}", last.protocol)
    return (mesh, last), npu_of(last.npu_rates)


def _default_compute(requests: Sequence[Request]) -> str:
    """Return ``calibrated`` where calibration exists and is allowed, else the default."""
    known = requests[0].workload.name in PUBLISHED
    alike = len({request.topology.protocol for request in requests}) == 1
    usual = all(request.npu == Npu() for request in requests)
    return "calibrated" if known and alike and usual else "first-principles"


def _choices(requests: Sequence[Request], least_npus: int | None) -> tuple[Strategy, ...] | None:
    """Return the strategies to estimate; None for a large wafer without ``least_npus``.

    In addition to those of MP, DP and PP there are those with the CP, EP and SP of the given
    strategy, which is one of them unless it uses fewer NPUs than requested.
    """
    strategy, workload = requests[0].strategy, requests[0].workload
    npus = min(request.topology.npus for request in requests)
    if least_npus is None and npus > SWEPT:
        return None
    least = npus if least_npus is None and npus > ROOMY else least_npus
    cp, ep = (1, strategy.cp), (1, strategy.ep)
    fabrics = [request.topology for request in requests]
    choices = feasible(workload, npus, least, cp=cp, ep=ep, sp=strategy.sp, fabrics=fabrics)
    if least_npus is None and strategy not in choices:
        choices.append(strategy)
    return tuple(choices)
