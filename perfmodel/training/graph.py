"""Tasks of an iteration: compute, communication, and their dependencies.

All NPUs of a pipeline stage, in all replicas, do the same at the same time, so a task represents
all of them: compute on each, or the collectives of all their groups at once.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from perfmodel.network.fluid.task import Occurrence, Profile, Task
from perfmodel.workloads.layers import Layer
from perfmodel.workloads.pipeline_schedule import SCHEDULES

from .operations import Operations
from .parts import PRIORITIES

__all__ = ["Job", "LayerWork", "Stage", "Work", "stationary_tasks", "streaming_tasks"]

PREFETCH = 2
"""Layers for which a stage has memory: one in use, and one being loaded."""


@dataclass(frozen=True, slots=True)
class Work(Profile):
    """Compute of one NPU: its time, and the operations and bytes a roofline derives it from.

    Parameters
    ----------
    operations : float
        Operations [FLOP].
    moved_bytes : float
        Bytes read from and written to memory [B].
    """

    operations: float = 0.0
    moved_bytes: float = 0.0

    def part(self, parts: int) -> "Work":
        """Return one of ``parts`` equal parts of the work."""
        return Work(
            self.time_s / parts,
            operations=self.operations / parts,
            moved_bytes=self.moved_bytes / parts,
        )


LayerWork = Callable[[Layer], tuple[Work, Work]]
"""Function that returns the forward and backward work of a layer, per microbatch and NPU."""

Direction = Literal["forward", "backward"]
_SIDE: dict[Direction, int] = {"forward": 0, "backward": 1}


@dataclass(frozen=True, slots=True)
class Stage:
    """Consecutive layers computed by the same NPUs."""

    layers: tuple[Layer, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """Inputs from which the tasks of an iteration are built.

    Parameters
    ----------
    operations : Operations
        Communication.
    work : callable
        Forward and backward pass of a layer for one microbatch on one NPU.
    samples : float
        Samples in a microbatch.
    microbatches : int
        Number of microbatches.
    schedule : str
        A name of ``SCHEDULES``; streamed layers run in the order in which they arrive.
    overlap : bool
        Whether the gradients of a layer are reduced while earlier layers are still being computed,
        instead of all gradients at the end.
    input_numbers : float
        Numbers of two bytes that storage sends to each replica.
    deferred : bool
        Whether gradients that ``overlap`` reduces layer by layer wait for all compute of the stage.
    recomputed : bool
        Whether a backward pass repeats the forward pass of each layer first, communication
        included, as only the inputs of layers are kept.
    """

    operations: Operations
    work: LayerWork
    samples: float
    microbatches: int
    schedule: str
    overlap: bool
    input_numbers: float
    recomputed: bool = False
    deferred: bool = False

    @property
    def interrupted(self) -> bool:
        """Whether NPUs of a stage communicate within a pass."""
        strategy = self.operations.placement.strategy
        return strategy.mp * strategy.cp * strategy.ep > 1


def _effort(layer: Layer, direction: Direction) -> float:
    """Return the operations of a pass; a backward pass has twice those of a forward pass."""
    return layer.forward_flops * (1 + _SIDE[direction])


class _Step(NamedTuple):
    """A task within a pass of a layer.

    Parameters
    ----------
    kind, profile, effort : str, Profile, float
        See ``Task``.
    suffix : str
        Suffix of the task's name, after the name of the pass.
    """

    kind: str
    suffix: str
    profile: Profile
    effort: float = 0.0


@dataclass
class _Graph:
    """Builder of the task list."""

    job: Job
    tasks: list[Task] = field(default_factory=list[Task])
    _sent: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    _steps: dict[tuple[int, Direction, int], tuple[_Step, ...]] = field(
        default_factory=dict[Any, Any]
    )
    _occurrence: Occurrence | None = None

    def begin(self, block: int, number: int) -> None:
        """Start the tasks of a microbatch; ``block`` identifies the repeated sequence."""
        self._occurrence = Occurrence(block, number, 0)

    def end(self) -> None:
        """End the tasks of a microbatch; further tasks do not repeat."""
        self._occurrence = None

    def add(
        self,
        kind: str,
        place: int,
        name: str,
        profile: Profile,
        after: Sequence[int | None],
        effort: float = 0.0,
    ) -> int:
        first, *others = after or (None,)
        if others:
            waits = tuple(sorted({number for number in after if number is not None}))
        else:
            waits = () if first is None else (first,)
        priority = PRIORITIES.get(kind, 0)
        occurrence = self._occurrence
        self.tasks.append(Task(kind, place, name, profile, waits, effort, priority, occurrence))
        if occurrence:
            self._occurrence = Occurrence(
                occurrence.block, occurrence.number, occurrence.position + 1
            )
        return len(self.tasks) - 1

    def compute(
        self,
        s: int,
        layers: Sequence[Layer],
        direction: Direction,
        name: str,
        after: Sequence[int | None],
    ) -> int:
        """Add one pass of several layers as one task."""
        work, effort = self._work(layers, direction)
        return self.add("compute", s, name, work, after, effort)

    def layer(
        self, stage: int, layer: Layer, direction: Direction, name: str, after: Sequence[int | None]
    ) -> int:
        """Add one pass of a layer with its communication; return the last task."""
        key = (stage, direction, id(layer))  # by identity, as a layer is slow to hash
        if key not in self._steps:  # the steps repeat with each microbatch
            self._steps[key] = tuple(self._pass(stage, layer, direction))
        for one in self._steps[key]:
            after = (self.add(one.kind, stage, name + one.suffix, one.profile, after, one.effort),)
        assert after[0] is not None
        return after[0]

    def _work(self, layers: Sequence[Layer], direction: Direction) -> tuple[Work, float]:
        """Return the work of one pass of layers, and its operations."""
        directions: tuple[Direction, ...] = (direction,)
        if direction == "backward" and self.job.recomputed:
            directions = ("forward", "backward")
        passes = [self.job.work(layer)[_SIDE[one]] for layer in layers for one in directions]
        work = Work(
            sum(one.time_s for one in passes),
            operations=sum(one.operations for one in passes),
            moved_bytes=sum(one.moved_bytes for one in passes),
        )
        return work, sum(_effort(layer, one) for layer in layers for one in directions)

    def _pass(self, stage: int, layer: Layer, direction: Direction) -> Iterator[_Step]:
        """Yield the tasks of one pass of a layer, each of which waits for its predecessor.

        Compute is cut into equal parts, each followed by what MP reduces. Forward, keys and values
        are gathered along CP before the first, and tokens go to their experts before the last and
        come back behind it; backward the other way round, and gradients of keys and values are
        scattered again in the end.
        """
        operations, samples = self.job.operations, self.job.samples
        strategy = operations.placement.strategy
        reduce: tuple[tuple[str, Profile], ...] = ()
        if layer.mp_reductions:
            reduce = operations.mp_reductions(stage, layer.mp_reduced_numbers * samples)
        sent = None
        if layer.all_to_alls:
            numbers = layer.all_to_all_numbers * samples / strategy.mp
            sent = operations.ep_all_to_all(stage, numbers)
        keys = layer.cp_numbers * samples / strategy.mp
        gather = operations.cp_exchange("all_gather", stage, keys)
        if not reduce and sent is None and gather is None:
            yield _Step("compute", "", *self._work((layer,), direction))
            return
        if direction == "backward" and self.job.recomputed:
            for one in self._pass(stage, layer, "forward"):
                yield one._replace(suffix=f" again{one.suffix}")
        parts = max(layer.mp_reductions if reduce else 1, layer.all_to_alls if sent else 1)
        part = self.job.work(layer)[_SIDE[direction]].part(parts)
        effort = _effort(layer, direction) / parts
        forward = direction == "forward"
        first, last = (0, parts - 1) if forward else (parts - 1, 0)  # attention and experts
        both = layer.all_to_alls == 2
        for number in range(parts):
            if gather is not None and number == first:
                yield _Step("cp", " keys all-gather", gather)
            if sent is not None and number == last and (both or not forward):
                yield _Step("ep", " all-to-all in", sent)
            yield _Step("compute", "", part, effort)
            if sent is not None and number == last and (both or forward):
                yield _Step("ep", " all-to-all out", sent)
            for words, profile in reduce if number < layer.mp_reductions else ():
                yield _Step("mp", f" {words} {number}", profile)
        scatter = None if forward else operations.cp_exchange("reduce_scatter", stage, keys)
        if scatter is not None:
            yield _Step("cp", " keys reduce-scatter", scatter)

    def hand_on(self, stage: int, there: int, name: str, profile: Profile, done: int | None) -> int:
        """Add a transfer of activations, or of their gradients, from a stage to another.

        If the last ones went elsewhere, the acks for them must be back: a source ends a burst
        before it begins one of another phase.
        """
        after = [done]
        if stage in self._sent:
            last, where = self._sent[stage]
            wait_s = self.tasks[last].profile.ack_s
            if where != there and wait_s:
                waits = f"acks from stage {where}"
                after.append(self.add("pp", stage, waits, Profile(wait_s), (last,)))
        number = self.add("pp", stage, name, profile, after)
        self._sent[stage] = (number, there)
        return number

    def load_input(self) -> None:
        """Add the loading of the next iteration's input, which overlaps this iteration."""
        profile = self.job.operations.load_input(self.job.input_numbers)
        if profile is not None:
            self.add("input_load", 0, "input of the next iteration", profile, ())


def stationary_tasks(stages: Sequence[Stage], mp: int, job: Job) -> list[Task]:
    """Return the tasks of an iteration with all weights on the wafer.

    Each stage runs its passes in the order of the pipeline schedule; one NPU of a stage sends the
    activations, or their gradients, to all NPUs of the next one. Then the gradients are
    all-reduced along DP: the reduce-scatter and the all-gather of ZeRO stage 2 (arXiv 1910.02054)
    move together what an all-reduce moves.

    Parameters
    ----------
    stages : sequence of Stage
        Layers of each stage.
    mp : int
        NPUs that share each layer.
    job : Job
        The rest.
    """
    graph = _Graph(job)
    graph.load_input()
    count = len(stages)
    orders = [SCHEDULES[job.schedule](s, count, job.microbatches) for s in range(count)]
    position = [0] * count
    last: list[int | None] = [None] * count
    reduced: list[int | None] = [None] * count
    arrived: dict[tuple[str, int, int], int | None] = {}
    for number in range(job.microbatches):
        arrived["forward", 0, number] = None
    while any(position[s] < len(orders[s]) for s in range(count)):
        for s in range(count):
            while position[s] < len(orders[s]):
                direction, number = orders[s][position[s]]
                if (direction, s, number) not in arrived:
                    break
                position[s] += 1
                after = (last[s], arrived[direction, s, number])
                final = position[s] == len(orders[s])
                graph.begin(2 * s + _SIDE[direction], number)
                if direction == "forward":
                    last[s] = _forward(graph, s, stages[s], number, after)
                    _hand_on(graph, arrived, direction, s, count, number, last[s], stages)
                else:
                    last[s], reduced[s] = _backward(graph, s, stages[s], number, after, mp, final)
                    _hand_on(graph, arrived, direction, s, count, number, last[s], stages)
    graph.end()
    if not job.overlap:
        for s, stage in enumerate(stages):
            numbers = sum(layer.parameters for layer in stage.layers) / mp
            shared = sum(layer.shared_parameters for layer in stage.layers) / mp
            for profile in job.operations.gradients(s, numbers, shared):
                graph.add("dp", s, "gradients all-reduce", profile, (last[s],))
    return graph.tasks


def _forward(graph: _Graph, s: int, stage: Stage, number: int, after: Sequence[int | None]) -> int:
    if not graph.job.interrupted:
        return graph.compute(s, stage.layers, "forward", f"forward {number}", after)
    for layer in stage.layers:
        name = f"forward {number} {layer.name}"
        after = (graph.layer(s, layer, "forward", name, after),)
    assert after[0] is not None
    return after[0]


def _backward(
    graph: _Graph,
    s: int,
    stage: Stage,
    number: int,
    after: Sequence[int | None],
    mp: int,
    final: bool,
) -> tuple[int, int | None]:
    """Add a backward pass; return its last task and its last gradient all-reduce."""
    job = graph.job
    overlap = final and job.overlap
    if not job.interrupted and not overlap:
        return graph.compute(s, stage.layers, "backward", f"backward {number}", after), None
    reduced, late = None, list[tuple[str, Profile]]()
    for layer in reversed(stage.layers):
        done = graph.layer(s, layer, "backward", f"backward {number} {layer.name}", after)
        after = (done,)
        numbers = (layer.parameters / mp, layer.shared_parameters / mp)
        for profile in job.operations.gradients(s, *numbers) if overlap else ():
            name = f"gradients {layer.name} all-reduce"
            if job.deferred:
                late.append((name, profile))
            else:
                reduced = graph.add("dp", s, name, profile, (done, reduced))
    for name, profile in late:
        reduced = graph.add("dp", s, name, profile, (*after, reduced))
    assert after[0] is not None
    return after[0], reduced


def _hand_on(
    graph: _Graph,
    arrived: dict[tuple[str, int, int], int | None],
    direction: str,
    s: int,
    count: int,
    number: int,
    done: int | None,
    stages: Sequence[Stage],
) -> None:
    """Send the result of a pass to the stage that needs it."""
    there = s + 1 if direction == "forward" else s - 1
    if there == count:
        arrived["backward", s, number] = done
        return
    if there < 0:
        return
    border = stages[min(s, there)].layers[-1]
    numbers = border.output_numbers * graph.job.samples
    profile = graph.job.operations.pp_multicast(s, there, numbers)
    assert profile is not None
    name = f"{direction} {number} to stage {there}"
    arrived[direction, there, number] = graph.hand_on(s, there, name, profile, done)


def streaming_tasks(layers: Sequence[Layer], stages: int, mp: int, job: Job) -> list[Task]:
    """Return the tasks of an iteration whose weights are streamed in, layer by layer.

    Layer i runs on stage i mod PP, so that PP successive layers are on the wafer at once and every
    layer is loaded once per pass. All microbatches pass a layer before the next one of its stage.
    The I/O controllers load the layers one after the other, as soon as a stage has space: it holds
    ``PREFETCH`` layers. In the backward pass the layers are loaded again in reverse order, and the
    gradients of each are sent to storage, reduced over DP, as soon as they are complete.

    Parameters
    ----------
    layers : sequence of Layer
        The whole network.
    stages : int
        Pipeline stages.
    mp : int
        NPUs that share each layer.
    job : Job
        Other inputs; ``schedule`` has no effect here, and gradients are always sent while others
        compute.
    """
    graph = _Graph(job)
    graph.load_input()
    loaded: int | None = None
    stored: int | None = None
    worked: list[list[int]] = [[] for _ in range(stages)]  # last task of each layer in a stage
    arrived: list[int | None] = [None] * job.microbatches
    visits: list[tuple[Direction, int]] = [("forward", i) for i in range(len(layers))]
    visits.extend(("backward", i) for i in reversed(range(len(layers))))
    for visit, (direction, i) in enumerate(visits):
        layer, s = layers[i], i % stages
        numbers = (layer.parameters / mp, layer.shared_parameters / mp)
        room = worked[s][-PREFETCH] if len(worked[s]) >= PREFETCH else None
        here = loaded
        for weights in job.operations.weights(s, *numbers):
            name = f"weights of {layer.name}, {direction}"
            here = loaded = graph.add("weight_streaming", s, name, weights, (loaded, room))
        before = worked[s][-1] if worked[s] else None
        for number in range(job.microbatches):
            name = f"{direction} {number} {layer.name}"
            graph.begin(visit, number)
            after = (before, arrived[number], here)
            before = done = graph.layer(s, layer, direction, name, after)
            arrived[number] = None  # a stage runs its microbatches in sequence anyway
            there = visits[visit + 1][1] % stages if visit + 1 < len(visits) else s
            border = layers[min(i, visits[visit + 1][1])] if there != s else layer
            sent = border.output_numbers * job.samples
            profile = job.operations.pp_multicast(s, there, sent) if there != s else None
            if profile is not None:
                name = f"{direction} {number} to stage {there}"
                arrived[number] = graph.hand_on(s, there, name, profile, done)
        graph.end()
        assert before is not None
        worked[s].append(before)
        if direction == "backward":
            for gradients in job.operations.stored(s, *numbers):
                name = f"gradients of {layer.name}"
                stored = graph.add("weight_streaming", s, name, gradients, (before, stored))
    return graph.tasks
