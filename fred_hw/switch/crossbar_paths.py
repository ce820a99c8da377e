"""Paths through a crossbar with reduction trees: tracing of configurations, and unicasts."""

from amaranth.hdl import Cat, Module
from amaranth.lib.wiring import Out

from fred_hw.checks import check_int, check_kind
from fred_hw.member import member
from fred_hw.virtual_channels import DEFAULT_CHANNELS, VirtualChannels

from .matching import SwitchMatching
from .path_tracer import Tracer

__all__ = ["CrossbarMatching", "CrossbarTracer"]


class CrossbarTracer(Tracer):
    """Route single bits as a crossbar with reduction trees routes flits.

    Parameters
    ----------
    ports : int
        Ports of the crossbar, 2 or more.

    Timing
    ------
    Latency : none.
    Throughput : every cycle.
    Paths : all inputs to all outputs.
    Reset : none; it has no state.

    Raises
    ------
    TypeError, ValueError
        The parameter has a wrong type, or is out of range.
    """

    def __init__(self, *, ports: int) -> None:
        self.port_count = check_int("CrossbarTracer ports", ports, minimum=2)
        self.word_bits = ports**2
        self.unit_name = f"crossbar_tracer_p{ports}"
        super().__init__()

    def build(self, m: Module) -> None:
        for port in range(self.port_count):
            takes = self.configuration.word_select(port, self.port_count)
            self.join(m, self.gets[port], self.reached[port], takes, range(self.port_count))


class CrossbarMatching(SwitchMatching):
    """Match unicast sources and destinations in each cycle; a crossbar has all paths.

    Sources and destinations are matched as in ``OnlineRouter``. No path blocks another one.

    Parameters
    ----------
    ports : int
        Ports of the crossbar, 2 or more.
    channels : VirtualChannels, optional
        The urgency classes, each with one channel.

    Timing
    ------
    Latency : 1 cycle from a packet that comes to its path.
    Throughput : all paths in one cycle.
    Paths : none.
    Reset : ends all paths.

    Raises
    ------
    TypeError, ValueError
        A parameter has a wrong type, or is out of range.
    """

    configuration = member(Out, lambda u: u.port_count**2)
    """Source of each destination: bit k of word n for a path from k to n."""

    def __init__(self, *, ports: int, channels: VirtualChannels = DEFAULT_CHANNELS) -> None:
        self.port_count = check_int("CrossbarMatching ports", ports, minimum=2)
        self.channels = check_kind("CrossbarMatching channels", channels, VirtualChannels)
        self.unit_name = f"crossbar_matching_p{ports}{channels.suffix}"
        super().__init__()

    def build(self, m: Module) -> None:
        ports = range(self.port_count)
        m.d.comb += self.configuration.eq(
            Cat(Cat(own[port] for own in self.destination_of) for port in ports)
        )
        self.match(m)
