"""Network: FRED_m(P), micro-switches in the recursive arrangement of the paper."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from fred_hw.compiler.configuration import Configuration
from fred_hw.compiler.connections import made_by
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.routing import DEFAULT_CONFLICTS, RoutingResult, route
from fred_hw.compiler.shape import (
    configuration_width,
    layout,
    microswitch_counts,
    shape_name,
)
from fred_hw.compiler.tracing import arriving

from .network import NETWORKS, Network, NetworkSizes

__all__ = ["Fred"]


class Fred(Network):
    """FRED, arXiv 2406.19580: adders inside micro-switches, shared by the ports."""

    description = (
        "FRED_m(P), micro-switches in the recursive arrangement of the paper; `middle_switches` "
        "is its m"
    )
    prunes = True

    def shape(self, sizes: NetworkSizes) -> str:
        return shape_name(sizes.ports, sizes.middle_switches)

    def middle_switches(self, sizes: NetworkSizes) -> int:
        return sizes.middle_switches

    def size_text(self, sizes: NetworkSizes) -> str:
        return f"{sizes.middle_switches} middle subswitches"

    def configuration_width(self, sizes: NetworkSizes) -> int:
        return configuration_width(sizes.ports, sizes.middle_switches)

    def route(
        self, flows: Iterable[Flow], sizes: NetworkSizes, max_conflicts: int | None = None
    ) -> RoutingResult:
        bound = DEFAULT_CONFLICTS if max_conflicts is None else max_conflicts
        return route(flows, sizes.ports, sizes.middle_switches, max_conflicts=bound)

    def arriving(
        self, configuration: Configuration, sources: Iterable[int]
    ) -> list[frozenset[int]]:
        return arriving(configuration, sources)

    def manifest(self, sizes: NetworkSizes) -> dict[str, Any]:
        ports, middle = sizes.ports, sizes.middle_switches
        fields = layout(ports, middle)
        counts = microswitch_counts(ports, middle)
        if sizes.needed is not None:
            made = made_by(sizes.needed, ports, middle)
            kinds = [field.kind for field in fields if made[field.path]]
            counts = {kind: kinds.count(kind) for kind in counts}
        return {
            "microswitches": counts,
            "configuration": {
                "width": fields[-1].offset + fields[-1].width,
                "codes": {
                    "R": "two destinations, input 0 low: 0 none, c+1 subswitch c; equal reduce",
                    "D": "two sources, output 0 low: 0 none, c+1 subswitch c; equal distribute",
                    "RD": "two selections, output 0 low: 0 none, 1 input 0, 2 input 1, 3 reduced, "
                    "beside which 1 and 2 are none",
                    "demux": "destination: 0 none, c+1 subswitch c",
                    "mux": "source: 0 none, c+1 subswitch c",
                },
                "fields": [asdict(field) for field in fields],
            },
        }


NETWORKS.add("fred", Fred(), rank=1)
