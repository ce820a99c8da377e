"""Packets of the default index: who gets a path through the interconnect, and for how long."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int
from fred_hw.compiler.shape import configuration_width
from fred_hw.gates.select import any_of, one_hot_mux, round_robin, selected
from fred_hw.protocol import DATA_CIRCUITS
from fred_hw.unit import Unit, place

from .unicast_router import UnicastRouter

__all__ = ["OnlineRouter"]


class OnlineRouter(Unit):
    """Find paths for sources of unicasts, one at a time, round robin.

    A path stays until its source or its destination is wanted for another. Sources that want the
    same destination are granted it in rounds, in which each has a packet. When there is no path
    for a source, which takes two middle subswitches, all others end with their packets, at once
    where there is no room for them, and no other is picked behind it while its destination has
    room. A source is picked in one cycle, and gets its path in the next. A pick whose source or
    destination is in a path that is still used is kept if nobody else may be picked, or if all
    such paths are without a packet and so end in this cycle, else given up.

    Parameters
    ----------
    ports, middle : int
        Ports P and middle subswitches m of the interconnect, each 2 or more.

    Members
    -------
    online, circuit : In(1), In(2)
        Whether the default index is served, and on which circuit.
    waits, here : In(P), In(P)
        Sources with a packet of the default index at the head of the circuit; those that may
        start it, on the path that they have.
    peers : In(ArrayLayout(bits of P - 1, P))
        Destinations of the packets at the heads.
    room : In(P)
        Destinations with room for a packet.
    inside, closing, ended : In(P)
        Sources with a packet that has started before; those of them whose packet ends in this
        cycle; those with a packet of one flit that has gone in the cycle before.
    gives_way : Out(P)
        Sources that must not start another packet in this cycle, as their path ends with it.
    connected, destination_of : Out(P), Out(P).array(P)
        Per source, whether it has a path, and to where, as the only bit that is high; 0 without.
    configuration : Out(configuration_width(P, m))
        State of every micro-switch.

    Timing
    ------
    Latency : 2 cycles from a source that waits to its path, 1 more if another path must end first.
    Throughput : one path per cycle.
    Paths : ``online`` and ``ended`` to ``gives_way``.
    Reset : ends all paths.

    Raises
    ------
    TypeError, ValueError
        A parameter is none of these.
    """

    online: Signal
    circuit: Signal
    waits: Signal
    here: Signal
    peers: data.View
    room: Signal
    inside: Signal
    closing: Signal
    ended: Signal
    gives_way: Signal
    connected: Signal
    destination_of: list[Signal]
    configuration: Signal

    def __init__(self, *, ports: int, middle: int) -> None:
        self.port_count = check_int("OnlineRouter ports", ports, minimum=2)
        self.middle = check_int("OnlineRouter middle", middle, minimum=2)
        self.unit_name = f"online_router_m{middle}_p{ports}"
        peers = data.ArrayLayout((ports - 1).bit_length(), ports)
        names = ("waits", "here", "room", "inside", "closing", "ended")
        super().__init__(
            {
                "online": In(1),
                "circuit": In(2),
                **dict.fromkeys(names, In(ports)),
                "peers": In(peers),
                "gives_way": Out(ports),
                "connected": Out(ports),
                "destination_of": Out(ports).array(ports),
                "configuration": Out(configuration_width(ports, middle)),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        ports = self.port_count
        router = place(m, "paths", UnicastRouter(ports=ports, middle=self.middle))
        peers = _one_hot(m, "peer", self.peers)
        reached = router.destination_of
        picked, target = Signal(ports), Signal(ports)
        asks = self.waits & ~self.here & ~self.gives_way
        over, blocked = Signal(ports), Signal()
        wants = self._wants(m, asks, over, peers, reached)
        chosen, waits_for_path = self._choose(m, asks, wants, picked, blocked)
        wanted, yields, held = Signal(ports), Signal(ports), Signal(ports)
        stopped = Signal()  # there was no path
        idle, keeps = ~self.inside & ~self.here, Signal()
        m.d.sync += stopped.eq(blocked)
        with m.If(~keeps):
            m.d.sync += [picked.eq(chosen), target.eq(one_hot_mux(chosen, peers))]
        m.d.comb += wanted.eq(
            any_of([own & asks[k].replicate(ports) for k, own in enumerate(peers)])
        )
        lets = Signal(ports)
        for k, at in enumerate(reached):
            # A packet that has no room yet would stand in the way for as long as that lasts.
            m.d.comb += lets[k].eq(~self.inside[k] & ~(self.here[k] & (at & self.room).any()))
            # Another source wants the destination of a path, or the path.
            m.d.sync += yields[k].eq((at & wanted).any() | waits_for_path.any())
            m.d.comb += [
                self.gives_way[k].eq(self.online & yields[k] & self.ended[k]),
                over[k].eq(self.gives_way[k] | (self.online & yields[k] & self.closing[k])),
                held[k].eq(router.connected[k] & (picked[k] | (at & target).any())),
                router.leave[k].eq(over[k] | (idle[k] & held[k]) | (stopped & lets[k])),
            ]
        m.d.comb += [
            router.request.eq(self.online & picked.any()),
            router.source.eq(picked),
            router.destination.eq(target),
            # What stands in the way leaves in this cycle, or nobody else asks.
            keeps.eq(router.request & held.any() & (~(held & ~idle).any() | ~chosen.any())),
            blocked.eq(router.request & ~held.any() & ~router.granted),
            self.connected.eq(router.connected),
            *(mine.eq(at) for mine, at in zip(self.destination_of, reached, strict=True)),
            self.configuration.eq(router.configuration),
        ]
        return m

    def _wants(
        self, m: Module, asks: Value, over: Value, peers: Sequence[Value], reached: Sequence[Value]
    ) -> Signal:
        """Return the sources that may be given a path: not those that were granted one.

        A round of grants lasts until the last source has its path, and all of them are in the next.
        """
        ports = self.port_count
        had, wants, claimed = Signal(ports), Signal(ports), Signal(ports)
        m.d.comb += claimed.eq(
            any_of([own & (asks & ~had)[k].replicate(ports) for k, own in enumerate(peers)])
        )
        for k, own in enumerate(peers):
            m.d.comb += wants[k].eq(
                asks[k] & (own & self.room).any() & ~(had[k] & (own & claimed).any())
            )
        # Who has the destination when a round ends is not counted in the next.
        again, counted = Signal(ports), Signal(ports)
        m.d.comb += again.eq(
            any_of([own & (wants & had)[k].replicate(ports) for k, own in enumerate(peers)])
        )
        for k, at in enumerate(reached):
            m.d.sync += counted[k].eq(at.any() & (counted[k] | (at & again).any()))
        granted = [Signal(ports, name=f"had_{name}") for name in DATA_CIRCUITS]
        m.d.comb += had.eq(selected(self.circuit, granted))
        for circuit, own in enumerate(granted):
            with m.If(self.online & (self.circuit == circuit)):
                m.d.sync += own.eq((over & ~counted) | (had & ~wants))
        return wants

    def _choose(
        self, m: Module, asks: Value, wants: Value, picked: Value, blocked: Value
    ) -> tuple[Signal, Signal]:
        """Return the source that is picked, and the one that there was no path for."""
        ports = self.port_count
        waits_for_path, pool, recent = Signal(ports), Signal(ports), Signal(ports)
        first = wants & waits_for_path
        m.d.comb += pool.eq(Mux(first.any(), first, wants))
        chosen = round_robin(m, "path", pool & ~picked, recent)
        with m.If(blocked):
            m.d.sync += waits_for_path.eq(picked)
        with m.Elif(self.online):
            m.d.sync += waits_for_path.eq(waits_for_path & asks)
        with m.If(self.online & chosen.any()):
            m.d.sync += recent.eq(chosen)
        return Mux(self.online, chosen, 0), waits_for_path


def _one_hot(m: Module, name: str, numbers: Sequence[Value]) -> list[Signal]:
    """Return each of some ports as the bit of its number."""
    ports = len(numbers)
    found = [Signal(ports, name=f"{name}_{k}") for k in range(ports)]
    for bits, number in zip(found, numbers, strict=True):
        m.d.comb += bits.eq(Cat(number == j for j in range(ports)))
    return found
