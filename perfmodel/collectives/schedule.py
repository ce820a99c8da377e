"""Schedules: the transfers of one chunk of a collective, and the load on links."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Literal, TypeVar, get_args

from perfmodel.topology.graph import Hops, OnWafer, Topology

from .transfer import Exchange, RingPass, Transfer

__all__ = ["PATTERNS", "REDUCTIONS", "ROOTED", "Part", "Pattern", "Schedule", "ScheduleBuilder"]

Pattern = Literal["all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", "reduce"]

PATTERNS: tuple[Pattern, ...] = get_args(Pattern)
"""Collective patterns of the model."""

ROOTED = ("broadcast", "reduce")
"""Patterns that start or end at one NPU."""

Line = TypeVar("Line", bound=Sequence[int])
Parts = TypeVar("Parts")

REDUCTIONS = ("all_reduce", "reduce_scatter", "reduce")
"""Patterns whose result is a sum."""


@dataclass(frozen=True)
class Part:
    """The part of a schedule that belongs to one group.

    Parameters
    ----------
    members : tuple of int
        NPUs of the group; the first is the root of a broadcast or a reduce.
    owners : dict
        NPU that owns each shard of the group's data: where a reduce-scatter or a reduce leaves it,
        and where an all-gather, an all-to-all or a broadcast finds it.
    receivers : dict
        NPU that each shard of an all-to-all is for; empty otherwise.
    """

    members: tuple[int, ...]
    owners: dict[int, int]
    receivers: dict[int, int] = field(default_factory=dict[int, int])


@dataclass(frozen=True)
class Schedule:
    """Schedule of one chunk of a collective, on one group or on several at once.

    Parameters
    ----------
    pattern : str
        One of ``PATTERNS``.
    algorithm : str
        Name of the algorithm.
    parts : tuple of Part
        The groups.
    messages : tuple of Transfer or RingPass
        Messages, each after those in its ``after``.
    assumptions : tuple of str
        Assumptions of the algorithm.
    details : mapping
        Figures of the algorithm by their names in JSON, such as ``steps``; with several groups,
        those of the last group.
    stages : tuple of Schedule
        The successive collectives of a sequence; empty for a single collective.
    """

    pattern: str
    algorithm: str
    parts: tuple[Part, ...]
    messages: tuple[Transfer | RingPass, ...]
    assumptions: tuple[str, ...] = ()
    details: Mapping[str, float] = field(default_factory=dict[str, float])
    stages: "tuple[Schedule, ...]" = ()

    @property
    def groups(self) -> list[list[tuple[int, Transfer | RingPass]]]:
        """Position in ``messages`` and message, listed for each group of ``parts``.

        Passes around rings are left out: they have no shards, which name the group of a message.
        """
        part_of = {shard: i for i, part in enumerate(self.parts) for shard in part.owners}
        found: list[list[tuple[int, Transfer | RingPass]]] = [[] for _ in self.parts]
        for position, item in enumerate(self.messages):
            if isinstance(item, Transfer):
                found[part_of[item.shards[0]]].append((position, item))
        return found

    @property
    def transfers(self) -> tuple[Transfer, ...]:
        """Every message individually.

        Raises
        ------
        ValueError
            The schedule was built with passes around rings as one.
        """
        transfers = tuple(item for item in self.messages if isinstance(item, Transfer))
        if len(transfers) != len(self.messages):
            raise ValueError("a schedule must be built without lockstep to have every message")
        return transfers


@dataclass
class ScheduleBuilder:
    """Collects transfers, and makes each wait for the data that it sends.

    Parameters
    ----------
    topology : Topology
        Gives the routes.
    lockstep : bool
        Take a pass around a ring as one item instead of a transfer for each message.
    lines_as_one : bool
        In lockstep, take a step of lines that are alike as one item: see
        :meth:`representative_lines`.
    """

    topology: Topology
    lockstep: bool = False
    lines_as_one: bool = False
    messages: list[Transfer | RingPass] = field(default_factory=list[Transfer | RingPass])
    lane: int = 0
    """Lane of the next transfers; ring passes wait only for data in their own lane."""
    details: Mapping[str, float] = field(default_factory=dict[str, float])
    """Figures that an algorithm reports with its schedule."""
    _line_offsets: tuple[int, ...] = ()
    _shard_bytes: list[float] = field(default_factory=list[float])
    _owners: dict[int, int] = field(default_factory=dict[int, int])
    _receivers: dict[int, int] = field(default_factory=dict[int, int])
    _writers: dict[tuple[int, int], tuple[int, ...]] = field(
        default_factory=dict[tuple[int, int], tuple[int, ...]]
    )
    _passes: dict[tuple[int, int], tuple[int, ...]] = field(
        default_factory=dict[tuple[int, int], tuple[int, ...]]
    )
    _edges: dict[tuple[type[RingPass], tuple[int, ...]], tuple[Hops, ...]] = field(
        default_factory=dict[tuple[type[RingPass], tuple[int, ...]], tuple[Hops, ...]]
    )
    _routes: dict[tuple[tuple[int, ...], tuple[int, ...]], Hops] = field(
        default_factory=dict[tuple[tuple[int, ...], tuple[int, ...]], Hops]
    )

    def add_shard(self, owner: int, shard_bytes: float, receiver: int | None = None) -> int:
        """Return the number of a new shard of a given size [B], owned by an NPU."""
        number = len(self._shard_bytes)
        self._shard_bytes.append(shard_bytes)
        self._owners[number] = owner
        if receiver is not None:
            self._receivers[number] = receiver
        return number

    def end_part(self, members: Sequence[int]) -> Part:
        """Return the part of a group: all shards since the previous part."""
        owners, self._owners = self._owners, {}
        receivers, self._receivers = self._receivers, {}
        self._passes.clear()
        return Part(tuple(members), owners, receivers)

    def on(self, wafer: Topology) -> "ScheduleBuilder":
        """Return an empty builder for one of several wafers alone, with the same options."""
        return ScheduleBuilder(wafer, self.lockstep, self.lines_as_one)

    def append_placed(self, other: "ScheduleBuilder", placed: OnWafer) -> None:
        """Add all messages of a schedule that was built on one of several wafers alone."""
        number, shard = len(self.messages), len(self._shard_bytes)
        self.messages += [one.moved(placed, number, shard) for one in other.messages]
        self._shard_bytes += other._shard_bytes
        for mine, its in ((self._owners, other._owners), (self._receivers, other._receivers)):
            mine.update({shard + one: placed.nodes[npu] for one, npu in its.items()})
        self.details = other.details or self.details

    def shard_bytes(self, shards: Iterable[int]) -> float:
        """Return the total size of the given shards [B]."""
        return sum(self._shard_bytes[shard] for shard in shards)

    def send(
        self,
        sources: Iterable[int],
        targets: Iterable[int],
        shards: Sequence[int],
        action: Literal["reduce", "copy"],
        hops: Hops | None = None,
        *,
        feeds_pass: bool = False,
    ) -> None:
        """Add a transfer of shards, which waits for the messages that brought them to its sources.

        It takes the route ``hops``, by default that of the topology. With ``feeds_pass``, passes
        around a ring with a target in it wait for this transfer.

        Raises
        ------
        ValueError
            The topology cannot carry it.
        """
        key = (tuple(sources), tuple(targets))
        after = self._brought(key[0], shards)
        self._add(key, shards, action, hops, after, feeds_pass=feeds_pass)

    def _brought(self, sources: Iterable[int], shards: Sequence[int]) -> tuple[int, ...]:
        """Return the messages that brought shards, or earlier passes, to the given sources."""
        after = set[int]()
        for source in sources:
            for shard in shards:
                after.update(self._writers.get((source, shard), ()))
            after.update(self._passes.get((source, self.lane), ()))
        return tuple(sorted(after))

    def _add(
        self,
        key: tuple[tuple[int, ...], tuple[int, ...]],
        shards: Sequence[int],
        action: Literal["reduce", "copy"],
        hops: Hops | None,
        after: tuple[int, ...],
        *,
        feeds_pass: bool = False,
        step: int = -1,
    ) -> None:
        number = len(self.messages)
        for target in key[1]:
            for shard in shards:
                kept = self._writers.get((target, shard), ()) if action == "reduce" else ()
                self._writers[target, shard] = (*kept, number)
            if feeds_pass:
                lane = (target, self.lane)
                self._passes[lane] = (*self._passes.get(lane, ()), number)
        self.messages.append(
            Transfer(
                sources=key[0],
                targets=key[1],
                hops=self._route(*key) if hops is None else hops,
                payload_bytes=self.shard_bytes(shards),
                after=after,
                shards=tuple(shards),
                action=action,
                step=step,
            )
        )

    def representative_lines(
        self, lines: Sequence[tuple[Line, Parts]]
    ) -> Iterator[tuple[Line, Parts]]:
        """Yield parallel lines of a dimension, or one of them that represents all.

        One line represents all with ``lines_as_one``, where each line of a dimension has equal
        links of its own: all lines then begin and end each step together. It is the line with the
        lowest NPU of the group, which lines of all dimensions have in common. So this line waits
        for the same steps as every other line, and shares its links with the same steps.

        Parameters
        ----------
        lines : sequence of (sequence of int, any)
            NPUs of each line along a dimension, and what belongs to them.

        Yields
        ------
        (sequence of int, any)
            An entry of ``lines``. Passes that are added before the next entry is requested also
            stand for the lines that the entry represents.
        """
        if not (self.lines_as_one and self.topology.lines_alike):
            yield from lines
            return
        (first, place), *others = sorted((min(line), i) for i, (line, _) in enumerate(lines))
        self._line_offsets = tuple(other - first for other, _ in others)
        try:
            yield lines[place]
        finally:
            self._line_offsets = ()

    def pass_around(self, members: Sequence[int], payload_bytes: float) -> None:
        """Add a ring pass as one item, which waits for all earlier items in this lane."""
        nexts = zip(members, (*members[1:], members[0]), strict=True)
        self._pass(RingPass, members, nexts, payload_bytes)

    def exchange_all(
        self,
        members: Sequence[int],
        parts: Sequence[Sequence[int]],
        action: Literal["reduce", "copy"],
    ) -> None:
        """Add a step in which every member sends to each other member at the same time.

        With ``reduce``, a member receives its part from all others. With ``copy``, it sends its
        part to all others. In lockstep the step is one item, unless endpoints send messages one
        after the other.
        """
        count = len(members)
        if self.lockstep and self.topology.endpoint is None:
            payload_bytes = (count - 1) * self.shard_bytes(parts[0])
            ordered = sorted(members)  # any order has the same result; these routes are cached
            self._pass(Exchange, ordered, permutations(ordered, 2), payload_bytes)
            return
        pairs = [(i, (i + away) % count) for away in range(1, count) for i in range(count)]
        self.exchange(
            ((members[i], members[j], parts[j if action == "reduce" else i]) for i, j in pairs),
            action,
        )

    def _pass(
        self,
        kind: type[RingPass],
        members: Sequence[int],
        ends: Iterable[tuple[int, int]],
        payload_bytes: float,
    ) -> None:
        """Add an item of all members, which waits for earlier items of any member in this lane."""
        key = kind, tuple(members)
        if key not in self._edges:
            self._edges[key] = tuple(self._route((one,), (other,)) for one, other in ends)
        after = {
            earlier for member in members for earlier in self._passes.get((member, self.lane), ())
        }
        number = len(self.messages)
        for member in members:
            self._passes[member, self.lane] = (number,)
        what = key[1], self._edges[key], payload_bytes
        self.messages.append(kind(*what, tuple(sorted(after)), self._line_offsets))

    def exchange(
        self, step: Iterable[tuple[int, int, Sequence[int]]], action: Literal["reduce", "copy"]
    ) -> None:
        """Add the concurrent messages of a step: source, target and shards of each.

        Two may exchange the same shard: each sends what it held before the step.
        In lockstep a source waits for all that the steps and the passes around rings before have
        brought to it in this lane; of the shards, which may be very many, it names the first.
        """
        if not self.lockstep:
            first = len(self.messages)
            ready = [(one, self._brought(one[:1], one[2])) for one in step]
            for (source, target, shards), after in ready:
                self._add(((source,), (target,)), shards, action, None, after, step=first)
            return
        came: list[tuple[int, int]] = []
        # Many messages share one long list of shards: cache by identity, and keep the list alive.
        known: dict[int, tuple[Sequence[int], float]] = {}
        for source, target, shards in step:
            if id(shards) not in known:
                known[id(shards)] = (shards, self.shard_bytes(shards))
            came.append((target, len(self.messages)))
            ends = (source,), (target,)
            after = self._passes.get((source, self.lane), ())
            payload_bytes, first = known[id(shards)][1], tuple(shards[:1])
            self.messages.append(
                Transfer(*ends, self._route(*ends), payload_bytes, after, first, action)
            )
        for target, number in came:
            key = (target, self.lane)
            self._passes[key] = (*self._passes.get(key, ()), number)

    def join(self, member: int, shard: int) -> None:
        """Merge the dependencies on a shard at a member into one empty message.

        Only in lockstep, where it is an empty message: it makes many waits few.
        """
        if self.lockstep:
            after = self._writers.get((member, shard), ())
            self._writers[member, shard] = (len(self.messages),)
            self.messages.append(Transfer((member,), (member,), (), 0.0, after, (shard,)))

    def _route(self, sources: tuple[int, ...], targets: tuple[int, ...]) -> Hops:
        key = (sources, targets)
        if key not in self._routes:
            self._routes[key] = self.topology.hops(*key)
        return self._routes[key]
