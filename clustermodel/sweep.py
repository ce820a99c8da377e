"""All strategies of a cluster: which ones fit in memory, and which one is fastest."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import isqrt

from fred_hw.compiler.placement import Strategy
from fred_hw.progress import track

from .file import ClusterFile, resources
from .footprint import Footprint, Training, footprint
from .hardware import Cluster
from .iteration_time import Times, times
from .model import Transformer
from .tiers import effective_bandwidth, expanded_share

__all__ = ["Best", "Point", "Variant", "best", "design_space", "strategies", "sweep"]


@dataclass(frozen=True, slots=True)
class Point:
    """A strategy evaluated on a cluster.

    Parameters
    ----------
    strategy : str
        Strategy, such as ``MP64-DP16-PP1``.
    footprint : Footprint
        Memory of an NPU.
    expanded_share : float
        Share of it that does not fit into the local memory.
    bytes_per_s : float or None
        Bandwidth of both memories together [B/s]; None if it does not fit.
    times : Times or None
        Time of an iteration by activity; None if it does not fit.
    unconstrained : Times
        The same with a sufficiently large local memory.
    """

    strategy: str
    footprint: Footprint
    expanded_share: float
    bytes_per_s: float | None
    times: Times | None
    unconstrained: Times

    @property
    def fits(self) -> bool:
        """Whether the footprint fits in memory."""
        return self.times is not None

    @property
    def time_s(self) -> float | None:
        """Time of the iteration [s]; None if the footprint does not fit."""
        return self.times and self.times.total_s


@dataclass(frozen=True, slots=True)
class Best:
    """The fastest strategies of a cluster.

    Parameters
    ----------
    feasible : Point or None
        That fits the memories; None if none does.
    unconstrained : Point
        Were the local memory large enough.
    """

    feasible: Point | None
    unconstrained: Point


@dataclass(frozen=True, slots=True)
class Variant:
    """A cluster with varied resources.

    Parameters
    ----------
    values : dict
        The varied values.
    best : Best
        The fastest strategies.
    speedup : float or None
        Speedup of the best feasible strategy over that of the unchanged cluster; None without one.
    """

    values: dict[str, float]
    best: Best
    speedup: float | None


def strategies(
    npus: int,
    training: Training,
    model: Transformer,
    pipeline: Iterable[int],
    groups: Sequence[int] = (1,),
) -> Iterator[Strategy]:
    """Yield every strategy that uses all NPUs and has at least one sample per replica.

    Parameters
    ----------
    npus : int
        NPUs in all.
    training : Training
        Gives the batch.
    model : Transformer
        Gives the layers, at least one for each stage and piece of a pipeline.
    pipeline : iterable of int
        Numbers of stages to try.
    groups : sequence of int
        Expert groups to try, of those that divide the replicas and the experts.
    """
    shared = [one for one in groups if model.experts % one == 0]
    for pp in pipeline:
        pieces = pp * (training.interleave if pp > 1 else 1)
        if npus % pp or pieces > model.layers:
            continue
        left = npus // pp
        low = [one for one in range(1, isqrt(left) + 1) if left % one == 0]
        for mp in sorted({*low, *(left // one for one in low)}):
            if left // mp <= training.batch:
                dp = left // mp
                yield from (Strategy(mp, dp, pp, ep=one) for one in shared if dp % one == 0)


def sweep(
    model: Transformer,
    cluster: Cluster,
    training: Training,
    pipeline: Iterable[int] = (1,),
    groups: Sequence[int] = (1,),
) -> tuple[Point, ...]:
    """Return every strategy of a cluster, in order of PP, then MP, then EP.

    Parameters
    ----------
    model : Transformer
        Model to train.
    cluster : Cluster
        Cluster for the training.
    training : Training
        Settings of the training.
    pipeline : iterable of int
        Numbers of stages to try.
    groups : sequence of int
        Expert groups to try.

    Raises
    ------
    ValueError
        There is no possible strategy.
    """
    found = [
        _point(model, strategy, cluster, training)
        for strategy in track(
            list(strategies(cluster.npus, training, model, pipeline, groups)), "strategies"
        )
    ]
    if not found:
        raise ValueError(
            f"must allow a strategy on all {cluster.npus} NPUs, with a sample for each of its "
            f"replicas, a layer for each of its stages and equal shares of experts, "
            f"not {training.batch}"
        )
    return tuple(found)


def _point(model: Transformer, strategy: Strategy, cluster: Cluster, training: Training) -> Point:
    if strategy.pp == 1 and training.interleave > 1:
        training = replace(training, interleave=1)
    needed = footprint(model, strategy, training)
    rate = effective_bandwidth(needed.total_bytes, cluster.local, cluster.expanded, cluster.access)

    def timed(bytes_per_s: float) -> Times:
        return times(model, strategy, training, cluster.npu, cluster.levels, bytes_per_s)

    return Point(
        strategy=str(strategy),
        footprint=needed,
        expanded_share=expanded_share(needed.total_bytes, cluster.local),
        bytes_per_s=rate,
        times=None if rate is None else timed(rate),
        unconstrained=timed(cluster.local.bytes_per_s),
    )


def best(points: Sequence[Point]) -> Best:
    """Return the fastest strategies; ties go to the first."""
    fitting = [(one.time_s, one) for one in points if one.time_s is not None]
    return Best(
        feasible=min(fitting, key=lambda pair: pair[0])[1] if fitting else None,
        unconstrained=min(points, key=lambda one: one.unconstrained.total_s),
    )


def design_space(model: Transformer, file: ClusterFile, base: Best) -> tuple[Variant, ...]:
    """Return the best strategies for each combination of varied parameters.

    Parameters
    ----------
    model : Transformer
        Model to train.
    file : ClusterFile
        Cluster, and the parameters to vary.
    base : Best
        Best strategies of the unchanged cluster.
    """
    found: list[Variant] = []
    training, pipeline, groups = file.training.plan, file.training.stages, file.training.groups
    for values, cluster in track(list(resources(file)), "variants"):
        fastest = best(sweep(model, cluster, training, pipeline, groups))
        speedup = None
        if base.feasible and fastest.feasible:
            before, after = base.feasible.time_s, fastest.feasible.time_s
            speedup = before / after if before and after else None
        found.append(Variant(values, fastest, speedup))
    return tuple(found)
