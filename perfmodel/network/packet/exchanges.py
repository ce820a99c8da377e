"""Unicasts of endpoints packet by packet, one descriptor after the other.

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
    """What an endpoint sends and receives at a time.

    Parameters
    ----------
    target, source : int or None
        To and from which NPU, None if it sends or receives nothing.
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
    """Return the descriptors of a schedule of one byte, if endpoints do it by unicasts.

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
"""Times of descriptors of so many flits [s]."""


class Exchanges:
    """Times of descriptors of NPUs, each simulated once.

    Parameters
    ----------
    topology : Topology
        Where they run.
    timing : EndpointTiming
        Its endpoints.
    queues : dict of int to list of _Descriptor
        What each NPU does, for a vector of one byte.
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
    """A simulation of the descriptors of a vector of so many flits."""

    def __init__(
        self, topology: Topology, timing: EndpointTiming, queues: _Queues, flits: float
    ) -> None:
        self.clock, self.timing = Clock(0.0), timing
        self.flits, self._topology = flits, topology
        self.routers = Routers(self.clock, router_sizes(topology, timing, circuits=1))
        self._ways: dict[tuple[int, int], list[int]] = {}
        self.npus = {npu: _Npu(self, npu, own) for npu, own in queues.items()}

    def cycles(self) -> float:
        """Return how long all take [cycles]."""
        for one in self.npus.values():
            one.begin()
        self.clock.run()
        assert all(one.through for one in self.npus.values()), "no packet may wait for ever"
        last = max(one.ended for one in self.npus.values())
        return last + self.timing.record.endpoint.finish_cycles

    def way(self, source: int, target: int) -> list[int]:
        """Return the links from one to another."""
        key = source, target
        if key not in self._ways:
            self._ways[key] = [link for link, _ in self._topology.hops((source,), (target,))]
        return self._ways[key]

    def count(self, share: float) -> int:
        """Return the flits of a share of the vector."""
        return max(1, ceil(share * self.flits - ROUNDING))


class _Npu:
    """An endpoint: its descriptors, what it sends, and what it receives."""

    def __init__(self, run: _Run, npu: int, queue: Sequence[_Descriptor]) -> None:
        self._run, self._npu, self._queue = run, npu, queue
        self._measured, self._protocol = run.timing.record.endpoint, run.timing.record.spec.protocol
        self._at, self._moved = -1, False
        self.sent = Packets(run.clock, run.timing, self._offer, self._check)
        self._source: int | None = None
        self._set = 0.0
        """Since when the flow that it receives is set."""
        self._expected = self._left = 0
        self._nacked = float("-inf")
        self._whole = True
        """Whether all that the descriptor receives is in memory."""
        self._before: dict[int, int] = {}
        """What is expected next of flows that were set before."""
        heard = Heard()
        self._answers = Answers(
            run.clock, self._protocol, self._measured.answer_cycles, heard, self._ack
        )
        self.ended = 0.0
        """When the last descriptor did."""

    @property
    def through(self) -> bool:
        """Whether it has given and got all."""
        return self._moved and self._at == len(self._queue) - 1

    @property
    def _following(self) -> float:
        """Cycles from the last that is received to the next descriptor, more than from an ack."""
        return max(0, self._measured.received_cycles - self._measured.next_cycles)

    @property
    def _until_set(self) -> float:
        """Cycles from the ack of a descriptor until the flow of the next one is set.

        Then what is left of the one before is answered, so its ack says when that is.
        """
        after = self._measured.ack_cycles - self._measured.answer_cycles + 1
        return max(0.0, after - self._following)

    def begin(self) -> None:
        """Begin the next descriptor."""
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
        """Go on to the next descriptor when all of this one is done."""
        if self._moved or not self._whole or not self.sent.given:
            return
        if self._at == len(self._queue) - 1:
            self._moved = True
            return
        if self.sent.idle:
            self._moved = True
            self.begin()

    def _offer(self) -> None:
        """Offer the next packet to the link; which one that is shows when it starts."""
        run, own = self._run, self._queue[self._at]
        assert own.target is not None
        path, size = run.way(self._npu, own.target), self._protocol.packet_flits

        def starts(packet: Packet) -> None:
            number = self.sent.start()
            packet.flits, packet.number = self.sent.size(number), number

        packet = Packet(0, size, path, run.npus[own.target].come, starts)
        packet.source = self._npu
        run.routers.send(self._npu, packet)

    def heard(self, kind: str, source: int, number: int) -> None:
        """Take an ack or a nack."""
        if self._queue[self._at].target == source:
            self.sent.heard(kind, number)

    def come(self, packet: Packet) -> None:
        """Take a packet whose first flit has come."""
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
        """Ask for what is lost, once in a while."""
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

        run.clock.after(cycles, run.routers.answer, run.way(self._npu, target), came)
