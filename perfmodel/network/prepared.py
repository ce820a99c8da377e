"""Collectives whose schedules are built and timed for one byte; sizes only scale the result."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from perfmodel.collectives.algorithm import ALGORITHMS, SCATTERED
from perfmodel.collectives.guidelines import composed_words, stages_of
from perfmodel.collectives.schedule import ROOTED, Schedule
from perfmodel.collectives.select import build_schedule
from perfmodel.collectives.streaming import STREAMS, build_stream
from perfmodel.collectives.transfer import RingPass
from perfmodel.topology.graph import Topology

from .model import Conditions, Timed, find_model
from .remembered import Remembered

__all__ = [
    "Groups",
    "Prepared",
    "Request",
    "Size",
    "as_tuples",
    "prepare",
    "stage_requests",
]

Groups = tuple[tuple[int, ...], ...]
Loads = tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Size:
    """A vector, and the chunks in which it is sent.

    Parameters
    ----------
    size_bytes : float
        The vector [B].
    chunk_bytes : callable
        Returns the size of chunks of a vector [B].
    chunks : int or None
        Pieces of every vector; as many as ``chunk_bytes`` makes if None.
    """

    size_bytes: float
    chunk_bytes: Callable[[float], float]
    chunks: int | None = None

    @property
    def count(self) -> int:
        """Number of chunks."""
        return ceil(self.size_bytes / self.piece_bytes) if self.chunks is None else self.chunks

    @property
    def piece_bytes(self) -> float:
        """Size of a chunk [B]."""
        if self.chunks is None:
            return self.chunk_bytes(self.size_bytes)
        return self.size_bytes / self.chunks

    def times(self, factor: int) -> "Size":
        """Return the size of a vector that is ``factor`` times longer."""
        return self if factor == 1 else replace(self, size_bytes=factor * self.size_bytes)


@dataclass(frozen=True, slots=True)
class Request:
    """A collective to simulate, of any size: pattern, groups, algorithm and network model.

    Parameters
    ----------
    pattern : str
        Pattern, one of ``schedule.PATTERNS`` or ``streaming.STREAMS``.
    groups : tuple of tuple of int
        NPUs of each group; all groups run at once.
    algorithm : str
        Algorithm, see ``select.build_schedule``; streams have one for each topology.
    network_model : str
        Network model, one of ``model.NETWORK_MODELS``.
    concurrent : tuple of tuple of int
        Groups that may run the same collective at the same time: switches need paths for all at
        once.
    urgent, changes, second_first : bool, int, bool
        See ``model.Conditions``.
    """

    pattern: str
    groups: Groups
    algorithm: str
    network_model: str
    concurrent: Groups = ()
    urgent: bool = False
    changes: int = 0
    second_first: bool = False

    def schedule(self, topology: Topology, groups: Groups) -> Schedule:
        """Return the schedule of one byte for the given groups."""
        if self.pattern in STREAMS:
            return build_stream(topology, self.pattern, groups, 1.0)
        model = find_model(self.network_model)
        how = (self.pattern, groups, 1.0, self.algorithm)
        passes = self.pattern in SCATTERED and (
            self.algorithm in ALGORITHMS and ALGORITHMS[self.algorithm].passes
        )
        items = {"lockstep": model.lockstep or passes, "lines_as_one": model.lines_as_one}
        return build_schedule(topology, *how, **items)


@dataclass(frozen=True, slots=True)
class _Stage:
    """A stage of a collective, without the messages of its schedule, which may be many.

    Parameters
    ----------
    times : int
        Length of its vector in vectors of the collective.
    algorithm : str
        Description of the algorithm.
    groups, assumptions, details
        As of ``schedule.Schedule``.
    timed : Timed
        Times of the stage.
    sent : mapping
        Bytes that each node sends per byte of the vector.
    line_offsets : mapping
        ``transfer.RingPass.line_offsets`` of each link of a line that represents others.
    """

    times: int
    algorithm: str
    groups: Groups
    assumptions: tuple[str, ...]
    details: Mapping[str, float]
    timed: Timed
    sent: Mapping[int, float]
    line_offsets: Mapping[int, tuple[int, ...]]

    @classmethod
    def of(cls, schedule: Schedule, timed: Timed) -> "_Stage":
        """Return the stage of a schedule and its times."""
        sent: dict[int, float] = {}
        line_offsets: dict[int, tuple[int, ...]] = {}
        for message in schedule.messages:
            for source in message.sources:
                sent[source] = sent.get(source, 0.0) + message.payload_bytes
            if isinstance(message, RingPass) and message.line_offsets:
                offsets = message.line_offsets
                line_offsets.update((link, offsets) for link, _ in message.loads())
        groups = tuple(part.members for part in schedule.parts)
        how = (schedule.algorithm, groups, schedule.assumptions, schedule.details)
        return cls(1, *how, timed, sent, line_offsets)

    def loads(self, topology: Topology) -> Loads:
        """Return the loads of all lines."""
        same = {link: topology.links_of_lines(link, n) for link, n in self.line_offsets.items()}
        others = ((one, share) for link, share in self.timed.loads for one in same.get(link, ()))
        return (*self.timed.loads, *others)


@dataclass(frozen=True, slots=True)
class Prepared:
    """Stages that run one after the other.

    Parameters
    ----------
    pattern, algorithm : str
        Pattern and algorithm of the stages, in words.
    stages : tuple
        A stage begins when sources know that the one before has arrived.
    """

    pattern: str
    algorithm: str
    stages: tuple[_Stage, ...]

    @property
    def groups(self) -> Groups:
        """NPUs of each group."""
        return self.stages[0].groups

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions of the algorithm and of the network model."""
        every = (
            text for stage in self.stages for text in (*stage.assumptions, *stage.timed.assumptions)
        )
        return tuple(dict.fromkeys(every))

    @property
    def details(self) -> dict[str, float]:
        """Figures of the algorithms themselves, see ``schedule.Schedule``."""
        return {k: v for stage in self.stages for k, v in stage.details.items()}

    @property
    def ack_s(self) -> float:
        """Time from the end of the collective until its sources have received the acks [s]."""
        return self.stages[-1].timed.ack_s

    def loads(self, topology: Topology) -> Loads:
        """Return each link, and the bytes that cross it for each byte of the vector."""
        carried: dict[int, float] = {}
        for stage in self.stages:
            for link, share in stage.loads(topology):
                carried[link] = carried.get(link, 0.0) + stage.times * share
        return tuple(sorted(carried.items()))

    def distinct_loads(self, topology: Topology) -> Loads:
        """Return loads among which that of the busiest link is, the first if several are."""
        if len(self.stages) == 1:  # no line is busier than the one that stands for it
            return self.stages[0].timed.loads
        return self.loads(topology)

    def time_s(self, size: Size) -> float:
        """Return the time of a vector [s]."""
        waits_s = sum(stage.timed.ack_s for stage in self.stages[:-1])
        return waits_s + sum(_time_s(stage, size) for stage in self.stages)

    @property
    def most_sent(self) -> float:
        """Bytes that the busiest sender sends per byte of the vector."""
        sent: dict[int, float] = {}
        for stage in self.stages:
            for source, share in stage.sent.items():
                sent[source] = sent.get(source, 0.0) + stage.times * share
        return max(sent.values())

    @property
    def moved(self) -> float:
        """Bytes per NPU of the largest group that an endpoint algorithm would send, per byte."""
        members = max(map(len, self.groups))
        if self.pattern in ROOTED:
            return 1.0
        phases = 2 if self.pattern == "all_reduce" else 1
        return phases * (members - 1) / members


def _time_s(stage: _Stage, size: Size) -> float:
    own = size.times(stage.times)
    return stage.timed.time_s(own.size_bytes, own.piece_bytes)


_prepared: Remembered[Request, Prepared] = Remembered()


def prepare(topology: Topology, request: Request) -> Prepared:
    """Return a schedule of one byte and its times, cached for each topology.

    Raises
    ------
    InputError
        As for ``select.build_schedule``, or the stages of the algorithm do not do the pattern.
    CannotTimeError
        The network model cannot time the schedule.
    """
    return _prepared.of(topology, request, lambda: _prepare(topology, request))


def _prepare(topology: Topology, request: Request) -> Prepared:
    stages = stages_of(request.algorithm, request.pattern)
    if stages:
        done: list[_Stage] = []
        for times, one in stage_requests(request):
            [own] = prepare(topology, one).stages
            done.append(replace(own, times=times))
        words = [stage.algorithm for stage in done]
        how = composed_words([stage for stage, _ in stages], words)
        return Prepared(request.pattern, how, tuple(done))
    schedule = request.schedule(topology, request.groups)
    # Only paths inside switches depend on who else may be under way.
    concurrent = request.concurrent if topology.interconnects else ()
    conditions = Conditions(
        tuple(request.schedule(topology, (group,)) for group in concurrent),
        request.urgent,
        request.changes,
        request.second_first,
    )
    timed = find_model(request.network_model).prepare(topology, schedule, conditions)
    return Prepared(request.pattern, schedule.algorithm, (_Stage.of(schedule, timed),))


def stage_requests(request: Request) -> Iterator[tuple[int, Request]]:
    """Yield the request of each stage, and the length of its vector relative to the whole.

    What is not a sequence is one stage. Other destinations go before the first stage alone.
    """
    stages = stages_of(request.algorithm, request.pattern)
    if not stages:
        yield 1, request
    for place, (stage, algorithm) in enumerate(stages):
        changes = 0 if place else request.changes
        one = replace(request, pattern=stage.pattern, algorithm=algorithm, changes=changes)
        yield stage.times(request.groups), one


def as_tuples(groups: Sequence[Sequence[int]]) -> Groups:
    """Return groups in the form that a request stores."""
    return tuple(map(tuple, groups))
