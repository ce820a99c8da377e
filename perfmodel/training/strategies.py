"""Estimates of all strategies of a workload on several fabrics, or of the fastest ones."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil

from fred_hw import progress
from fred_hw.compiler.placement import Strategy, strategies
from fred_hw.errors import InputError
from fred_hw.progress import track
from perfmodel.published import SWEEPS
from perfmodel.topology.graph import Topology
from perfmodel.training.bound import time_bounds_s
from perfmodel.training.estimate import Estimate, memory_of, simulate, summarize
from perfmodel.training.iteration import check_strategy
from perfmodel.training.placement.place import fits
from perfmodel.training.request import Request
from perfmodel.workloads.workload import Workload, with_batch

__all__ = [
    "MAX_ROWS",
    "MAX_SHARES",
    "StrategyRow",
    "batch_of",
    "fastest",
    "feasible",
    "microbatch_rule",
    "sweep",
]

MAX_ROWS = 10_000
"""Largest number of estimates: all strategies on all fabrics; hours on wafers of hundreds of
NPUs."""

MAX_SHARES = 4096
"""Largest CP or EP that can be requested."""


@dataclass(frozen=True, slots=True)
class StrategyRow:
    """Estimate of one strategy on one topology.

    Parameters
    ----------
    estimate : Estimate
        Its iteration.
    """

    estimate: Estimate

    @property
    def feasible(self) -> bool:
        """Whether weights, gradients and optimizer states fit in memory."""
        return self.estimate.memory.state_fits

    @property
    def fits(self) -> bool:
        """Whether activations fit too, possibly with recomputation."""
        return self.feasible and self.estimate.memory.fits


def feasible(
    workload: Workload,
    npus: int,
    least_npus: int | None = None,
    *,
    cp: Sequence[int] = (1,),
    ep: Sequence[int] = (1,),
    sp: bool = False,
    fabrics: Sequence[Topology] = (),
) -> list[Strategy]:
    """Return the strategies that use at least a number of NPUs and are valid for the layers.

    Those of MP, DP and PP with each of some CP, EP and SP where they go together.

    Parameters
    ----------
    workload : Workload
        Whose layers.
    npus : int
        NPUs of the wafer.
    least_npus : int or None
        90 % of the wafer if None.
    cp, ep : sequence of int
        Workers that share out a sequence, and replicas that share out experts, 1 or more.
    sp : bool
        Whether to add those with sequence parallelism.
    fabrics : sequence of Topology
        Topologies that a strategy must fit, so that each MP group is on one wafer.

    Raises
    ------
    InputError
        So many NPUs are not those of the wafer, or a CP or an EP is out of range.
    """
    for name, values in (("cp", cp), ("ep", ep)):
        bad = next((one for one in values if not 1 <= one <= MAX_SHARES), None)
        if bad is not None or not values:
            given = "none" if bad is None else bad
            raise InputError("", name, f"must be 1 to {MAX_SHARES}, not {given}")
    least = ceil(0.9 * npus) if least_npus is None else least_npus
    if not 1 <= least <= npus:
        raise InputError("", "least_npus", f"must be 1 to {npus}, not {least}")
    given = (
        Strategy(one.mp, one.dp, one.pp, context, experts, sequence)
        for context in dict.fromkeys(cp)
        for one in strategies(max(1, npus // context))
        for experts in dict.fromkeys(ep)
        for sequence in (False, True)[: 1 + sp]
        if one.dp % experts == 0 and (one.mp > 1 or not sequence) and one.workers * context <= npus
    )
    enough = (one for one in given if one.workers >= least and _goes_with(workload, one))
    return [one for one in enough if all(fits(fabric, one) for fabric in fabrics)]


def _goes_with(workload: Workload, strategy: Strategy) -> bool:
    try:
        check_strategy(workload, strategy)
    except InputError:
        return False
    return True


def microbatch_rule(workload: Workload, samples: int) -> Mapping[int, int]:
    """Return the number of microbatches for each number of pipeline stages.

    Those of the published sweep where there is one; else one without a pipeline, and with one the
    least divisor of the samples that is twice the number of stages or more.
    """
    found: dict[int, int] = {}
    divisors = _divisors(samples)
    for stages in range(1, len(workload.network.layers) + 1):
        enough = [n for n in divisors if n >= 2 * stages] or [samples]
        found[stages] = 1 if stages == 1 else enough[0]
    published = SWEEPS.get(workload.name)
    if published and published.samples_per_replica == samples:
        found.update(published.microbatches)
    return found


@lru_cache(maxsize=16)
def _divisors(number: int) -> tuple[int, ...]:
    return tuple(n for n in range(1, number + 1) if number % n == 0)


def batch_of(workload: Workload, strategy: Strategy) -> Workload:
    """Return the workload with samples per replica and microbatches set for a strategy.

    Raises
    ------
    InputError
        The strategy does not go with the layers.
    """
    check_strategy(workload, strategy)
    samples = workload.samples_per_replica
    return with_batch(workload, samples, microbatch_rule(workload, samples)[strategy.pp])


def sweep(requests: Sequence[Request], choices: Sequence[Strategy]) -> tuple[StrategyRow, ...]:
    """Estimate each strategy on each topology, ordered by time per sample.

    Behind those that fit the memory come those whose activations do not fit even if recomputed,
    and behind them those whose weights do not.

    Parameters
    ----------
    requests : sequence of Request
        One for each topology; each strategy takes the place of theirs.
    choices : sequence of Strategy
        The strategies.

    Raises
    ------
    InputError
        There are no strategies or more than ``MAX_ROWS`` estimates, or a strategy does not fit.
    """
    _check_choices(requests, choices)
    if (count := len(choices) * len(requests)) > MAX_ROWS:
        message = f"must leave at most {MAX_ROWS:,} estimates of strategies, not {count:,}"
        raise InputError("", "least_npus", message)
    given = [
        _with_strategy(request, strategy)
        for strategy in track(choices, "strategies")
        for request in requests
    ]
    return _sorted(StrategyRow(summarize(simulate(one, fitting=False))) for one in given)


def fastest(
    requests: Sequence[Request], choices: Sequence[Strategy], count: int
) -> tuple[StrategyRow, ...]:
    """Estimate the fastest strategies that fit in memory, ordered by time per sample.

    They are exact: strategies are estimated in the order of their lower bounds, until ``count`` of
    them are at least as fast as the lower bound of the next one.

    Parameters
    ----------
    requests : sequence of Request
        One for each topology; each strategy takes the place of theirs.
    choices : sequence of Strategy
        The strategies.
    count : int
        Rows of each topology, 1 or more; fewer if fewer strategies fit.

    Raises
    ------
    InputError
        There are no strategies, none fits in memory, or ``count`` is below 1.
    """
    _check_choices(requests, choices)
    if count < 1:
        raise InputError("", "best", f"must be 1 or more, not {count}")
    return _sorted(row for request in requests for row in _fastest(request, choices, count))


def _fastest(request: Request, choices: Sequence[Strategy], count: int) -> Sequence[StrategyRow]:
    given = [_with_strategy(request, strategy) for strategy in choices]
    needs = [memory_of(one) for one in track(given, "memory of strategies")]
    fitting = [(one, need) for one, need in zip(given, needs, strict=True) if need.fits]
    if not fitting:
        name = request.topology.name
        raise InputError("", "best", f"must not be given: no strategy fits in memory on {name}")
    bounds_s = time_bounds_s([one for one, _ in fitting], [need.recomputed for _, need in fitting])
    order = sorted(range(len(fitting)), key=bounds_s.__getitem__)
    rows: list[StrategyRow] = []
    for done, place in enumerate(order):
        progress.count("estimates", done)  # how many follow is not known
        if len(rows) >= count and rows[count - 1].estimate.time_per_sample_s <= bounds_s[place]:
            break
        rows.append(StrategyRow(summarize(simulate(fitting[place][0]))))
        rows.sort(key=lambda row: row.estimate.time_per_sample_s)
    return rows[:count]


def _check_choices(requests: Sequence[Request], choices: Sequence[Strategy]) -> None:
    if not choices:
        (name,) = {request.workload.name for request in requests}
        message = f"must leave a strategy that goes with {name} and the CP and EP given"
        raise InputError("", "least_npus", message)


def _with_strategy(request: Request, strategy: Strategy) -> Request:
    return replace(request, workload=batch_of(request.workload, strategy), strategy=strategy)


def _sorted(rows: Iterable[StrategyRow]) -> tuple[StrategyRow, ...]:
    by_memory_and_time = sorted(
        rows, key=lambda row: (not row.feasible, not row.fits, row.estimate.time_per_sample_s)
    )
    return tuple(by_memory_and_time)
