# amaranth: UnusedElaboratable=no
# Units are created for their names and ports, and generated once.
"""Level: the interconnect of a switch."""

from dataclasses import asdict
from typing import Any

from fred_hw.compiler.connections import made_by
from fred_hw.compiler.shape import layout, microswitch_counts
from fred_hw.datapath.network import network, network_latency_cycles
from fred_hw.errors import FieldError, InputError
from fred_hw.load import load_spec
from fred_hw.pruning import kept_parts, needed_results
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit
from gen.level import LEVELS, UnitLevel

__all__ = ["InterconnectLevel", "crossing"]


class InterconnectLevel(UnitLevel[SwitchSpec]):
    """The rigid pipeline; its latency is that of a flit from port to port."""

    model = SwitchSpec
    load = staticmethod(load_spec)
    prunes = True
    text = "the interconnect alone"
    description = "FRED interconnect: rigid pipeline that reduces and broadcasts as it routes"

    def check(self, spec: SwitchSpec, source: str) -> None:
        try:
            needed_results(spec)
        except FieldError as error:
            raise InputError(source, error.field, error.message) from None
        super().check(spec, source)

    def top(self, spec: SwitchSpec) -> Unit:
        return network(spec)

    def latency_cycles(self, spec: SwitchSpec) -> int:
        return network_latency_cycles(spec)

    def manifest(self, spec: SwitchSpec) -> dict[str, Any]:
        pruned = {} if spec.only is None else {"pruned": kept_parts(spec)}
        return {**crossing(spec), **pruned}

    def said(self, spec: SwitchSpec) -> dict[str, Any]:
        return spec.model_dump(exclude={"protocol"})


def crossing(spec: SwitchSpec) -> dict[str, Any]:
    """Return the numbers of micro-switches, and layout and codes of the configuration."""
    ports, middle = spec.ports, spec.middle_switches
    fields = layout(ports, middle)
    counts = microswitch_counts(ports, middle)
    if spec.needed is not None:
        made = made_by(spec.needed, ports, middle)
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


LEVELS.add("interconnect", InterconnectLevel(), rank=1)
