# amaranth: UnusedElaboratable=no
# Networks are also created for their names, ports and latencies.
"""The network inside a switch, as its specification says."""

from collections.abc import Callable

from fred_hw.arith.widen import check_float
from fred_hw.spec import SwitchSpec

from .accumulation import Accumulating, conversion_cycles
from .flit import FlitNetwork
from .interconnect import Interconnect, latency_cycles
from .reduction_crossbar import ReductionCrossbar, tree_latency_cycles

__all__ = ["network", "network_latency_cycles"]


_KINDS: dict[str, tuple[Callable[..., FlitNetwork], Callable[[SwitchSpec], int]]] = {
    "fred": (Interconnect, latency_cycles),
    "crossbar": (ReductionCrossbar, tree_latency_cycles),
}


def network(spec: SwitchSpec, kind: Callable[..., FlitNetwork] | None = None) -> FlitNetwork:
    """Return the network between the ports of a switch, with conversions if it has any.

    Parameters
    ----------
    spec : SwitchSpec
        The switch.
    kind : class of FlitNetwork, optional
        Class of the network; by default that of ``spec.network``.
    """
    kind = kind or _KINDS[spec.network][0]
    if spec.accumulation is None:
        return kind(spec=spec)
    return Accumulating(
        narrow=check_float("format", spec.number_format), network=kind(spec=spec.inside)
    )


def network_latency_cycles(spec: SwitchSpec) -> int:
    """Return the latency from input to output, the same for all paths [cycles]."""
    return _KINDS[spec.network][1](spec.inside) + conversion_cycles(spec)
