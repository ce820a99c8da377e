# amaranth: UnusedElaboratable=no
# Units are made to tell of their names and ports, and generated once.
"""The interconnect of a switch."""

from dataclasses import asdict
from typing import Any

from fred_hw.compiler.shape import layout, microswitch_counts
from fred_hw.datapath.interconnect import Interconnect, latency_cycles
from fred_hw.load import load_spec
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit
from gen.level import LEVELS, UnitLevel

__all__ = ["InterconnectLevel", "crossing"]


class InterconnectLevel(UnitLevel[SwitchSpec]):
    """The rigid pipeline; its latency is that of a flit from port to port."""

    model = SwitchSpec
    load = staticmethod(load_spec)
    text = "the interconnect alone"
    description = "FRED interconnect: rigid pipeline that reduces and broadcasts as it routes"

    def top(self, spec: SwitchSpec) -> Unit:
        return Interconnect(spec=spec)

    def latency_cycles(self, spec: SwitchSpec) -> int:
        return latency_cycles(spec)

    def manifest(self, spec: SwitchSpec) -> dict[str, Any]:
        return crossing(spec)

    def said(self, spec: SwitchSpec) -> dict[str, Any]:
        return spec.model_dump(exclude={"protocol"})


def crossing(spec: SwitchSpec) -> dict[str, Any]:
    """Return how many micro-switches there are, and the layout and codes of the configuration."""
    fields = layout(spec.ports, spec.middle_switches)
    return {
        "microswitches": microswitch_counts(spec.ports, spec.middle_switches),
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


LEVELS.add("interconnect", InterconnectLevel(), rank=1)
