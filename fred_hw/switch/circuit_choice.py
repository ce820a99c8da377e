"""Head of the virtual channel served at a port."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int
from fred_hw.gates.select import one_hot_mux, selected
from fred_hw.protocol import DATA_COUNT
from fred_hw.unit import Unit

__all__ = ["CircuitChoice"]


class CircuitChoice(Unit):
    """Choose the virtual channel of a port: that of the phase, or of its unicast.

    The values of both are available at the same time, so that neither waits for the choice.

    Parameters
    ----------
    width : int
        Bits of a channel's value, 1 or more.

    Members
    -------
    online : In(1)
        Whether unicasts are served.
    phase, unicast : In(3), In(2)
        Virtual channel of the served phase, one-hot, and channel number of the unicast.
    values : In(ArrayLayout(width, 3))
        Value of each channel.
    circuit : Out(2)
        The channel that is served.
    of_phase, of_unicast : Out(width), Out(width)
        Values of the channels of the phase, and of the unicast.

    Timing
    ------
    Latency : none.
    Throughput : every cycle.
    Paths : ``values`` to ``of_phase`` and ``of_unicast``, ``phase`` to ``of_phase``, ``unicast`` to
        ``of_unicast``, all but ``values`` to ``circuit``.
    Reset : none.

    Raises
    ------
    TypeError, ValueError
        The parameter has a wrong type, or is out of range.
    """

    clocked = resettable = False

    online: Signal
    phase: Signal
    unicast: Signal
    values: data.View
    circuit: Signal
    of_phase: Signal
    of_unicast: Signal

    def __init__(self, *, width: int) -> None:
        self.width = check_int("CircuitChoice width", width, minimum=1)
        self.unit_name = f"circuit_choice_w{width}"
        members = {
            "online": In(1),
            "phase": In(DATA_COUNT),
            "unicast": In(2),
            "values": In(data.ArrayLayout(width, DATA_COUNT)),
            "circuit": Out(2),
            "of_phase": Out(width),
            "of_unicast": Out(width),
        }
        super().__init__(members)

    def build(self, m: Module) -> None:
        m.d.comb += [
            self.circuit.eq(Mux(self.online, self.unicast, Cat(self.phase[1], self.phase[2]))),
            self.of_phase.eq(one_hot_mux(self.phase, list(self.values))),
            self.of_unicast.eq(selected(self.unicast, list(self.values))),
        ]
