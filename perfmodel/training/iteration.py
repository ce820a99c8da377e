"""Simulation of one iteration, and its time by cause."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fred_hw.compiler.placement import Strategy
from fred_hw.errors import InputError
from perfmodel.constants import NUMBER_BYTES
from perfmodel.endpoint.model import Reservation
from perfmodel.network.fluid.repeats import Jump, Repeats, repeats_of
from perfmodel.network.fluid.task import Profile, Task
from perfmodel.network.fluid.tasks import Run, Simulation
from perfmodel.topology.graph import Topology
from perfmodel.workloads.file import check_passes
from perfmodel.workloads.layers import Layer
from perfmodel.workloads.pipeline_schedule import microbatches_held
from perfmodel.workloads.workload import Workload

from .compute import Npu, forward_work, layer_time
from .graph import Job, LayerWork, Stage, Work, stationary_tasks, streaming_tasks
from .memory import Memory, memory
from .operations import Operations
from .parts import PARTS, PRIORITIES, Exposed
from .placement.place import Placement
from .share import share_out
from .stages import balanced_stages
from .waits import waits_s

__all__ = ["Iteration", "Plan", "check_strategy", "simulate_iteration"]

_SHORT = 64
"""Number of microbatches up to which all are simulated."""

_ROUNDING = 1e-9
"""Largest rounding error, as a share of an iteration."""


@dataclass(frozen=True)
class Iteration:
    """A simulated iteration.

    Parameters
    ----------
    stage : int
        Pipeline stage that ends last.
    compute_s : float
        Compute of an NPU of this stage [s].
    exposed_s : Exposed
        Time by kind for which an NPU of this stage waits in the rest of the iteration [s].
    busy_s : float
        Compute of the busiest NPU [s], at most the iteration time.
    critical_path_s : dict
        Time of each of ``PARTS`` on the critical path, which may cross all stages [s]; they add up
        to the iteration time.
    communication_s : dict
        Total time of each kind of communication, hidden or not, on the stage with the most of it
        [s].
    tasks, run : tuple of Task, Run
        Simulated tasks, and their start and end.
    memory : Memory
        Need of the NPU with the largest need.
    placement : Placement
        NPU of each worker.
    assumptions : tuple of str
        Assumptions of the simulated communication.
    storage : str
        Handling of weights, gradients and input.
    """

    stage: int
    compute_s: float
    exposed_s: Exposed
    busy_s: float
    critical_path_s: dict[str, float]
    communication_s: dict[str, float]
    tasks: tuple[Task, ...]
    run: Run
    memory: Memory
    placement: Placement
    assumptions: tuple[str, ...]
    storage: str

    @property
    def time_s(self) -> float:
        """Duration of the iteration [s]."""
        return self.compute_s + self.exposed_s.total_s


class Plan:
    """The tasks of an iteration, which can be run with compute at any scale.

    Parameters
    ----------
    topology : Topology
        Topology of the iteration.
    workload : Workload
        Workload to run; its own strategy is ignored.
    placement : Placement
        The strategy, and the NPU of each worker.
    npu : Npu
        The roofline.
    operations : Operations or None
        Simulated communication of the same placement, to use again.
    taken : Reservation or None
        Resources of the NPU used by communication, which compute then lacks; none if None. Stages
        are balanced for the whole NPU.
    repeats : bool
        Whether microbatches that are sure to take as long as earlier ones are left out; the
        iteration then does not contain all tasks.

    Attributes
    ----------
    memory : Memory
        Need of the NPU with the largest need; the same for all placements of a strategy.

    Raises
    ------
    InputError
        The strategy has more stages than the network has layers, or splits what cannot be split.
    """

    def __init__(
        self,
        topology: Topology,
        workload: Workload,
        placement: Placement,
        npu: Npu,
        operations: Operations | None = None,
        *,
        taken: Reservation | None = None,
        repeats: bool = False,
    ) -> None:
        strategy, network = placement.strategy, workload.network
        check_strategy(workload, strategy)
        network = share_out(network, strategy)
        self._workload = workload = replace(workload, network=network)
        self._operations = operations or Operations(topology, placement)
        if not topology.io_nodes and self._operations.memory is None:
            message = "must have I/O controllers, which load the input, not none"
            raise InputError(topology.name, "io_controllers", message)
        self.placement = placement
        samples = workload.samples_per_replica / workload.microbatches
        self._job = Job(
            self._operations,
            _layer_work(network.layers, samples, strategy.mp, npu),
            samples,
            workload.microbatches,
            workload.schedule,
            workload.overlap,
            network.input_bytes * workload.samples_per_replica / NUMBER_BYTES / strategy.cp,
        )
        stages = _stages(workload, strategy, self._job)
        if taken:
            left = npu.without(taken.core_share, taken.memory_share)
            work = _layer_work(network.layers, samples, strategy.mp, left)
            self._job = replace(self._job, work=work, deferred=not taken.overlap)
        self._stages = stages
        self.memory = memory(workload, strategy, stages, npu.hbm_bytes)
        self._job = replace(self._job, recomputed=self.memory.recomputed)
        self._repeats = repeats and workload.microbatches > _SHORT
        self._known: dict[int, Simulation] = {}

    def time_s(self, scale: float) -> float:
        """Return the iteration's duration if all compute takes ``scale`` times its time [s]."""
        return self.iteration(scale).time_s if self._repeats else self._whole().run(scale).time_s

    def iteration(self, scale: float) -> Iteration:
        """Return the iteration if all compute takes ``scale`` times its time."""
        for microbatches, repeats in self._repeating() if self._repeats else ():
            simulation = self._simulated(microbatches)
            run = simulation.run_repeating(scale, repeats)
            found = run and self._summed(simulation, run, scale)
            if found:
                return found
        simulation = self._whole()
        found = self._summed(simulation, simulation.run(scale), scale)
        assert found is not None
        return found

    def _repeating(self) -> Iterator[tuple[int, Repeats]]:
        """Yield microbatch counts that can represent all microbatches, with their repeats."""
        workload, pp = self._workload, self.placement.strategy.pp
        every = workload.microbatches
        held = microbatches_held(workload.schedule, pp, every)
        if pp > 1 and (workload.mode == "streaming" or held == every):
            return  # without back pressure fast stages get ever further ahead
        # Stages process microbatches in groups of as many as there are stages; times may repeat
        # only after a few groups.
        for periods, again in ((6, 1), (12, 2), (24, 12)):
            few = (2 + periods) * pp
            few += (every - few) % (again * pp)
            if few + pp >= every:
                return
            one, other = self._simulated(few), self._simulated(few + pp)
            longer = other.tasks, other.steps
            found = repeats_of(one.tasks, one.steps, longer, pp, every - few, near=pp + 4)
            if found:
                yield few, found

    def _whole(self) -> Simulation:
        """Return the simulation of all microbatches.

        Raises
        ------
        InputError
            There are too many microbatches.
        """
        workload = self._workload
        try:
            check_passes(len(workload.network.layers), workload.microbatches)
        except ValueError as error:
            raise InputError(workload.name, "microbatches", str(error)) from None
        return self._simulated(workload.microbatches)

    def _simulated(self, microbatches: int) -> Simulation:
        """Return the simulation of a number of microbatches of unchanged size."""
        if microbatches not in self._known:
            job = replace(self._job, microbatches=microbatches)
            tasks = _tasks(self._workload, self.placement.strategy, self._stages, job)
            self._known[microbatches] = Simulation(tasks, self._operations.capacities)
        return self._known[microbatches]

    def _summed(self, simulation: Simulation, run: Run, scale: float) -> Iteration | None:
        """Return the iteration; None if its time cannot be attributed with certainty."""
        tasks = simulation.tasks
        tasks = tasks if scale == 1.0 else _scaled(tasks, scale)
        times_s = _times_s(tasks, self.placement.strategy.pp, run.jumps)
        path_s = _critical_path(tasks, run)
        time_s = run.time_s
        ends = zip(tasks, run.end_s, strict=True)
        stage = min(task.place for task, end_s in ends if end_s == time_s)
        compute_s = times_s["compute"][stage]
        exposed = Exposed(**waits_s(tasks, run, stage))
        for found_s in (sum(path_s.values()), compute_s + exposed.total_s):
            if run.jumps and abs(found_s - time_s) > _ROUNDING * time_s:
                return None
        return Iteration(
            stage=stage,
            compute_s=compute_s,
            exposed_s=exposed,
            busy_s=max(times_s["compute"]),
            critical_path_s=path_s,
            communication_s={kind: max(times_s[kind]) for kind in PRIORITIES},
            tasks=tuple(tasks),
            run=run,
            memory=self.memory,
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
    *,
    repeats: bool = False,
) -> Iteration:
    """Simulate one iteration of a workload.

    All compute times of the roofline are multiplied by ``scale``; the other parameters and the
    errors are those of :class:`Plan`.
    """
    return Plan(topology, workload, placement, npu, operations, repeats=repeats).iteration(scale)


def _layer_work(layers: Sequence[Layer], samples: float, mp: int, npu: Npu) -> LayerWork:
    """Return a function for the forward and backward work of a layer."""
    known: dict[Layer, tuple[Work, Work]] = {}
    of: dict[int, tuple[Work, Work]] = {}  # by identity, as a layer is slow to hash
    for layer in layers:
        if layer not in known:
            shared = mp if layer.splits else 1
            time = layer_time(layer, samples, shared, npu)
            operations, moved = forward_work(layer, samples, shared)
            known[layer] = (
                Work(time.forward_s, operations=operations, moved_bytes=moved),
                Work(time.backward_s, operations=2 * operations, moved_bytes=2 * moved),
            )
        of[id(layer)] = known[layer]
    return lambda layer: of[id(layer)]


def _stages(workload: Workload, strategy: Strategy, job: Job) -> list[tuple[Layer, ...]]:
    """Return the layers of each stage."""
    layers = workload.network.layers
    if workload.mode == "streaming":
        return [layers[s :: strategy.pp] for s in range(strategy.pp)]
    cuts = balanced_stages(
        [sum(one.time_s for one in job.work(layer)) for layer in layers], strategy.pp
    )
    return [layers[cut.start : cut.stop] for cut in cuts]


def _tasks(
    workload: Workload, strategy: Strategy, stages: Sequence[tuple[Layer, ...]], job: Job
) -> list[Task]:
    """Return the tasks of the iteration."""
    if workload.mode == "streaming":
        return streaming_tasks(workload.network.layers, strategy.pp, strategy.mp, job)
    return stationary_tasks([Stage(one) for one in stages], strategy.mp, job)


def check_strategy(workload: Workload, strategy: Strategy) -> None:
    """Fail if a strategy is not valid for the layers.

    Raises
    ------
    InputError
        It has more stages than the network has layers, or splits what cannot be split.
    """
    network = workload.network
    if strategy.pp > len(network.layers):
        raise InputError(
            "",
            "strategy",
            f"must have at most {len(network.layers)} pipeline stages, the layers of "
            f"{workload.name}, not {strategy.pp} ({strategy})",
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
    """Return the time of each part along the critical path, from the last task to the start.

    Periods that were left out contribute the same as the periods before them, if the path repeats
    there; otherwise times do not add up to the iteration time.

    Each task starts at the end of the last one that it waits for, so the durations on this path
    add up to the total. Of tasks that end together, compute comes first: communication meanwhile
    was hidden.
    """
    parts: dict[str, float] = dict.fromkeys(PARTS, 0.0)
    here: Sequence[int] = (run.last(tasks),)
    path: list[int] = []
    while here:
        number = max(here, key=lambda i: (run.end_s[i], tasks[i].kind == "compute"))
        parts[tasks[number].kind] += run.end_s[number] - run.start_s[number]
        path.append(number)
        here = tasks[number].after
    for jump in run.jumps:
        _repeat(tasks, run, path, jump, parts)
    return parts


def _repeat(
    tasks: Sequence[Task], run: Run, path: Sequence[int], jump: Jump, parts: dict[str, float]
) -> None:
    """Add the time of skipped periods along the critical path."""
    inside = [i for i in path if i in jump.before]
    seen: dict[tuple[int, int], int] = {}
    for place, i in enumerate(inside):
        occurrence = tasks[i].occurrence
        assert occurrence is not None
        first = seen.setdefault((occurrence.block, occurrence.position), place)
        if first < place:
            begin = tasks[inside[first]].occurrence
            assert begin is not None
            times = jump.times * jump.occurrences / (begin.number - occurrence.number)
            for one in inside[first:place]:
                parts[tasks[one].kind] += times * (run.end_s[one] - run.start_s[one])
            return


def _scaled(tasks: Sequence[Task], scale: float) -> list[Task]:
    """Return the tasks with compute times multiplied by ``scale``."""
    profiles: dict[int, Profile] = {}
    found: list[Task] = []
    for task in tasks:
        if task.kind == "compute":
            profile = profiles.get(id(task.profile))
            if profile is None:
                profile = replace(task.profile, time_s=scale * task.profile.time_s)
                profiles[id(task.profile)] = profile
            task = Task(
                task.kind,
                task.place,
                task.name,
                profile,
                task.after,
                task.effort,
                task.priority,
                task.occurrence,
            )
        found.append(task)
    return found


def _times_s(tasks: Sequence[Task], stages: int, jumps: Sequence[Jump]) -> dict[str, list[float]]:
    """Return the total time of each kind of task on each stage [s]."""
    times_s = {kind: [0.0] * stages for kind in PARTS}
    for task in tasks:
        times_s[task.kind][task.place] += task.profile.time_s
    for jump in jumps:
        for task in (tasks[i] for i in jump.tasks):
            times_s[task.kind][task.place] += jump.times * task.profile.time_s
    return times_s
