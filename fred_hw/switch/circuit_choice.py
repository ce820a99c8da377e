"""What a port has on the circuit that is served at it."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int
from fred_hw.gates.select import one_hot_mux
from fred_hw.protocol import DATA_CIRCUITS
from fred_hw.unit import Unit

__all__ = ["CircuitChoice"]

COUNT = len(DATA_CIRCUITS)


class CircuitChoice(Unit):
    """Choose the circuit of a port: that of the phase, or of its unicast.

    Parameters
    ----------
    width : int
        Bits of what is known of a circuit, 1 or more.

    Members
    -------
    online : In(1)
        Whether unicasts are served.
    phase, unicast : In(2), In(2)
        Circuit of the phase that is served, and of the unicast.
    values : In(ArrayLayout(width, 3))
        What is known of each circuit.
    circuit, chosen : Out(2), Out(width)
        The circuit that is served, and what is known of it.

    Timing
    ------
    Latency : none.
    Throughput : every cycle.
    Paths : all inputs to ``chosen``, all but ``values`` to ``circuit``.
    Reset : none.

    Raises
    ------
    TypeError, ValueError
        The parameter is none of these.
    """

    clocked = resettable = False

    online: Signal
    phase: Signal
    unicast: Signal
    values: data.View
    circuit: Signal
    chosen: Signal

    def __init__(self, *, width: int) -> None:
        self.width = check_int("CircuitChoice width", width, minimum=1)
        self.unit_name = f"circuit_choice_w{width}"
        super().__init__(
            {
                "online": In(1),
                "phase": In(2),
                "unicast": In(2),
                "values": In(data.ArrayLayout(width, COUNT)),
                "circuit": Out(2),
                "chosen": Out(width),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        m.d.comb += [
            self.circuit.eq(Mux(self.online, self.unicast, self.phase)),
            self.chosen.eq(
                one_hot_mux(Cat(self.circuit == c for c in range(COUNT)), list(self.values))
            ),
        ]
        return m
