"""Cycle-level packets on virtual channels: arbitration of routers and switches for links.

Each link ends in a queue for each circuit. The packet at the head of a queue goes when its next
link is free, the receiver there has space for a largest packet, and no other packet of the same
link is on its way: the most urgent circuit first, queues of one circuit by turns
(docs/explanation/mesh.md). Where a packet ends, both ends of its path are matched anew in one
cycle, as an allocator does: if the link were free later than the queue, a less urgent packet of
another way would go ahead each time. Acks go between the flits of packets, a cycle of each link. A
link has a queue in front of it, so an ack is no pause of the path before that is full. That of a
slow link often is: then who is next has the path when the packet before has gone into that queue,
and waits there.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from math import floor

from fred_hw.protocol import PASSES
from perfmodel.clock import ROUNDING_CYCLES, Clock

from .router_sizes import Sizes

__all__ = ["Packet", "Routers", "Shared"]


class Packet:
    """A packet in flight over one or more links.

    Parameters
    ----------
    circuit, flits : int
        Virtual channel and length of the packet.
    path : sequence of int
        Links that it crosses.
    came : callable
        Called with the packet when its first flit has arrived; the receiver reports taking the
        packet with ``Routers.taken``.
    starts : callable or None
        Called with the packet when it leaves its source, which may set ``number`` only then.

    Attributes
    ----------
    source, number : int
        Source and number, for the sender and the receiver.
    link : int
        The next link, -1 after the last.
    pace, since : float
        Cycles from flit to flit on the link by which the packet arrives, and time at which its
        first flit arrived.
    """

    __slots__ = (
        "came",
        "circuit",
        "flits",
        "link",
        "number",
        "pace",
        "path",
        "place",
        "since",
        "source",
        "starts",
    )

    def __init__(
        self,
        circuit: int,
        flits: int,
        path: Sequence[int],
        came: Callable[["Packet"], object],
        starts: Callable[["Packet"], object] | None = None,
    ) -> None:
        self.circuit, self.flits, self.path, self.came = circuit, flits, path, came
        self.starts, self.place, self.link = starts, 0, path[0]
        self.source = self.number = 0
        self.pace, self.since = 1.0, 0.0

    @property
    def cycles(self) -> float:
        """Cycles that its flits take to arrive at the current position."""
        return self.flits * self.pace


class _Space:
    """Space in a queue as its sender knows it, updated for each flit that leaves [flits]."""

    __slots__ = ("announced", "known")

    def __init__(self, flits: float) -> None:
        self.known = flits
        self.announced: deque[tuple[float, int]] = deque()
        """First cycle in which a departed packet's flits become known, and their number (one per
        cycle)."""

    def at(self, now: float) -> float:
        """Return the known space at a time; times never decrease between calls."""
        announced, found, now = self.announced, 0, now + ROUNDING_CYCLES
        while announced and announced[0][0] + announced[0][1] - 1 <= now:
            self.known += announced.popleft()[1]
        for first, _ in announced:
            if first > now:
                break
            found += int(now - first) + 1
        return self.known + found

    def has(self, flits: int, now: float) -> bool:
        """Return whether there is space for a number of flits; times never decrease."""
        return self.known >= flits or self.at(now) >= flits

    def when(self, flits: int) -> float | None:
        """Return when there is space for a number of flits, by the departures known so far."""
        found = self.known
        if found >= flits:
            return 0.0
        for first, count in self.announced:
            if found + count >= flits:
                return first + flits - found - 1
            found += count
        return None


class _Entry:
    """Queues at the end of a link or at a source, one per virtual channel."""

    __slots__ = ("busy", "found", "link", "outgoing", "passed", "port", "queues", "space")

    def __init__(self, link: int | None, port: int, sizes: Sizes) -> None:
        self.link, self.port = link, (link is not None, port)
        self.outgoing: tuple[int, int] | None = None
        """Link and virtual channel of its last path."""
        self.passed = [0] * sizes.circuits
        """Less urgent packets sent ahead of the next packet of each virtual channel."""
        self.busy = False
        self.found = [-1.0] * sizes.circuits
        """Time at which the last packet of each virtual channel is routed; packets stay in
        order."""
        self.queues: list[deque[Packet]] = [deque() for _ in range(sizes.circuits)]
        self.space = [_Space(sizes.buffer_flits) for _ in range(sizes.circuits)]
        """Space in the queues as known to the sender."""


class _Exit:
    """The start of a link: queues that have offered packets to it, and the last one granted."""

    __slots__ = ("busy", "entries", "following", "last", "taken", "until")

    def __init__(self, circuits: int) -> None:
        self.busy = False
        self.entries: list[_Entry] = []
        """Queues in the order of their ports."""
        self.last = [(False, -1)] * circuits
        """Port of the last grant of each virtual channel."""
        self.following: _Entry | None = None
        """Queue that has the next grant, while there is no space for its packet."""
        self.taken: _Entry | None = None
        """Queue that had the last grant."""
        self.until = 0.0
        """Time when all packets given to the link have left [cycles]."""


def _offering(leaves: _Exit, circuit: int, link: int) -> list[_Entry]:
    """Return the queues of a virtual channel with a packet for a link, in arbitration order."""
    # Most have one or none, so those are found first and put in order then.
    found: list[_Entry] = []
    for entry in leaves.entries:
        if not entry.busy:
            queue = entry.queues[circuit]
            if queue and queue[0].link == link:
                found.append(entry)
    if len(found) > 1:
        last, following = leaves.last[circuit], leaves.following
        found = [
            *(one for one in found if one is following),
            *(one for one in found if one.port > last and one is not following),
            *(one for one in found if one.port <= last and one is not following),
        ]
    return found


def _behind_offered(ahead: float, pace: float) -> float:
    """Return how long an ack waits for a link that is busy for a while [cycles].

    Data in a queue let it go ahead, but for two flits: one in the register of a slow link, one that
    has been offered to that (``Framer``, ``StreamRegister``).
    """
    least = 2 * (pace - 1)
    return max(0.0, ahead - pace * max(0, floor((ahead - least) / pace + ROUNDING_CYCLES)))


class Routers:
    """Routers, switches and links that carry packets.

    Parameters
    ----------
    clock : Clock
        The time [cycles].
    sizes : Sizes
        Sizes and latencies of all routers and links.
    """

    def __init__(self, clock: Clock[float], sizes: Sizes) -> None:
        self._clock, self._sizes = clock, sizes
        self._sources: dict[Hashable, _Entry] = {}
        self._entries: dict[int, _Entry] = {}
        self._exits: dict[int, _Exit] = {}

    def send(self, source: Hashable, packet: Packet) -> None:
        """Queue a packet at its source, whose queue is unbounded."""
        if source not in self._sources:
            self._sources[source] = _Entry(None, len(self._sources), self._sizes)
        self._come(self._sources[source], packet)

    def taken(self, packet: Packet) -> None:
        """Free the space of a packet whose last flit has left the queue."""
        sizes = self._sizes
        credit = sizes.credit_cycles + sizes.hop_cycles - sizes.link_cycles
        self._tell(self._entry(packet.path[-1]), packet, 1 - packet.flits + credit)

    def answer(
        self, path: Sequence[int], came: Callable[[], object] | None = None, place: int = 0
    ) -> None:
        """Send an ack or a nack over links; call a function when it has arrived."""
        if place == len(path):
            if came is not None:
                came()
            return
        now, leaves = self._clock.now, self._exit(path[place])
        pace = self._sizes.paces.get(path[place], 1.0)
        cycles = self._sizes.link_cycles + _behind_offered(leaves.until - now, pace)
        leaves.until = max(leaves.until, now) + pace
        cycles += self._sizes.message_cycles if place + 1 < len(path) else 0
        self._clock.after(cycles, self.answer, path, came, place + 1)

    def _exit(self, link: int) -> _Exit:
        if link not in self._exits:
            self._exits[link] = _Exit(self._sizes.circuits)
        return self._exits[link]

    def _entry(self, link: int) -> _Entry:
        if link not in self._entries:
            self._entries[link] = _Entry(link, self._sizes.ports.get(link, link), self._sizes)
        return self._entries[link]

    def _come(self, entry: _Entry, packet: Packet) -> None:
        queue, link = entry.queues[packet.circuit], packet.link
        packet.since = self._clock.now
        queue.append(packet)
        leaves = self._exit(link)
        if entry not in leaves.entries:
            leaves.entries.append(entry)
            leaves.entries.sort(key=lambda one: one.port)
        if len(queue) == 1:
            self._match(link)

    def _near(self, entry: _Entry, packet: Packet) -> None:
        """Enqueue a packet, later if its path has not been found yet."""
        link = packet.link
        now, before = self._clock.now, entry.found[packet.circuit]
        stays = entry.outgoing == (link, packet.circuit) and self._exit(link).taken is entry
        found = now + (0.0 if stays else self._sizes.hop_cycles - self._sizes.follow_cycles)
        entry.found[packet.circuit] = found = max(found, before)
        if before < found == now:
            self._come(entry, packet)
        else:
            self._clock.at(found, self._come, entry, packet)

    def _match(self, link: int) -> None:
        """Start a packet on a link, if one is eligible."""
        leaves = self._exits.get(link)
        if leaves is None or leaves.busy:
            return
        for circuit in range(self._sizes.circuits):
            for entry in _offering(leaves, circuit, link):
                if circuit and self._waits(entry, circuit):
                    continue
                if not self._has_space(link, circuit):
                    break
                self._give(entry, leaves, circuit, link)
                return

    def _give(self, entry: _Entry, leaves: _Exit, circuit: int, link: int) -> None:
        """Start the next packet of a queue."""
        queue, leaves.following = entry.queues[circuit], None
        if self._sizes.short_again and queue[0].flits == 1:
            # Who is next is known before this one has started: itself, or who came meanwhile.
            leaves.following = next(iter(_offering(leaves, circuit, link)), None)
        leaves.last[circuit] = entry.port
        self._start(entry, leaves, queue.popleft(), link)

    def _has_space(self, link: int, circuit: int) -> bool:
        """Return whether the queue at the end of a link has space for a packet of maximum size."""
        return self._entry(link).space[circuit].has(self._sizes.packet_flits, self._clock.now)

    def _waits(self, entry: _Entry, circuit: int) -> bool:
        """Return whether a queue must yield to a more urgent packet that was passed too often."""
        return any(
            entry.passed[urgent] == PASSES and self._reaches(entry, urgent)
            for urgent in range(circuit)
        )

    def _reaches(self, entry: _Entry, circuit: int) -> bool:
        """Return whether the next packet of a virtual channel has space at the next queue."""
        queue = entry.queues[circuit]
        return bool(queue) and self._has_space(queue[0].link, circuit)

    def _start(self, entry: _Entry, leaves: _Exit, packet: Packet, link: int) -> None:
        sizes, now, after = self._sizes, self._clock.now, self._clock.after
        entry.busy = leaves.busy = True
        if packet.starts is not None and entry.link is None:
            packet.starts(packet)
        circuit, flits = packet.circuit, packet.flits
        entry.outgoing, leaves.taken = (link, circuit), entry
        entry.passed[circuit] = 0
        for urgent in range(circuit):
            if entry.passed[urgent] < PASSES and self._reaches(entry, urgent):
                entry.passed[urgent] += 1
        if entry.link is not None:
            self._tell(entry, packet, 1 + sizes.credit_cycles)
        packet.place += 1
        packet.link = packet.path[packet.place] if packet.place < len(packet.path) else -1
        # What has waited is there already, so less of it comes as slowly as on a link before.
        comes = max(flits, flits * packet.pace - (now - packet.since))
        pace = sizes.paces.get(link, 1.0)
        packet.pace = max(pace, comes / flits)
        there = self._entry(link)
        late = max(0.0, leaves.until - now)
        leaves.until = now + late + flits * packet.pace
        space = there.space[circuit]
        space.known -= flits
        if not space.has(sizes.packet_flits, now):
            after(0.0, self._no_space, leaves, circuit)
            self._look(there, circuit)
        if packet.link >= 0:
            after(late + sizes.follow_cycles, self._near, there, packet)
        else:
            after(late + sizes.link_cycles, packet.came, packet)
        # What is inside a switch is space that a slow link has for more that waits.
        space_cycles = sizes.packet_flits * pace + sizes.inside_flits * (pace - 1)
        behind = late + flits * pace - comes - space_cycles
        if behind > ROUNDING_CYCLES and pace > 1:
            after(comes, self._passed, entry, leaves, link)
            after(comes + behind, self._free, leaves, link)
        else:
            after(comes + max(0.0, behind), self._ended, entry, leaves, link)

    def _tell(self, entry: _Entry, packet: Packet, cycles: float) -> None:
        """Report the departure of a packet to its sender, starting after ``cycles`` cycles."""
        space, most, now = entry.space[packet.circuit], self._sizes.packet_flits, self._clock.now
        unknown = not space.has(most, now) and space.when(most) is None
        # Of a slow one it is told when the last has left, as if the others left just before.
        first = now + cycles + packet.cycles - packet.flits
        if space.announced:  # what is told of a quicker one is no sooner
            first = max(first, sum(space.announced[-1]))
        space.announced.append((first, packet.flits))
        if unknown:
            self._look(entry, packet.circuit)

    def _look(self, entry: _Entry, circuit: int) -> None:
        """Arbitrate for the link to a queue once the queue has space, if that time is known."""
        when = entry.space[circuit].when(self._sizes.packet_flits)
        if when is not None:
            assert entry.link is not None
            self._clock.at(max(when, self._clock.now), self._match, entry.link)

    def _no_space(self, leaves: _Exit, circuit: int) -> None:
        """Resume queues that yielded to a packet which no longer has space."""
        for entry in leaves.entries:
            if entry.passed[circuit] == PASSES and not entry.busy:
                self._go_on(entry)

    def _ended(self, entry: _Entry, leaves: _Exit, link: int) -> None:
        """Arbitrate for both ends of a path at once, the most urgent packet first."""
        entry.busy = leaves.busy = False
        self._go_on(entry)
        self._match(link)

    def _passed(self, entry: _Entry, leaves: _Exit, link: int) -> None:
        """Free the input of a path before its output has space; reserve the output."""
        entry.busy = False
        if leaves.following is None:
            circuits = range(self._sizes.circuits)
            found = (_offering(leaves, circuit, link) for circuit in circuits)
            leaves.following = next((one[0] for one in found if one), None)
        self._go_on(entry)

    def _free(self, leaves: _Exit, link: int) -> None:
        leaves.busy = False
        self._match(link)

    def _go_on(self, entry: _Entry) -> None:
        for queue in entry.queues:
            if queue and not entry.busy:
                self._match(queue[0].link)


class Shared:
    """A port of one flit per cycle, shared round-robin by virtual channels.

    Parameters
    ----------
    clock : Clock
        The time [cycles].
    """

    def __init__(self, clock: Clock[float]) -> None:
        self._clock = clock
        self._jobs: dict[int, deque[tuple[float, Callable[[], object]]]] = {}
        self._left: dict[int, float] = {}
        self._since, self._planned = 0.0, 0

    def add(self, circuit: int, jobs: Iterable[tuple[float, Callable[[], object]]]) -> None:
        """Add jobs of a number of flits each; call a function when each is done."""
        self._advance()
        for flits, done in jobs:
            self._jobs.setdefault(circuit, deque()).append((flits, done))
            self._left.setdefault(circuit, flits)
        self._plan()

    def _advance(self) -> None:
        if self._left:
            each = (self._clock.now - self._since) / len(self._left)
            for circuit in self._left:
                self._left[circuit] -= each
        self._since = self._clock.now

    def _plan(self) -> None:
        self._planned += 1
        if self._left:
            cycles = max(0.0, min(self._left.values())) * len(self._left)
            self._clock.after(cycles, self._done, self._planned)

    def _done(self, planned: int) -> None:
        if planned != self._planned:
            return
        self._advance()
        ended: list[Callable[[], object]] = []
        for circuit in [one for one, left in self._left.items() if left <= ROUNDING_CYCLES]:
            jobs = self._jobs[circuit]
            ended.append(jobs.popleft()[1])
            if jobs:
                self._left[circuit] = jobs[0][0]
            else:
                del self._left[circuit], self._jobs[circuit]
        self._plan()
        for call in ended:
            call()
