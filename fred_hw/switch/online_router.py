"""Packets of the default index: who gets a path through the interconnect, and for how long."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
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

    A path stays until its source or its destination is wanted for another. A source that was
    granted a packet at a destination waits for all others that want it. When there is no path
    for a source, which takes two middle subswitches, all others end with their packets, and no
    other is found before it.

    Parameters
    ----------
    ports, middle : int
        Ports P and middle subswitches m of the interconnect, each 2 or more.

    Members
    -------
    online, circuit, may : In(1), In(2), In(1)
        Whether the default index is served, on which circuit, and whether packets may start.
    waits, here : In(P), In(P)
        Sources with a packet of the default index at the head of the circuit; those that may
        start it, on the path that they have.
    peers : In(ArrayLayout(bits of P - 1, P))
        Destinations of the packets at the heads.
    room : In(P)
        Destinations with room for a packet.
    busy, ending : In(P), In(P)
        Sources with a packet under way, and with one that ends in this cycle.
    connected, destination_of : Out(P), Out(ArrayLayout(bits of P - 1, P))
        Per source, whether it has a path, and to where.
    configuration : Out(configuration_width(P, m))
        State of every micro-switch.

    Timing
    ------
    Latency : 1 cycle from a source that waits to its path, 1 more if another path must end first.
    Throughput : one path per cycle.
    Paths : none.
    Reset : ends all paths.

    Raises
    ------
    TypeError, ValueError
        A parameter is none of these.
    """

    online: Signal
    circuit: Signal
    may: Signal
    waits: Signal
    here: Signal
    peers: data.View
    room: Signal
    busy: Signal
    ending: Signal
    connected: Signal
    destination_of: data.View
    configuration: Signal

    def __init__(self, *, ports: int, middle: int) -> None:
        self.port_count = check_int("OnlineRouter ports", ports, minimum=2)
        self.middle = check_int("OnlineRouter middle", middle, minimum=2)
        self.unit_name = f"online_router_m{middle}_p{ports}"
        peers = data.ArrayLayout((ports - 1).bit_length(), ports)
        super().__init__(
            {
                "online": In(1),
                "circuit": In(2),
                "may": In(1),
                **dict.fromkeys(("waits", "here", "room", "busy", "ending"), In(ports)),
                "peers": In(peers),
                "connected": Out(ports),
                "destination_of": Out(peers),
                "configuration": Out(configuration_width(ports, middle)),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        ports = self.port_count
        router = place(m, "paths", UnicastRouter(ports=ports, middle=self.middle))
        peers = _one_hot(m, "peer", self.peers)
        reached = _one_hot(m, "reached", router.destination_of)
        asks, over = self.waits & ~self.here, Signal(ports)
        wants = self._wants(m, asks, over, peers, reached)
        looking, blocked = Signal(), Signal()
        chosen, waits_for_path = self._choose(m, asks, wants, looking, blocked)
        wanted, target, holders = Signal(ports), Signal(ports), Signal(ports)
        m.d.comb += [
            looking.eq(self.may & self.online & wants.any()),
            wanted.eq(any_of([own & asks[k].replicate(ports) for k, own in enumerate(peers)])),
            target.eq(one_hot_mux(chosen, peers)),
        ]
        idle = ~self.busy & ~self.here
        for k, at in enumerate(reached):
            m.d.comb += [
                holders[k].eq(router.connected[k] & (chosen[k] | (at & target).any())),
                # A packet has ended, and another source wants its destination or its path.
                over[k].eq(
                    self.online & self.ending[k] & ((at & wanted).any() | waits_for_path.any())
                ),
                router.leave[k].eq(
                    over[k] | (looking & idle[k] & holders[k]) | (blocked & ~self.busy[k])
                ),
            ]
        m.d.comb += [
            router.request.eq(looking & ~holders.any()),
            router.source.eq(one_hot_mux(chosen, [Const(k) for k in range(ports)])),
            router.destination.eq(one_hot_mux(chosen, list(self.peers))),
            blocked.eq(router.request & ~router.granted),
            self.connected.eq(router.connected),
            self.destination_of.eq(Cat(router.destination_of)),
            self.configuration.eq(router.configuration),
        ]
        return m

    def _wants(
        self,
        m: Module,
        asks: Value,
        over: Value,
        peers: Sequence[Value],
        reached: Sequence[Value],
    ) -> Signal:
        """Return the sources that may be given a path: not those that were granted one.

        A round of grants lasts until the packet of the last source has ended.
        """
        ports = self.port_count
        had, wants, claimed = Signal(ports), Signal(ports), Signal(ports)
        used = self.connected & (self.busy | self.here)
        m.d.comb += claimed.eq(
            any_of(
                [
                    (own & (asks & ~had)[k].replicate(ports)) | (at & used[k].replicate(ports))
                    for k, (own, at) in enumerate(zip(peers, reached, strict=True))
                ]
            )
        )
        for k, own in enumerate(peers):
            m.d.comb += wants[k].eq(
                asks[k] & (own & self.room).any() & ~(had[k] & (own & claimed).any())
            )
        granted = [Signal(ports, name=f"had_{name}") for name in DATA_CIRCUITS]
        m.d.comb += had.eq(selected(self.circuit, granted))
        for circuit, own in enumerate(granted):
            with m.If(self.online & (self.circuit == circuit)):
                m.d.sync += own.eq(over | (had & ~wants))
        return wants

    def _choose(
        self, m: Module, asks: Value, wants: Value, looking: Value, blocked: Value
    ) -> tuple[Signal, Signal]:
        """Return the source that is given a path, and the one that there was none for."""
        ports = self.port_count
        waits_for_path, pool, recent = Signal(ports), Signal(ports), Signal(ports)
        first = wants & waits_for_path
        m.d.comb += pool.eq(Mux(first.any(), first, wants))
        chosen = round_robin(m, "path", pool, recent)
        with m.If(blocked):
            m.d.sync += waits_for_path.eq(chosen)
        with m.Elif(self.online):
            m.d.sync += waits_for_path.eq(waits_for_path & asks)
        with m.If(looking):
            m.d.sync += recent.eq(chosen)
        return chosen, waits_for_path


def _one_hot(m: Module, name: str, numbers: Sequence[Value]) -> list[Signal]:
    """Return each of some ports as the bit of its number."""
    ports = len(numbers)
    found = [Signal(ports, name=f"{name}_{k}") for k in range(ports)]
    for bits, number in zip(found, numbers, strict=True):
        m.d.comb += bits.eq(Cat(number == j for j in range(ports)))
    return found
