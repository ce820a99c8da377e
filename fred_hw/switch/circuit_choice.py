"""Head of the virtual channel served at a port."""

from amaranth.hdl import Cat, Module, Mux
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int
from fred_hw.gates.select import one_hot_mux, selected
from fred_hw.member import member
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

    online = member(In, 1)
    """Whether unicasts are served."""
    phase = member(In, DATA_COUNT)
    """Virtual channel of the served phase, one-hot."""
    unicast = member(In, 2)
    """Channel number of the unicast."""
    values: data.View = member(In, lambda u: data.ArrayLayout(u.width, DATA_COUNT))
    """Value of each channel."""
    circuit = member(Out, 2)
    """The channel that is served."""
    of_phase = member(Out, lambda u: u.width)
    """Value of the phase's channel."""
    of_unicast = member(Out, lambda u: u.width)
    """Value of the unicast's channel."""

    def __init__(self, *, width: int) -> None:
        self.width = check_int("CircuitChoice width", width, minimum=1)
        self.unit_name = f"circuit_choice_w{width}"
        super().__init__()

    def build(self, m: Module) -> None:
        m.d.comb += [
            self.circuit.eq(Mux(self.online, self.unicast, Cat(self.phase[1], self.phase[2]))),
            self.of_phase.eq(one_hot_mux(self.phase, list(self.values))),
            self.of_unicast.eq(selected(self.unicast, list(self.values))),
        ]
