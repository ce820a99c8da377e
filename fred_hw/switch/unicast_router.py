"""Online routing of unicasts: a path through the interconnect for one connection at a time."""

from collections.abc import Sequence
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int
from fred_hw.compiler.shape import code_width, configuration_width, subswitch_ports
from fred_hw.unit import Unit, place

__all__ = ["UnicastRouter"]


class UnicastRouter(Unit):
    """Connect sources to destinations of a FRED_m(P) one by one, and end connections.

    A connection takes the leftmost free path: at each level the lowest-numbered middle subswitch
    that has a way to its destination, and there the same again. It keeps it until it ends. With
    three middle subswitches or more there is a path between any two free ends, whatever else is
    connected (strict-sense non-blocking: Clos, m >= 2n - 1 with n = 2); with two there may be none.

    Parameters
    ----------
    ports, middle : int
        Ports P and middle subswitches m of the interconnect, each 2 or more.

    Members
    -------
    request, source, destination : In(1), In(P), In(P)
        Connect the two ports, each of which is the only bit that is high.
    granted : Out(1)
        Both ports are free and there is a path, so the request is served: they are connected from
        the next cycle on. Else the request changes nothing. Low without a request, without a
        source or a destination, and in a cycle with ``clear``.
    leave : In(P)
        Per source: its connection ends with this cycle. From the next one on its ports and its
        path are free, in this one they are not. Sources without a connection ignore it.
    clear : In(1)
        End all connections.
    connected, destination_of : Out(P), Out(P).array(P)
        Per source, whether it is connected, and to what, as the only bit that is high; 0 if to
        nothing.
    taken : Out(P)
        Per destination, whether a source is connected to it.
    configuration : Out(configuration_width(P, m))
        State of every micro-switch; idle (0) in all that no connection uses.

    Timing
    ------
    Latency : 1 cycle from ``request``, ``leave`` or ``clear`` to the outputs.
    Throughput : one request and any number of releases per cycle.
    Paths : ``request``, ``source``, ``destination`` and ``clear`` to ``granted``.
    Reset : ends all connections.

    Raises
    ------
    TypeError
        A parameter is no integer.
    ValueError
        A parameter is below 2.
    """

    request: Signal
    source: Signal
    destination: Signal
    granted: Signal
    leave: Signal
    clear: Signal
    connected: Signal
    destination_of: list[Signal]
    taken: Signal
    configuration: Signal

    def __init__(self, *, ports: int, middle: int) -> None:
        self.ports = check_int("UnicastRouter ports", ports, minimum=2)
        self.middle = check_int("UnicastRouter middle", middle, minimum=2)
        self.unit_name = f"unicast_router_m{middle}_p{ports}"
        super().__init__(
            {
                "request": In(1),
                "source": In(ports),
                "destination": In(ports),
                "granted": Out(1),
                "leave": In(ports),
                "clear": In(1),
                "connected": Out(ports),
                "destination_of": Out(ports).array(ports),
                "taken": Out(ports),
                "configuration": Out(configuration_width(ports, middle)),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        paths = place(m, "paths", _Paths(ports=self.ports, middle=self.middle))
        m.d.comb += [
            self.granted.eq(self.request & paths.possible & ~self.clear),
            paths.set.eq(self.granted),
            paths.ending.eq(self.leave),
            paths.clear.eq(self.clear),
            paths.source.eq(self.source),
            paths.destination.eq(self.destination),
            self.taken.eq(paths.taken),
            self.configuration.eq(paths.configuration),
        ]
        for port, destination in enumerate(self.destination_of):
            with m.If(self.clear):
                m.d.sync += [self.connected[port].eq(0), destination.eq(0)]
            with m.Elif(self.granted & self.source[port]):
                m.d.sync += [self.connected[port].eq(1), destination.eq(self.destination)]
            with m.Elif(self.leave[port]):
                m.d.sync += [self.connected[port].eq(0), destination.eq(0)]
        return m


class _Paths(Unit):
    """Keep the paths of connections through a FRED_m(P), for the level around it or the router.

    A middle subswitch is one of these for half the ports. Its ``connected`` and ``taken`` are the
    links to and from it that are in use, so no level keeps anything but its own codes.

    Parameters
    ----------
    ports, middle : int
        Ports P and middle subswitches m, each 2 or more.

    Members
    -------
    source, destination : In(P), In(P)
        The two ports that might be connected, each as the only bit that is high.
    possible : Out(1)
        Both are free and there is a path; low if there is no source or no destination.
    set : In(1)
        Connect them by that path; only while ``possible``.
    ending, freed : In(P), Out(P)
        Per source, its connection ends with this cycle; per destination, the same.
    clear : In(1)
        End all connections; not together with ``set``.
    connected, taken : Out(P), Out(P)
        Per source and per destination, whether it is connected.
    configuration : Out(configuration_width(P, m))
        Codes of every micro-switch.

    Timing
    ------
    Latency : 1 cycle from ``set``, ``ending`` or ``clear`` to the outputs.
    Throughput : one connection set, and any number ended, per cycle.
    Paths : ``source`` and ``destination`` to ``possible``, ``ending`` to ``freed``.
    Reset : ends all connections.
    """

    source: Signal
    destination: Signal
    possible: Signal
    set: Signal
    ending: Signal
    freed: Signal
    clear: Signal
    connected: Signal
    taken: Signal
    configuration: Signal

    def __init__(self, *, ports: int, middle: int) -> None:
        self.ports, self.middle = ports, middle
        self.unit_name = f"online_paths_m{middle}_p{ports}"
        super().__init__(
            {
                "source": In(ports),
                "destination": In(ports),
                "possible": Out(1),
                "set": In(1),
                "ending": In(ports),
                "freed": Out(ports),
                "clear": In(1),
                "connected": Out(ports),
                "taken": Out(ports),
                "configuration": Out(configuration_width(ports, middle)),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        free = Signal()
        m.d.comb += free.eq(
            (self.source & ~self.connected).any() & (self.destination & ~self.taken).any()
        )
        if self.ports == 2:
            m.d.comb += self.possible.eq(free)
            self._crossing(m)
        else:
            subswitches = self._subswitches(m)
            # Beside its own, an input micro-switch uses one link at most, an output micro-switch
            # too: of three subswitches one has both links free, and inside it the same holds.
            ways = Cat(subswitch.possible for subswitch in subswitches)
            m.d.comb += self.possible.eq(free if self.middle >= 3 else free & ways.any())
            self._route(m, subswitches)
        return m

    def _crossing(self, m: Module) -> None:
        """Keep the codes of an RD micro-switch: its sources, one bit for each."""
        codes = [Signal(2, name=f"code_{port}") for port in range(2)]
        for port, code in enumerate(codes):
            m.d.comb += [
                self.taken[port].eq(code.any()),
                self.freed[port].eq((code & self.ending).any()),
            ]
            self._keep(m, code, self.destination[port], self.source, self.freed[port])
        m.d.comb += [self.connected.eq(codes[0] | codes[1]), self.configuration.eq(Cat(codes))]

    def _subswitches(self, m: Module) -> list["_Paths"]:
        """Place the middle subswitches and ask all of them for a path."""
        inner = subswitch_ports(self.ports)
        subswitches = [_Paths(ports=inner, middle=self.middle) for _ in range(self.middle)]
        for number, subswitch in enumerate(subswitches):
            place(m, f"middle_{number}", subswitch)
            m.d.comb += subswitch.clear.eq(self.clear)
            for pair in range(inner):
                both = slice(2 * pair, 2 * pair + 2)
                m.d.comb += [
                    subswitch.source[pair].eq(self.source[both].any()),
                    subswitch.destination[pair].eq(self.destination[both].any()),
                ]
        return subswitches

    def _route(self, m: Module, subswitches: Sequence["_Paths"]) -> None:
        """Choose a subswitch, and keep the codes of the input and the output micro-switches."""
        width = code_width(self.middle)
        chosen, code = Signal(self.middle), Signal(width)
        with m.If(subswitches[0].possible):
            m.d.comb += [chosen.eq(1), code.eq(1)]
        for number, subswitch in enumerate(subswitches[1:], 1):
            with m.Elif(subswitch.possible):
                m.d.comb += [chosen.eq(1 << number), code.eq(number + 1)]
        inputs, outputs = (
            [Signal(width, name=f"{side}_code_{port}") for port in range(self.ports)]
            for side in ("input", "output")
        )
        # What ends a connection runs along its path, so nobody looks up its destination.
        leaving = [Signal(self.ports, name=f"leaving_{c}") for c in range(self.middle)]
        for number, (subswitch, leaves) in enumerate(zip(subswitches, leaving, strict=True)):
            m.d.comb += subswitch.set.eq(self.set & chosen[number])
            for port, own in enumerate(inputs):
                m.d.comb += leaves[port].eq(self.ending[port] & (own == number + 1))
            for pair in range(subswitch.ports):
                m.d.comb += subswitch.ending[pair].eq(leaves[2 * pair : 2 * pair + 2].any())
        for port, own in enumerate(inputs):
            m.d.comb += self.connected[port].eq(own.any())
            self._keep(m, own, self.source[port], code, self.ending[port])
        for port, own in enumerate(outputs):
            ends: list[Value] = [
                (own == number + 1) & subswitch.freed[port // 2]
                for number, subswitch in enumerate(subswitches)
            ]
            m.d.comb += [self.taken[port].eq(own.any()), self.freed[port].eq(reduce(or_, ends))]
            self._keep(m, own, self.destination[port], code, self.freed[port])
        within = Cat(subswitch.configuration for subswitch in subswitches)
        m.d.comb += self.configuration.eq(Cat(inputs, within, outputs))

    def _keep(self, m: Module, code: Signal, chosen: Value, value: Value, ends: Value) -> None:
        """Set a code to ``value`` if its port is ``chosen``, and to idle if its connection ends."""
        # The port may be free and yet released: then the connection that is set counts.
        with m.If(self.clear):
            m.d.sync += code.eq(0)
        with m.Elif(self.set & chosen):
            m.d.sync += code.eq(value)
        with m.Elif(ends):
            m.d.sync += code.eq(0)
