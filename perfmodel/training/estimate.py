"""Time of one training iteration: compute and simulated communication, taken apart."""

from dataclasses import dataclass, replace

from fred_hw.checks import check_int
from fred_hw.compiler.placement import Strategy
from fred_hw.errors import InputError
from perfmodel.collectives.select import PUBLISHED
from perfmodel.memory.file import MemoryFile, check_tier
from perfmodel.switch_timing.provenance import Provenance
from perfmodel.topology.graph import Topology
from perfmodel.workloads.file import MAX_MICROBATCHES, MAX_SAMPLES
from perfmodel.workloads.workload import Workload, parse_strategy

from .compute import Npu, npu_of
from .compute_model import compute_model
from .iteration import Iteration, Plan, simulate_iteration
from .memory import Memory
from .operations import Operations
from .parts import Exposed
from .placement.place import Placement, place
from .search import default_placement

__all__ = ["Estimate", "estimate", "simulate", "summarize", "with_batch"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """One training iteration.

    Parameters
    ----------
    topology, workload, strategy, placement : str
        What was trained where, how in parallel, and how workers were placed.
    npus : tuple of int
        NPU of each worker.
    mode : str
        ``stationary`` or ``streaming``.
    minibatch : int
        Samples in the iteration.
    iteration_time_s : float
        Compute time and exposed time together [s].
    time_per_sample_s : float
        The same divided by the samples [s].
    rank : int
        NPU whose compute and exposed time are given: the first of those that end last.
    compute_s : float
        Time in which this NPU computes [s].
    exposed_s : Exposed
        Iteration time minus ``compute_s``, by what this NPU waits for [s].
    busy_s : float
        Compute of the NPU that computes most [s].
    critical_path_s : dict
        The same iteration along its critical path, which runs over all NPUs: compute and each
        kind of communication on the path [s].
    peak_share : float or None
        Rate of matrix products and convolutions, on average over the NPUs and ``busy_s``, divided
        by the peak of the NPU. Above 1 there is no such NPU: so it is where compute is calibrated.
        None where the model of compute does not tell it, and where there is no compute.
    communication_s : dict
        All communication of each kind, hidden or not, on the stage that has most of it [s].
    compute_model : str
        As for ``compute_model.compute_model``.
    compute_scale : float
        What the compute times were multiplied by; 1 from first principles.
    memory : Memory
        Need of the NPU that needs most.
    memory_verdict : str
        Whether that fits.
    provenance : Provenance
        Timing records used and assumptions made.
    """

    topology: str
    workload: str
    strategy: str
    placement: str
    npus: tuple[int, ...]
    mode: str
    minibatch: int
    iteration_time_s: float
    time_per_sample_s: float
    rank: int
    compute_s: float
    exposed_s: Exposed
    busy_s: float
    critical_path_s: dict[str, float]
    peak_share: float | None
    communication_s: dict[str, float]
    compute_model: str
    compute_scale: float
    memory: Memory
    memory_verdict: str
    provenance: Provenance


def estimate(
    topology: Topology,
    workload: Workload,
    strategy: Strategy | str | None = None,
    npu: Npu | None = None,
    compute: str = "first-principles",
    placement: str = "auto",
    algorithm: str = PUBLISHED,
    memory: MemoryFile | None = None,
) -> Estimate:
    """Estimate one training iteration.

    Parameters
    ----------
    topology : Topology
        Where to train.
    workload : Workload
        What to train.
    strategy : Strategy or str or None
        How to train in parallel, such as ``MP2-DP5-PP2`` (MP is tensor parallelism, by the
        paper's name); that of the workload if None.
    npu : Npu or None
        The roofline; if None that of the topology, an H100 unless its file says more.
    compute : str
        As for ``compute_model.compute_model``; calibration only knows the published workloads,
        and the compute rates of the default NPU.
    placement : str
        ``auto``, ``anneal`` or one of ``training.placement.policy.POLICIES``.
    algorithm, memory : str, MemoryFile or None
        As for ``operations.Operations``.

    Raises
    ------
    InputError
        The strategy is malformed, needs more NPUs than there are, or does not go with the layers;
        the placement or the compute model is not one of those allowed; compute is calibrated, and
        the NPU not the one of the calibration; the memory is none, or too small for the NPUs; or
        the model does not fit.
    """
    return summarize(
        topology,
        workload,
        *simulate(topology, workload, strategy, npu, compute, placement, algorithm, memory),
    )


def simulate(
    topology: Topology,
    workload: Workload,
    strategy: Strategy | str | None = None,
    npu: Npu | None = None,
    compute: str = "first-principles",
    placement: str = "auto",
    algorithm: str = PUBLISHED,
    memory: MemoryFile | None = None,
    *,
    fitting: bool = True,
    repeats: bool = True,
) -> tuple[Iteration, Npu, float, str]:
    """Simulate what :func:`estimate` sums up; return it, the NPU, the scale and ``compute``.

    What does not fit the memory is refused only if it is to be ``fitting``. Without ``repeats``
    the iteration has all tasks, and all microbatches are simulated.
    """
    if isinstance(strategy, str):
        strategy = parse_strategy(strategy)
    strategy = strategy or workload.strategy
    if memory:
        check_tier(memory, topology.npus, "memory")
    model = compute_model(compute)
    npu = npu or npu_of(topology.npu_rates)
    scale = model.scale(workload.name, topology, npu)
    npu = model.npu(npu)

    how = (topology, workload)

    def iteration_s(placed: Placement) -> float:
        there = Operations(topology, placed, algorithm, memory)
        return simulate_iteration(*how, placed, npu, scale, there, repeats=repeats).time_s

    if fitting:  # before placements are compared: the need does not depend on the placement
        anywhere = place(topology, strategy)
        there = Operations(topology, anywhere, algorithm, memory)
        _check_memory(workload, strategy, Plan(*how, anywhere, npu, there).memory)
    by = (placement, iteration_s, algorithm, memory)
    placed = default_placement(*how, strategy, *by)
    operations = Operations(topology, placed, algorithm, memory)
    iteration = simulate_iteration(*how, placed, npu, scale, operations, repeats=repeats)
    return iteration, npu, scale, compute


def summarize(
    topology: Topology,
    workload: Workload,
    iteration: Iteration,
    npu: Npu,
    scale: float,
    compute: str,
) -> Estimate:
    """Return the figures of a simulated iteration."""
    strategy = iteration.placement.strategy
    minibatch = workload.samples_per_replica * strategy.dp
    # A backward pass has twice the operations of the forward pass, which may run again.
    passes = 4 if iteration.memory.recomputed else 3
    flops = passes * workload.network.forward_flops * minibatch / strategy.workers
    model = compute_model(compute)
    peak_share = None
    if iteration.busy_s and model.identified(workload.name, topology):
        peak_share = flops / iteration.busy_s / npu.peak_flops
    assumptions = (
        *model.assumptions(scale, peak_share, npu),
        *npu.assumptions,
        *iteration.assumptions,
        *_assumptions(workload, strategy, iteration),
    )
    return Estimate(
        topology=topology.name,
        workload=workload.name,
        strategy=str(strategy),
        placement=iteration.placement.policy,
        npus=iteration.placement.npus,
        mode=workload.mode,
        minibatch=minibatch,
        iteration_time_s=iteration.time_s,
        time_per_sample_s=iteration.time_s / minibatch,
        rank=min(npu for group in iteration.placement.mp_groups(iteration.stage) for npu in group),
        compute_s=iteration.compute_s,
        exposed_s=iteration.exposed_s,
        busy_s=iteration.busy_s,
        critical_path_s=iteration.critical_path_s,
        peak_share=peak_share,
        communication_s=iteration.communication_s,
        compute_model=compute,
        compute_scale=scale,
        memory=iteration.memory,
        memory_verdict=iteration.memory.verdict,
        provenance=topology.provenance.plus(*assumptions),
    )


def _check_memory(workload: Workload, strategy: Strategy, need: Memory) -> None:
    if need.state_bytes <= need.available_bytes:
        return
    given = f"{need.state_bytes / 1e9:.1f} GB of {need.available_bytes / 1e9:g} GB as {strategy}"
    if workload.mode == "stationary":
        message = f"must be streaming where weights and optimizer do not fit, not need {given}"
    else:
        message = f"must leave room for the layers at work, not need {given}"
    raise InputError(workload.name, "mode", message)


def _assumptions(workload: Workload, strategy: Strategy, iteration: Iteration) -> tuple[str, ...]:
    found = [
        "activations and their gradients, weights and gradients are FP16",
        "backward passes repeat the forward pass of each layer, as activations do not fit"
        if iteration.memory.recomputed
        else "nothing is recomputed",
        "all replicas and all NPUs of a stage are in step; a stage waits for its slowest group",
        "the input of the next iteration is loaded during this one",
        "collectives at once share links by the shares that each puts on them alone",
    ]
    if strategy.mp > 1:
        found.append("all-reduces of activations are waited for, as in Megatron-LM")
    if strategy.sp:
        found.append("sequence parallelism gathers activations once in each pass, backward too")
    if strategy.cp > 1:
        found.append("keys and values are gathered along CP in both passes, and waited for")
    if strategy.ep > 1:
        found.append("tokens are spread evenly over experts, and their all-to-alls waited for")
    if workload.mode == "stationary" and strategy.dp > 1:
        found.append(
            "gradients are reduced layer by layer during the last backward pass"
            if workload.overlap
            else "gradients are all-reduced after the backward pass; none of it is hidden"
        )
        found.append("ZeRO stage 2: reduce-scatter and all-gather take the time of an all-reduce")
    if workload.mode == "streaming":
        found.append(
            "layers go round the stages; a stage holds one layer at work and one being loaded"
        )
        found.append(f"{iteration.storage} and updates the weights by itself")
    return tuple(found)


def with_batch(workload: Workload, samples_per_replica: int, microbatches: int) -> Workload:
    """Return the workload with another batch.

    Raises
    ------
    InputError
        A number is not an integer of 1 or more, or is too large to be worked out, or the
        microbatches do not divide the samples.
    """
    for name, value, most in (
        ("samples_per_replica", samples_per_replica, MAX_SAMPLES),
        ("microbatches", microbatches, MAX_MICROBATCHES),
    ):
        try:
            check_int(name, value, minimum=1, maximum=most)
        except (TypeError, ValueError) as error:
            message = str(error).removeprefix(f"{name} ")
            raise InputError(workload.name, name, message) from None
    if samples_per_replica % microbatches:
        message = f"must divide {samples_per_replica} samples per replica, not be {microbatches}"
        raise InputError(workload.name, "microbatches", message)
    return replace(workload, samples_per_replica=samples_per_replica, microbatches=microbatches)
