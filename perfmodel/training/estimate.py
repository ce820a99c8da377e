"""Time of one training iteration: compute and simulated communication, by cause."""

from dataclasses import dataclass

from fred_hw.compiler.placement import Strategy
from fred_hw.errors import InputError
from perfmodel.endpoint.model import Reservation
from perfmodel.run_figures import Figures, Times
from perfmodel.switch_timing.provenance import Provenance
from perfmodel.workloads.workload import Workload

from .counted import counted
from .energy import read_energy
from .iteration import Iteration, Plan
from .memory import Memory
from .moved import TopologyLinks, figures, moved_by
from .parts import PARTS, Exposed
from .placement.place import Placement, place
from .request import Request
from .search import default_placement

__all__ = ["Estimate", "Simulated", "estimate", "memory_of", "simulate", "summarize"]


@dataclass(frozen=True, slots=True)
class Estimate(Figures):
    """Estimate of one training iteration; energy, utilization and bytes as in ``Figures``.

    Parameters
    ----------
    topology, workload, strategy : str
        Names of the topology, the workload and the strategy.
    options : dict
        The options of the request by name.
    placement : str
        Placement of the workers.
    npus : tuple of int
        NPU of each worker.
    mode : str
        ``stationary`` or ``streaming``.
    minibatch : int
        Samples in the iteration.
    iteration_time_s : float
        Compute time and exposed time together [s].
    time_per_sample_s : float
        Iteration time divided by the samples [s].
    rank : int
        NPU whose compute and exposed time are given: the first of those that end last.
    compute_s : float
        Time in which this NPU computes [s].
    exposed_s : Exposed
        Iteration time minus ``compute_s``, by the kind of communication for which this NPU waits
        [s].
    busy_s : float
        Compute time of the busiest NPU [s].
    critical_path_s : dict
        The same iteration along its critical path, which may cross all NPUs: compute and each kind
        of communication on the path [s].
    peak_share : float or None
        Rate of matrix products and convolutions, on average over the NPUs and ``busy_s``, divided
        by the peak of the NPU. Calibrated compute can give a value above 1, which no NPU can reach.
        None if the compute model does not determine it, and without compute.
    communication_s : dict
        All communication of each kind, hidden or not, on the stage with the most of it [s].
    compute_model : str
        See ``compute_model.compute_model``.
    compute_scale : float
        Factor of the compute times; 1 from first principles.
    memory : Memory
        Need of the NPU with the largest need.
    memory_verdict : str
        Whether the model fits.
    provenance : Provenance
        Timing records used and assumptions made.
    """

    topology: str
    workload: str
    strategy: str
    options: dict[str, str]
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

    @property
    def times(self) -> Times:
        return Times(self.iteration_time_s, self.compute_s, self.exposed_s.total_s)


@dataclass(frozen=True, slots=True)
class Simulated:
    """A request with its simulated iteration.

    Parameters
    ----------
    request : Request
        The requested iteration.
    iteration : Iteration
        The simulated iteration.
    taken : Reservation or None
        Resources of the NPUs used by communication: the fastest setting of the endpoint model.
    """

    request: Request
    iteration: Iteration
    taken: Reservation | None = None


def estimate(request: Request) -> Estimate:
    """Estimate one training iteration.

    Raises
    ------
    InputError
        As for :func:`simulate`.
    """
    return summarize(simulate(request))


def simulate(request: Request, *, fitting: bool = True, repeats: bool = True) -> Simulated:
    """Simulate one training iteration.

    Parameters
    ----------
    request : Request
        Iteration to simulate.
    fitting : bool
        Whether to refuse a model whose weights do not fit the memory of the NPUs.
    repeats : bool
        Whether to leave out microbatches that are sure to take as long as earlier ones. The
        iteration then does not contain all tasks.

    Raises
    ------
    InputError
        The strategy needs more NPUs than the topology has, or does not suit the layers; the
        placement needs a mesh; the compute is calibrated for another workload or another NPU; or
        the model does not fit; or the iteration takes no time at all.
    """
    if fitting:  # checked before placements are compared
        _check_memory(request, memory_of(request))

    def run(placed: Placement) -> Simulated:
        model = request.endpoint_model
        found = [
            Simulated(request, plan.iteration(request.compute_scale), taken)
            for taken in (model.reservations if model else (None,))
            for plan in [_plan(request, placed, taken, repeats=repeats)]
        ]
        return min(found, key=lambda one: one.iteration.time_s)

    found = run(default_placement(request, lambda placed: run(placed).iteration.time_s))
    if not found.iteration.time_s:  # an all-reduce of one NPU, whose rate is undefined
        message = f"must give the iteration work or communication, not {request.strategy}"
        raise InputError("", "strategy", message)
    return found


def memory_of(request: Request) -> Memory:
    """Return the memory that an iteration needs, which is independent of the placement.

    Raises
    ------
    InputError
        The strategy needs more NPUs than the topology has, or does not suit the layers.
    """
    return _plan(request, place(request.topology, request.strategy)).memory


def _plan(
    request: Request, placed: Placement, taken: Reservation | None = None, *, repeats: bool = False
) -> Plan:
    where, what = request.topology, request.workload
    operations = request.operations(placed, taken)
    return Plan(where, what, placed, request.compute_npu, operations, taken=taken, repeats=repeats)


def summarize(simulated: Simulated) -> Estimate:
    """Return the figures of a simulated iteration."""
    request, iteration = simulated.request, simulated.iteration
    topology, workload, strategy = request.topology, request.workload, request.strategy
    model, npu, scale = request.compute_model, request.compute_npu, request.compute_scale
    minibatch = workload.samples_per_replica * strategy.dp
    # A backward pass has twice the operations of the forward pass, which may be recomputed.
    passes = 4 if iteration.memory.recomputed else 3
    flops = passes * workload.network.forward_flops * minibatch / strategy.workers
    peak_share = None
    if iteration.busy_s and model.identified(workload.name, topology):
        peak_share = flops / iteration.busy_s / npu.peak_flops
    endpoint, taken = request.endpoint_model, simulated.taken
    assumptions = (
        *model.assumptions(scale, peak_share, npu),
        *npu.assumptions,
        *(endpoint.assumptions(taken) if endpoint and taken else ()),
        *iteration.assumptions,
        *_assumptions(workload, strategy, iteration),
    )
    found = figures(
        read_energy(request.energy),
        TopologyLinks(topology, topology.npus if endpoint else 0),
        iteration.time_s,
        moved_by(counted(iteration.tasks, iteration.run), strategy.workers // strategy.pp),
        PARTS,
    )
    return Estimate(
        topology=topology.name,
        workload=workload.name,
        strategy=str(strategy),
        options=request.options,
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
        compute_model=request.compute,
        compute_scale=scale,
        memory=iteration.memory,
        memory_verdict=iteration.memory.verdict,
        provenance=topology.provenance.plus(*assumptions),
        **found.shared,
    )


def _check_memory(request: Request, need: Memory) -> None:
    if need.state_fits:
        return
    needed, there = need.state_bytes / 1e9, need.available_bytes / 1e9
    given = f"{needed:.1f} GB of {there:g} GB as {request.strategy}"
    if request.workload.mode == "stationary":
        message = f"must be streaming where weights and optimizer do not fit, not need {given}"
    else:
        message = f"must leave memory for the layers being computed, not need {given}"
    raise InputError(request.workload.name, "mode", message)


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
