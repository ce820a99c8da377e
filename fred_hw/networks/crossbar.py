"""Network: a full crossbar with a reduction tree per output."""

from collections.abc import Iterable
from typing import Any

from fred_hw.compiler.flows import Flow, check_flows
from fred_hw.compiler.reduction_crossbar import (
    CrossbarConfiguration,
    RoutedCrossbar,
    crossbar_shape,
    route_crossbar,
)

from .network import NETWORKS, Network, NetworkSizes

__all__ = ["Crossbar"]


class Crossbar(Network):
    """Every set of flows with disjoint outputs is active at once, for P(P - 1) adders per lane."""

    description = (
        "a full crossbar with a reduction tree per output, which routes all flow sets; "
        "`middle_switches` has no effect"
    )

    def shape(self, sizes: NetworkSizes) -> str:
        return crossbar_shape(sizes.ports)

    def middle_switches(self, sizes: NetworkSizes) -> int:
        return 0

    def size_text(self, sizes: NetworkSizes) -> str:
        return "a reduction tree per output"

    def configuration_width(self, sizes: NetworkSizes) -> int:
        return sizes.ports**2

    def route(
        self, flows: Iterable[Flow], sizes: NetworkSizes, max_conflicts: int | None = None
    ) -> RoutedCrossbar:
        flows = check_flows(flows, sizes.ports)
        return RoutedCrossbar(flows, route_crossbar(flows, sizes.ports))

    def arriving(
        self, configuration: CrossbarConfiguration, sources: Iterable[int]
    ) -> list[frozenset[int]]:
        return configuration.arriving(sources)

    def manifest(self, sizes: NetworkSizes) -> dict[str, Any]:
        word = "bit k of word n: output n takes input k; several inputs are reduced"
        width = self.configuration_width(sizes)
        return {"configuration": {"width": width, "words": sizes.ports, "code": word}}


NETWORKS.add("crossbar", Crossbar(), rank=2)
