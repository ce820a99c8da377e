"""Matching of a router's inputs and outputs."""

from amaranth.hdl import Module

from fred_hw.checks import check_int, check_kind
from fred_hw.switch.matching import Matching
from fred_hw.virtual_channels import DEFAULT_CHANNELS, VirtualChannels

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
    channels : VirtualChannels, optional
        Virtual channels of the links: inputs have B buffers.

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

    def __init__(self, *, ports: int, channels: VirtualChannels = DEFAULT_CHANNELS) -> None:
        self.port_count = check_int("Allocator ports", ports, minimum=2)
        self.channels = check_kind("Allocator channels", channels, VirtualChannels)
        self.unit_name = f"allocator_p{ports}{channels.suffix}"
        super().__init__()

    def build(self, m: Module) -> None:
        self.match(m)
