"""Time of one training iteration: compute from first principles, communication simulated."""

from dataclasses import dataclass

from fred_hw.compiler.placement import Strategy, dp_groups
from fred_hw.errors import InputError

from .collectives.run import CollectiveResult, run_collectives
from .compute import NUMBER_BYTES, ComputeTime, Npu, compute_time
from .provenance import Provenance
from .topology.graph import Topology
from .workload import Workload, parse_strategy

__all__ = ["NOT_MODELLED", "Estimate", "Exposed", "estimate"]

NOT_MODELLED = ("mp", "pp", "weight_streaming", "input_load", "pipeline_bubble")
"""Parts of an iteration that this version leaves out, so its time is a lower bound."""


@dataclass(frozen=True, slots=True)
class Exposed:
    """Communication during which no NPU computes [s]; None is not modelled yet, never 0."""

    mp: float | None
    dp: float | None
    pp: float | None
    weight_streaming: float | None
    input_load: float | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """One training iteration.

    Parameters
    ----------
    topology, workload, strategy : str
        What was trained where, and how in parallel.
    minibatch : int
        Samples in the iteration.
    iteration_time_s : float
        Compute and the exposed communication that is modelled [s].
    compute_s : float
        Forward and backward pass on an NPU [s].
    exposed_s : Exposed
        Communication that adds to it [s].
    not_modelled : tuple of str
        What ``iteration_time_s`` lacks.
    compute : ComputeTime
        Operations, bytes and times behind ``compute_s``.
    dp_all_reduce : CollectiveResult or None
        The simulated all-reduce of the gradients; None if each gradient has one owner.
    provenance : Provenance
        Timing records used and assumptions made.
    """

    topology: str
    workload: str
    strategy: str
    minibatch: int
    iteration_time_s: float
    compute_s: float
    exposed_s: Exposed
    not_modelled: tuple[str, ...]
    compute: ComputeTime
    dp_all_reduce: CollectiveResult | None
    provenance: Provenance


def estimate(
    topology: Topology,
    workload: Workload,
    strategy: Strategy | str | None = None,
    npu: Npu | None = None,
) -> Estimate:
    """Estimate one training iteration.

    After the backward pass the FP16 gradients are all-reduced in all DP groups at once, on the
    simulated links; nothing of it is hidden behind compute. Worker number i runs on NPU i.

    Parameters
    ----------
    topology : Topology
        Where to train.
    workload : Workload
        What to train.
    strategy : Strategy or str or None
        How to train in parallel, such as ``MP2-DP5-PP2``; that of the workload if None.
    npu : Npu or None
        The roofline; an H100-like NPU of efficiency 1 if None.

    Raises
    ------
    InputError
        The strategy is malformed, needs more NPUs than there are, or has more pipeline stages than
        the network has layers; names the field ``strategy``.
    """
    if isinstance(strategy, str):
        strategy = parse_strategy(strategy)
    strategy = strategy or workload.strategy
    _check_strategy(topology, workload, strategy)
    compute = compute_time(workload, strategy, npu)
    gradients = None
    if strategy.dp > 1:
        gradient_bytes = NUMBER_BYTES * workload.network.parameters / (strategy.mp * strategy.pp)
        groups = dp_groups(strategy)
        gradients = run_collectives(topology, "all_reduce", gradient_bytes, groups)
    dp_s = gradients.time_s if gradients else 0.0
    return Estimate(
        topology=topology.name,
        workload=workload.name,
        strategy=str(strategy),
        minibatch=workload.samples_per_replica * strategy.dp,
        iteration_time_s=compute.total_s + dp_s,
        compute_s=compute.total_s,
        exposed_s=Exposed(mp=None, dp=dp_s, pp=None, weight_streaming=None, input_load=None),
        not_modelled=NOT_MODELLED,
        compute=compute,
        dp_all_reduce=gradients,
        provenance=topology.provenance.plus(
            *compute.assumptions, *_gradient_assumptions(workload, strategy)
        ),
    )


def _check_strategy(topology: Topology, workload: Workload, strategy: Strategy) -> None:
    if strategy.workers > topology.npus:
        raise InputError(
            "",
            "strategy",
            f"must fit the {topology.npus} NPUs of {topology.name}, "
            f"not need {strategy.workers} as {strategy}",
        )
    if strategy.pp > workload.network.layers:
        raise InputError(
            "",
            "strategy",
            f"must have at most the {workload.network.layers} layers of {workload.name} "
            f"as stages, not {strategy.pp} as {strategy}",
        )


def _gradient_assumptions(workload: Workload, strategy: Strategy) -> tuple[str, ...]:
    if strategy.dp == 1:
        return ()
    after = "gradients are all-reduced after the backward pass; none of it is hidden"
    if workload.mode == "stationary":
        return (after,)
    stand_in = (
        "weight streaming is not modelled yet: the all-reduce stands in for the reduction of "
        "gradients on the way to storage"
    )
    return (after, stand_in)
