"""The network inside a switch, as its specification says."""

from collections.abc import Callable

from fred_hw.spec import SwitchSpec

from .flit import FlitNetwork
from .interconnect import Interconnect, latency_cycles
from .reduction_crossbar import ReductionCrossbar, tree_latency_cycles

__all__ = ["network", "network_latency_cycles"]


def network(spec: SwitchSpec) -> FlitNetwork:
    """Return the network between the ports of a switch."""
    made: dict[str, Callable[[], FlitNetwork]] = {
        "fred": lambda: Interconnect(spec=spec),
        "crossbar": lambda: ReductionCrossbar(spec=spec),
    }
    return made[spec.network]()


def network_latency_cycles(spec: SwitchSpec) -> int:
    """Return its latency from input to output, the same for all paths [cycles]."""
    return {"fred": latency_cycles, "crossbar": tree_latency_cycles}[spec.network](spec)
