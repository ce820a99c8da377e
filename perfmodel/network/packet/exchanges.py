"""Unicasts of endpoints at packet level, one descriptor after the other.

An endpoint sends to one after the other, and receives from one after the other (all-to-alls in
turns, copies to several): a descriptor for each. It goes on when it has given and got all of one,
and all that it sent is acknowledged. So some are ahead of others: what they send to an endpoint
that does not expect it yet is lost, and sent again when a nack says so or no ack has come for
``timeout_cycles``. Others fill their links meanwhile. No sum of latencies and bytes says how long
all that takes, so this lets the packets of all go, as endpoints do (docs/reference/protocol.md),
over routers (``packets``). All numbers are those of records and specifications.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from weakref import WeakKeyDictionary

from perfmodel.clock import Clock
from perfmodel.collectives.transfer import RingPass, Transfer
from perfmodel.switch_timing.endpoint import EndpointTiming
from perfmodel.switch_timing.record import ROUNDING
from perfmodel.topology.graph import Topology

from .answers import Answers, Heard
from .beyond import beyond_s
from .go_back import Packets
from .packets import Packet, Routers
from .router_sizes import router_sizes

__all__ = ["Exchanges", "exchanges_of"]


@dataclass(frozen=True, slots=True)
class _Descriptor:
    """A unicast that an endpoint sends and one that it receives at the same time.

    Parameters
    ----------
    target, source : int or None
        NPU to which the endpoint sends, and NPU from which it receives; None for neither.
    sends, receives : float
        Shares of the vector.
    """

    target: int | None = None
    sends: float = 0.0
    source: int | None = None
    receives: float = 0.0


_Queues = dict[int, list[_Descriptor]]
"""Descriptors of each NPU."""


def exchanges_of(topology: Topology, messages: Sequence[Transfer | RingPass]) -> "Exchanges | None":
    """Return the descriptors of a schedule of one byte; None if it is not made of unicasts.

    None where a message waits for another, joins or forks, where an NPU has to receive from two
    at a time or twice from one, or the topology has no endpoints, or links of several ports.
    """
    timing = topology.endpoint
    if timing is None or not topology.single_ports or not messages:
        return None
    turns: Counter[int] = Counter()
    queues: dict[int, dict[int, _Descriptor]] = {}
    pairs = set[tuple[int, int]]()
    for item in messages:
        if isinstance(item, RingPass) or item.joins or item.after or item.action != "copy":
            return None
        (source,), (target,) = item.sources, item.targets
        turn, share = turns[source], item.payload_bytes
        turns[source] += 1
        own, other = queues.setdefault(source, {}), queues.setdefault(target, {})
        known = other.get(turn, _Descriptor())
        npus = topology.nodes[source].kind == topology.nodes[target].kind == "npu"
        if not npus or known.source is not None or (source, target) in pairs or not share:
            return None
        pairs.add((source, target))
        other[turn] = replace(known, source=source, receives=share)
        own[turn] = replace(own.get(turn, _Descriptor()), target=target, sends=share)
    ordered = {npu: [own[turn] for turn in sorted(own)] for npu, own in queues.items()}
    return Exchanges(topology, timing, ordered)


_simulated: WeakKeyDictionary[Topology, dict[tuple[object, ...], float]] = WeakKeyDictionary()
"""Times of descriptors, cached by number of flits [s]."""


class Exchanges:
    """Times of the descriptors of NPUs, each simulated once.

    Parameters
    ----------
    topology : Topology
        Topology on which the descriptors run.
    timing : EndpointTiming
        Timing of the endpoints.
    queues : dict of int to list of _Descriptor
        Descriptors of each NPU, for a vector of one byte.
    """

    def __init__(self, topology: Topology, timing: EndpointTiming, queues: _Queues) -> None:
        self._topology, self._timing, self._queues = topology, timing, queues
        self._key = tuple((npu, *own) for npu, own in queues.items())

    def time_s(self, size_bytes: float) -> float:
        """Return the time of a vector, from COMMAND until software reads completion [s]."""
        return beyond_s(size_bytes, self._timing, self._simulated_s)

    def _simulated_s(self, size_bytes: float) -> float:
        known = _simulated.setdefault(self._topology, {})
        flits = size_bytes / self._timing.flit_bytes
        key = self._key, flits
        if key not in known:
            cycles = _Run(self._topology, self._timing, self._queues, flits).cycles()
            known[key] = cycles * self._timing.cycle_s
        return known[key]


class _Run:
    """A simulation of the descriptors of a vector of a given number of flits."""

    def __init__(
        self, topology: Topology, timing: EndpointTiming, queues: _Queues, flits: float
    ) -> None:
        self.clock, self.timing = Clock(0.0), timing
        self.flits, self._topology = flits, topology
        self.routers = Routers(self.clock, router_sizes(topology, timing, circuits=1))
        self._routes: dict[tuple[int, int], list[int]] = {}
        self.npus = {npu: _Npu(self, npu, own) for npu, own in queues.items()}

    def cycles(self) -> float:
        """Return the time until all descriptors are complete [cycles]."""
        for one in self.npus.values():
            one.begin()
        self.clock.run()
        assert all(one.through for one in self.npus.values()), "no packet may wait for ever"
        last = max(one.ended for one in self.npus.values())
        return last + self.timing.record.endpoint.finish_cycles

    def route(self, source: int, target: int) -> list[int]:
        """Return the links from one NPU to another."""
        key = source, target
        if key not in self._routes:
            self._routes[key] = [link for link, _ in self._topology.hops((source,), (target,))]
        return self._routes[key]

    def count(self, share: float) -> int:
        """Return the number of flits of a share of the vector."""
        return max(1, ceil(share * self.flits - ROUNDING))


class _Npu:
    """An endpoint: its descriptors, and the packets it sends and receives."""

    def __init__(self, run: _Run, npu: int, queue: Sequence[_Descriptor]) -> None:
        self._run, self._npu, self._queue = run, npu, queue
        self._measured, self._protocol = run.timing.record.endpoint, run.timing.record.spec.protocol
        self._at, self._moved = -1, False
        self.sent = Packets(run.clock, run.timing, self._offer, self._check)
        self._source: int | None = None
        self._set = 0.0
        """Time since which the flow that it receives has been set."""
        self._expected = self._left = 0
        self._nacked = float("-inf")
        self._whole = True
        """Whether all data that the descriptor receives is in memory."""
        self._before: dict[int, int] = {}
        """Next expected packet number of each flow that was set before."""
        heard = Heard()
        self._answers = Answers(
            run.clock, self._protocol, self._measured.answer_cycles, heard, self._ack
        )
        self.ended = 0.0
        """End of the last descriptor."""

    @property
    def through(self) -> bool:
        """Whether all descriptors are complete."""
        return self._moved and self._at == len(self._queue) - 1

    @property
    def _following(self) -> float:
        """Cycles from the last received flit to the next descriptor, beyond those from an ack."""
        return max(0, self._measured.received_cycles - self._measured.next_cycles)

    @property
    def _until_set(self) -> float:
        """Cycles from the ack of a descriptor until the flow of the next descriptor is set.

        Then what is left of the one before is answered, so its ack says when that is.
        """
        after = self._measured.ack_cycles - self._measured.answer_cycles + 1
        return max(0.0, after - self._following)

    def begin(self) -> None:
        """Start the next descriptor."""
        run, measured = self._run, self._measured
        self._at, self._moved = self._at + 1, False
        own = self._queue[self._at]
        self._begin_to_receive(own)
        memory = run.timing.memory_s / run.timing.cycle_s
        start = measured.next_cycles if self._at else measured.start_cycles
        flits = run.count(own.sends) if own.target is not None else 0
        self.sent.begin(flits, start + memory)

    def _begin_to_receive(self, own: _Descriptor) -> None:
        if own.source is None:
            return
        later = self._until_set if self._at else 0.0
        self._set = self._run.clock.now + later
        if self._source is not None:
            self._before[self._source] = self._expected
            if self._answers.forget():
                # The flow is set for a cycle before it is known to be another one.
                self._say("ack", self._source, later + self._answers.cycles - 1)
        self._source, self._expected = own.source, 0
        self._left, self._whole = self._run.count(own.receives), False
        self._nacked = float("-inf")

    def _check(self) -> None:
        """Go to the next descriptor once the current one is complete."""
        if self._moved or not self._whole or not self.sent.given:
            return
        if self._at == len(self._queue) - 1:
            self._moved = True
            return
        if self.sent.idle:
            self._moved = True
            self.begin()

    def _offer(self) -> None:
        """Offer the next packet to the link; its number is chosen when it starts."""
        run, own = self._run, self._queue[self._at]
        assert own.target is not None
        path, size = run.route(self._npu, own.target), self._protocol.packet_flits

        def starts(packet: Packet) -> None:
            number = self.sent.start()
            packet.flits, packet.number = self.sent.size(number), number

        packet = Packet(0, size, path, run.npus[own.target].come, starts)
        packet.source = self._npu
        run.routers.send(self._npu, packet)

    def heard(self, kind: str, source: int, number: int) -> None:
        """Handle an ack or a nack."""
        if self._queue[self._at].target == source:
            self.sent.heard(kind, number)

    def come(self, packet: Packet) -> None:
        """Handle a packet whose first flit has arrived."""
        run, now = self._run, self._run.clock.now
        self._answers.come(packet.cycles)
        expects = packet.source == self._source and self._set <= now
        if expects and packet.number > self._expected:
            self._lose(now)
        run.clock.after(packet.cycles - 1, self._end, packet, expects)
        run.clock.after(packet.cycles, run.routers.taken, packet)

    def _end(self, packet: Packet, expects: bool) -> None:
        now = self._run.clock.now
        if packet.source != self._source or self._set > now:
            # Of another flow; it is answered if that was set before.
            if packet.source in self._before and packet.source != self._source:
                self._say("ack", packet.source, self._answers.cycles)
        elif packet.number < self._expected:
            self._answers.ended()
        elif not expects:  # its first flits came too early
            self._lose(self._set)
        elif packet.number == self._expected:
            self._expected += 1
            self._left -= packet.flits
            self._nacked = float("-inf")
            self._answers.ended()
            if self._left <= 0:
                self.ended = now
                self._run.clock.after(self._following, self._received)

    def _received(self) -> None:
        self._whole = True
        self._check()

    def _lose(self, since: float) -> None:
        """Request lost packets with a nack, at most once per timeout."""
        if since - self._nacked >= self._protocol.packet_timeout_cycles:
            self._nacked = since
            later = since + self._answers.cycles - self._run.clock.now
            assert self._source is not None
            self._say("nack", self._source, max(0.0, later))

    def _ack(self, cycles: float) -> None:
        assert self._source is not None
        self._say("ack", self._source, cycles)

    def _say(self, kind: str, target: int, cycles: float) -> None:
        run = self._run
        number = self._expected if target == self._source else self._before[target]

        def came() -> None:
            run.npus[target].heard(kind, self._npu, number)

        run.clock.after(cycles, run.routers.answer, run.route(self._npu, target), came)
