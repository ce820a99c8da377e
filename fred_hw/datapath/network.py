"""The network inside a switch, as its specification says."""

from fred_hw.spec import SwitchSpec

from .flit import FlitNetwork
from .interconnect import Interconnect, latency_cycles

__all__ = ["network", "network_latency_cycles"]


def network(spec: SwitchSpec) -> FlitNetwork:
    """Return the network between the ports of a switch."""
    return Interconnect(spec=spec)


def network_latency_cycles(spec: SwitchSpec) -> int:
    """Return its latency from input to output, the same for all paths [cycles]."""
    return latency_cycles(spec)
