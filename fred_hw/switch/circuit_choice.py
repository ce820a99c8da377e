"""Head of the virtual channel served at a port."""

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int, check_kind
from fred_hw.gates.select import any_of, one_hot_mux, selected
from fred_hw.member import member
from fred_hw.per_class import array_per_class, per_class
from fred_hw.unit import Unit
from fred_hw.virtual_channels import CLASS_BITS, VirtualChannels

__all__ = ["CircuitChoice"]


class CircuitChoice(Unit):
    """Choose the virtual channel of a port: that of the phase, or of its unicast.

    The values of both are available at the same time, so that neither waits for the choice.

    Parameters
    ----------
    width : int
        Bits of a channel's value, 1 or more.
    channels : VirtualChannels
        The urgency classes, each with one channel.

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
    phase = member(In, per_class)
    """Virtual channel of the served phase, one-hot."""
    unicast = member(In, CLASS_BITS)
    """Channel number of the unicast."""
    values: data.View = member(In, array_per_class(lambda u: u.width))
    """Value of each channel."""
    circuit = member(Out, CLASS_BITS)
    """The channel that is served."""
    of_phase = member(Out, lambda u: u.width)
    """Value of the phase's channel."""
    of_unicast = member(Out, lambda u: u.width)
    """Value of the unicast's channel."""

    def __init__(self, *, width: int, channels: VirtualChannels) -> None:
        self.width = check_int("CircuitChoice width", width, minimum=1)
        self.channels = check_kind("CircuitChoice channels", channels, VirtualChannels)
        self.unit_name = f"circuit_choice_w{width}{channels.suffix}"
        super().__init__()

    def build(self, m: Module) -> None:
        m.d.comb += [
            self.circuit.eq(Mux(self.online, self.unicast, self._number())),
            self.of_phase.eq(one_hot_mux(self.phase, list(self.values))),
            self.of_unicast.eq(selected(self.unicast, list(self.values))),
        ]

    def _number(self) -> Value:
        """Return the number of the served phase's class."""
        of_bits = (
            [one for number, one in enumerate(self.phase) if number >> bit & 1]
            for bit in range(CLASS_BITS)
        )
        return Cat(any_of(ones) if ones else Const(0, 1) for ones in of_bits)
