"""All strategies of a workload on some fabrics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from math import ceil

from fred_hw.compiler.placement import Strategy, strategies
from fred_hw.errors import InputError
from fred_hw.progress import track
from perfmodel.collectives.select import PUBLISHED
from perfmodel.memory.file import MemoryFile
from perfmodel.published import SWEEPS
from perfmodel.topology.graph import Topology
from perfmodel.training.compute_model import compute_model
from perfmodel.training.estimate import Estimate, simulate, summarize, with_batch
from perfmodel.training.iteration import check_strategy
from perfmodel.workloads.workload import Workload

__all__ = [
    "MAX_ROWS",
    "MAX_SHARES",
    "StrategyRow",
    "batch_of",
    "feasible",
    "microbatch_rule",
    "sweep",
]

MAX_ROWS = 10_000
"""Estimates of all strategies on all fabrics at most: hours on wafers of hundreds of NPUs."""

MAX_SHARES = 4096
"""Largest CP or EP to ask for."""


@dataclass(frozen=True, slots=True)
class StrategyRow:
    """One strategy on one fabric.

    Parameters
    ----------
    estimate : Estimate
        Its iteration.
    feasible : bool
        Whether weights, gradients and optimizer fit the memory.
    """

    estimate: Estimate
    feasible: bool

    @property
    def fits(self) -> bool:
        """Whether activations fit too, perhaps recomputed."""
        return self.feasible and self.estimate.memory.fits


def feasible(
    workload: Workload,
    npus: int,
    least_npus: int | None = None,
    *,
    cp: Sequence[int] = (1,),
    ep: Sequence[int] = (1,),
    sp: Sequence[bool] = (False,),
    most: int | None = None,
) -> list[Strategy]:
    """Return the strategies that use at least so many NPUs and go with the layers.

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
    sp : sequence of bool
        Whether with sequence parallelism.
    most : int or None
        Stop after so many.

    Raises
    ------
    InputError
        So many NPUs are not those of the wafer.
    """
    least = ceil(0.9 * npus) if least_npus is None else least_npus
    if not 1 <= least <= npus:
        raise InputError("", "least-npus", f"must be 1 to {npus}, not {least}")
    given = (
        Strategy(one.mp, one.dp, one.pp, context, experts, sequence)
        for context in dict.fromkeys(cp)
        for one in strategies(max(1, npus // context))
        for experts in dict.fromkeys(ep)
        for sequence in dict.fromkeys(sp)
        if one.dp % experts == 0 and (one.mp > 1 or not sequence) and one.workers * context <= npus
    )
    found = (one for one in given if one.workers >= least and _goes_with(workload, one))
    return list(islice(found, most))


def _goes_with(workload: Workload, strategy: Strategy) -> bool:
    try:
        check_strategy(workload, strategy)
    except InputError:
        return False
    return True


def microbatch_rule(workload: Workload, samples: int) -> Mapping[int, int]:
    """Return the microbatches for each number of pipeline stages.

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


def batch_of(workload: Workload, strategy: Strategy, samples: int) -> Workload:
    """Return the workload with so many samples per replica, in microbatches for a strategy.

    Raises
    ------
    InputError
        The strategy does not go with the layers, or there are too many samples.
    """
    check_strategy(workload, strategy)
    return with_batch(workload, samples, microbatch_rule(workload, samples)[strategy.pp])


def sweep(
    topologies: Sequence[Topology],
    workload: Workload,
    choices: Sequence[Strategy],
    samples: int = 40,
    compute: str = "first-principles",
    placement: str = "auto",
    algorithm: str = PUBLISHED,
    memory: MemoryFile | None = None,
) -> tuple[StrategyRow, ...]:
    """Estimate each strategy on each fabric, fastest per sample first.

    Behind those that fit the memory come those whose activations do not fit even if recomputed,
    and behind them those whose weights do not.

    Parameters
    ----------
    topologies : sequence of Topology
        The fabrics, one or more.
    workload : Workload
        What to train.
    choices : sequence of Strategy
        How.
    samples : int
        Samples in an iteration for each replica.
    compute, placement : str
        As for ``estimate.estimate``.
    algorithm, memory : str, MemoryFile or None
        As for ``training.operations.Operations``.

    Raises
    ------
    InputError
        A strategy does not fit, an option is not one of those allowed, compute is calibrated and
        the fabrics differ in their protocols, or there are more than ``MAX_ROWS`` estimates.
    """
    compute_model(compute).check(topologies)
    if (count := len(choices) * len(topologies)) > MAX_ROWS:
        message = f"must leave at most {MAX_ROWS:,} estimates of strategies, not {count:,}"
        raise InputError("", "least-npus", message)
    rows: list[StrategyRow] = []
    for strategy in track(choices, "strategies"):
        batch = batch_of(workload, strategy, samples)
        for topology in topologies:
            how = (strategy, None, compute, placement, algorithm, memory)
            found = simulate(topology, batch, *how, fitting=False)
            need = found[0].memory
            enough = need.state_bytes <= need.available_bytes
            rows.append(StrategyRow(summarize(topology, batch, *found), enough))
    rows.sort(key=lambda row: (not row.feasible, not row.fits, row.estimate.time_per_sample_s))
    return tuple(rows)
