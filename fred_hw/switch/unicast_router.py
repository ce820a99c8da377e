"""Configuration of the interconnect for a set of unicasts."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int
from fred_hw.compiler.shape import code_width, configuration_width, subswitch_ports
from fred_hw.gates.select import any_of, one_hot_mux
from fred_hw.gates.wire import wire
from fred_hw.member import member
from fred_hw.unit import Unit, place

__all__ = ["UnicastRouter"]


class UnicastRouter(Unit):
    """Find paths through a FRED_m(P) for all unicasts of a cycle.

    Two that share an input or an output micro-switch must not share a middle subswitch. Call a
    unicast even-odd if it goes from an even to an odd port, and so on: two of one kind never share
    a micro-switch. Those from even ports take subswitch 0 to even, 1 to odd ports, those from odd
    to even ports 2. One from an odd to an odd port has two neighbours at most, an even-even or
    even-odd one at its input and an even-even or odd-even one at its output, so one of the three is
    left. The same holds inside each subswitch. So any set of unicasts has paths without a search,
    and these may change in every cycle: all paths take equally long.

    With two subswitches a unicast takes the one of the parity of its source, which is free only if
    the two that share an output micro-switch come from an even and an odd port.

    Parameters
    ----------
    ports, middle_switches : int
        Ports P and middle subswitches m of the interconnect, each 2 or more.

    Timing
    ------
    Latency : none.
    Throughput : all unicasts of a cycle, each cycle anew.
    Paths : ``destination_of`` to ``configuration``.
    Reset : none.

    Raises
    ------
    TypeError
        A parameter is no integer.
    ValueError
        A parameter is below 2.
    """

    clocked = resettable = False

    destination_of: list[Signal] = member(In, lambda u: u.ports, array=lambda u: u.ports)
    """Destination of each source, one-hot or 0. No two have the same. With two subswitches, only
    destinations that have paths."""
    configuration = member(Out, lambda u: configuration_width(u.ports, u.middle_switches))
    """State of every micro-switch; idle (0) in all that no path uses."""

    def __init__(self, *, ports: int, middle_switches: int) -> None:
        self.ports = check_int("UnicastRouter ports", ports, minimum=2)
        self.middle_switches = check_int(
            "UnicastRouter middle_switches", middle_switches, minimum=2
        )
        self.unit_name = f"unicast_router_m{middle_switches}_p{ports}"
        super().__init__()

    def build(self, m: Module) -> None:
        if self.ports == 2:
            codes = [Cat(own[port] for own in self.destination_of) for port in range(2)]
            m.d.comb += self.configuration.eq(Cat(codes))
            return
        of_inputs, of_outputs = self._choose(m)
        within = self._descend(m, of_inputs)
        width = code_width(self.middle_switches)
        inputs, outputs = (
            [one_hot_mux(one, [Const(c + 1, width) for c in range(len(one))]) for one in side]
            for side in (of_inputs, of_outputs)
        )
        m.d.comb += self.configuration.eq(Cat(*inputs, *within, *outputs))

    def _choose(self, m: Module) -> tuple[list[Signal], list[Signal]]:
        """Return the subswitch of each source and of each destination, as a one-hot bit."""
        ends, ports, count = self.destination_of, range(self.ports), min(self.middle_switches, 3)
        # For each port whether the other end of its path is even, and odd.
        to, of, inputs, outputs = (
            [Signal(width, name=f"{name}_{k}") for k in ports]
            for name, width in (("to", 2), ("of", 2), ("input", count), ("output", count))
        )
        # For each odd port whether its even neighbour sends to an even port, and receives from one.
        even_to_even, even_of_even = (
            wire(m, f"even_{name}_even", Cat(own[j - 1][0] for j in ports[1::2]))
            for name, own in (("to", to), ("of", of))
        )
        for k in ports:
            at = Cat(own[k] for own in ends)
            m.d.comb += [
                to[k].eq(Cat(ends[k][0::2].any(), ends[k][1::2].any())),
                of[k].eq(Cat(at[0::2].any(), at[1::2].any())),
            ]
            if self.middle_switches == 2:
                m.d.comb += [inputs[k].eq(to[k].any() << k % 2), outputs[k].eq(of[k])]
            elif k % 2 == 0:
                m.d.comb += [
                    inputs[k].eq(Cat(to[k][0], to[k][1], 0)),
                    outputs[k].eq(Cat(of[k][0], 0, of[k][1])),
                ]
            else:
                # Whether an odd-odd path has an even-even neighbour at its input, and its output.
                comes = [to[k - 1][0], (at[1::2] & even_to_even).any()]
                goes = [(ends[k][1::2] & even_of_even).any(), of[k - 1][0]]
                forward, backward = (
                    Cat(~a & ~b, a, ~a & b) & odd.replicate(3)
                    for a, b, odd in ((comes[0], goes[0], to[k][1]), (comes[1], goes[1], of[k][1]))
                )
                m.d.comb += [
                    inputs[k].eq(forward | Cat(0, 0, to[k][0])),
                    outputs[k].eq(backward | Cat(0, of[k][0], 0)),
                ]
        return inputs, outputs

    def _descend(self, m: Module, chosen: Sequence[Signal]) -> list[Value]:
        """Place the middle subswitches, each with its unicasts; return their words."""
        inner, words = subswitch_ports(self.ports), []
        for number in range(min(self.middle_switches, 3)):
            router = UnicastRouter(ports=inner, middle_switches=self.middle_switches)
            place(m, f"middle_{number}", router)
            for pair, ends in enumerate(router.destination_of):
                both = [
                    Mux(chosen[k][number], self.destination_of[k], 0)
                    for k in range(2 * pair, min(2 * pair + 2, self.ports))
                ]
                merged = wire(m, f"to_{number}_{pair}", any_of(both), width=2 * inner)
                m.d.comb += ends.eq(merged[0::2] | merged[1::2])
            words.append(router.configuration)
        idle = configuration_width(inner, self.middle_switches) * (
            self.middle_switches - len(words)
        )
        return [*words, *([Const(0, idle)] if idle else [])]
