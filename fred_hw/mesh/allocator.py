"""Matching of a router's inputs and outputs."""

from amaranth.hdl import Module

from fred_hw.checks import check_int
from fred_hw.protocol import channels_suffix
from fred_hw.switch.matching import Matching

__all__ = ["Allocator"]


class Allocator(Matching):
    """Match inputs and outputs of a crossbar, all in the same cycle.

    An input requests the output of its most urgent packet whose output is free and has buffer
    space; an output takes the most urgent request, and serves inputs with the same urgency class
    round-robin, counted by packets that start. Two virtual channels of a class take turns at an
    input. Both may be sending a packet that ends in this
    cycle, so that packets follow each other without a gap. A path stays until another packet needs
    its input or its output. A packet whose output was not free when its input was lets ``PASSES``
    packets of less urgent classes go ahead; then its input waits for it.

    Parameters
    ----------
    ports : int
        Ports P, 2 or more.
    channels : int, optional
        Virtual channels of each urgency class, 1 or 2: inputs have B buffers, 3 of each channel.

    Timing
    ------
    Latency : 1 cycle from a packet that comes to its path.
    Throughput : all paths in one cycle.
    Paths : none.
    Reset : ends all paths.

    Raises
    ------
    TypeError, ValueError
        The parameter has a wrong type, or is out of range.
    """

    def __init__(self, *, ports: int, channels: int = 1) -> None:
        self.port_count = check_int("Allocator ports", ports, minimum=2)
        self.channels = check_int("Allocator channels", channels, minimum=1, maximum=2)
        self.unit_name = f"allocator_p{ports}{channels_suffix(channels)}"
        super().__init__()

    def build(self, m: Module) -> None:
        self.match(m)
