"""One iteration: its tasks simulated, and its time taken apart along the critical path."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fred_hw.compiler.placement import Strategy
from fred_hw.errors import InputError
from perfmodel.constants import NUMBER_BYTES
from perfmodel.fluid.task import Profile, Task
from perfmodel.fluid.tasks import Run, Simulation
from perfmodel.topology.graph import Topology
from perfmodel.workloads.layers import Layer
from perfmodel.workloads.workload import Workload

from .compute import Npu, layer_time
from .graph import Job, LayerSeconds, Stage, stationary_tasks, streaming_tasks
from .memory import Memory, memory
from .operations import Operations
from .placement.place import Placement
from .share import share_out
from .stages import balanced_stages

__all__ = ["PARTS", "Iteration", "Plan", "check_strategy", "simulate_iteration"]

PARTS = ("compute", "mp", "dp", "pp", "weight_streaming", "input_load", "cp", "ep")
"""What the time of an iteration is made of: compute and exposed communication."""


@dataclass(frozen=True)
class Iteration:
    """A simulated iteration.

    Parameters
    ----------
    parts_s : dict
        Time of each of ``PARTS`` on the critical path [s]; they add up to the iteration.
    busy_s : float
        Compute of the NPU that computes most [s], at most the iteration. Where it waits for all
        messages, the rest of ``parts_s["compute"]`` is the bubble, in which it waits for other
        stages; where messages take longer than the compute beside them, they are the critical
        path, and ``busy_s`` may be more than the compute on it.
    communication_s : dict
        Time that each kind of communication takes in all, hidden or not, on the stage that has
        most of it [s].
    tasks, run : tuple of Task, Run
        What was simulated, and when it ran.
    memory : Memory
        Need of the NPU that needs most.
    placement : Placement
        Who ran where.
    assumptions : tuple of str
        What the simulated communication takes for granted.
    storage : str
        What weights, gradients and input do.
    """

    parts_s: dict[str, float]
    busy_s: float
    communication_s: dict[str, float]
    tasks: tuple[Task, ...]
    run: Run
    memory: Memory
    placement: Placement
    assumptions: tuple[str, ...]
    storage: str

    @property
    def time_s(self) -> float:
        """The whole iteration [s]."""
        return sum(self.parts_s.values())


class Plan:
    """The tasks of an iteration, to be run with compute of any speed.

    Parameters
    ----------
    topology : Topology
        Where it runs.
    workload : Workload
        What runs; its own strategy is not looked at.
    placement : Placement
        The strategy, and the NPU of each worker.
    npu : Npu
        The roofline.
    operations : Operations or None
        Simulated communication of the same placement, to use again.

    Raises
    ------
    InputError
        The strategy has more stages than the network layers, or splits what does not split.
    """

    def __init__(
        self,
        topology: Topology,
        workload: Workload,
        placement: Placement,
        npu: Npu,
        operations: Operations | None = None,
    ) -> None:
        strategy, network = placement.strategy, workload.network
        check_strategy(workload, strategy)
        network = share_out(network, strategy)
        workload = replace(workload, network=network)
        self._operations = operations or Operations(topology, placement)
        if not topology.io_nodes and self._operations.memory is None:
            message = "must have I/O controllers, which load the input, not none"
            raise InputError(topology.name, "io_controllers", message)
        self.placement = placement
        samples = workload.samples_per_replica / workload.microbatches
        job = Job(
            self._operations,
            _layer_seconds(network.layers, samples, strategy.mp, npu),
            samples,
            workload.microbatches,
            workload.schedule,
            workload.overlap,
            network.input_bytes * workload.samples_per_replica / NUMBER_BYTES / strategy.cp,
        )
        stages, self._tasks = _stages_and_tasks(workload, strategy, job)
        self._memory = memory(workload, strategy, stages, npu.hbm_bytes)
        self._simulation = Simulation(self._tasks, self._operations.capacities)

    def time_s(self, scale: float) -> float:
        """Return the time of the iteration if all compute takes ``scale`` times its time [s]."""
        return self._simulation.run(scale).time_s

    def iteration(self, scale: float) -> Iteration:
        """Return the iteration if all compute takes ``scale`` times its time."""
        run = self._simulation.run(scale)
        tasks = self._tasks if scale == 1.0 else _scaled(self._tasks, scale)
        times_s = _times_s(tasks, self.placement.strategy.pp)
        return Iteration(
            parts_s=_critical_path(tasks, run),
            busy_s=max(times_s["compute"]),
            communication_s={kind: max(times_s[kind]) for kind in PARTS[1:]},
            tasks=tuple(tasks),
            run=run,
            memory=self._memory,
            placement=self.placement,
            assumptions=tuple(self._operations.assumptions),
            storage=self._operations.storage,
        )


def simulate_iteration(
    topology: Topology,
    workload: Workload,
    placement: Placement,
    npu: Npu,
    scale: float = 1.0,
    operations: Operations | None = None,
) -> Iteration:
    """Simulate one iteration of a workload.

    All compute times of the roofline are multiplied by ``scale``; the other parameters and the
    errors are those of :class:`Plan`.
    """
    return Plan(topology, workload, placement, npu, operations).iteration(scale)


def _layer_seconds(layers: Sequence[Layer], samples: float, mp: int, npu: Npu) -> LayerSeconds:
    """Return what tells the time of the forward and the backward pass of a layer [s]."""
    seconds: dict[Layer, tuple[float, float]] = {}
    of: dict[int, tuple[float, float]] = {}  # by identity: a layer takes long to hash
    for layer in layers:
        if layer not in seconds:
            time = layer_time(layer, samples, mp if layer.splits else 1, npu)
            seconds[layer] = (time.forward_s, time.backward_s)
        of[id(layer)] = seconds[layer]
    return lambda layer: of[id(layer)]


def _stages_and_tasks(
    workload: Workload, strategy: Strategy, job: Job
) -> tuple[list[tuple[Layer, ...]], list[Task]]:
    """Return the layers of each stage, and what is to be done."""
    layers = workload.network.layers
    if workload.mode == "streaming":
        stages = [layers[s :: strategy.pp] for s in range(strategy.pp)]
        return stages, streaming_tasks(layers, strategy.pp, strategy.mp, job)
    cuts = balanced_stages([sum(job.seconds(layer)) for layer in layers], strategy.pp)
    stages = [layers[cut.start : cut.stop] for cut in cuts]
    return stages, stationary_tasks([Stage(one) for one in stages], strategy.mp, job)


def check_strategy(workload: Workload, strategy: Strategy) -> None:
    """Refuse a strategy that does not go with the layers.

    Raises
    ------
    InputError
        It has more stages than the network layers, or splits or shares out what it cannot.
    """
    network = workload.network
    if strategy.pp > len(network.layers):
        raise InputError(
            "",
            "strategy",
            f"must have at most the {len(network.layers)} layers of {workload.name} as stages, "
            f"not {strategy.pp} as {strategy}",
        )
    if strategy.mp > 1 and not network.splits:
        raise InputError(
            "",
            "strategy",
            f"must have MP1, as the layers of {workload.name} do not split, not {strategy}",
        )
    if strategy.cp > 1 and not network.has_sequence:
        message = f"must have no CP, as {workload.name} has no sequence, not {strategy}"
        raise InputError("", "strategy", message)
    if strategy.ep > 1 and not network.shares:
        message = f"must have no EP, as {workload.name} has no experts, not {strategy}"
        raise InputError("", "strategy", message)
    for layer in network.layers:
        if layer.pieces % strategy.ep:
            message = f"must have an EP that divides {layer.pieces} experts, not {strategy}"
            raise InputError("", "strategy", message)


def _critical_path(tasks: Sequence[Task], run: Run) -> dict[str, float]:
    """Return the time of each part on the way back from the last task to the start.

    Each task starts at the end of the last one that it waits for, so the durations on this way
    add up to the whole. Of tasks that end together one of compute comes first: what was going on
    meanwhile was hidden.
    """
    parts: dict[str, float] = dict.fromkeys(PARTS, 0.0)
    here: Sequence[int] = range(len(tasks))
    while here:
        number = max(here, key=lambda i: (run.end_s[i], tasks[i].kind == "compute"))
        parts[tasks[number].kind] += run.end_s[number] - run.start_s[number]
        here = tasks[number].after
    return parts


def _scaled(tasks: Sequence[Task], scale: float) -> list[Task]:
    """Return the tasks with compute that takes so many times its time."""
    profiles: dict[float, Profile] = {}
    found: list[Task] = []
    for task in tasks:
        if task.kind == "compute":
            time_s = task.profile.time_s
            profile = profiles.get(time_s)
            if profile is None:
                profile = profiles[time_s] = Profile(scale * time_s)
            task = Task(
                task.kind, task.place, task.name, profile, task.after, task.effort, task.priority
            )
        found.append(task)
    return found


def _times_s(tasks: Sequence[Task], stages: int) -> dict[str, list[float]]:
    """Return the time of all tasks of each kind on each stage [s]."""
    times_s = {kind: [0.0] * stages for kind in PARTS}
    for task in tasks:
        times_s[task.kind][task.place] += task.profile.time_s
    return times_s
