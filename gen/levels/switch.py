# amaranth: UnusedElaboratable=no
# Units are created for their names and ports, and generated once.
"""Level: a whole switch."""

from typing import Any

from fred_hw.control.phase_entry import phase_fields, phases_that_fit
from fred_hw.control.switch_map import switch_map
from fred_hw.datapath.network import network_latency_cycles
from fred_hw.load import load_spec
from fred_hw.networks.network import NETWORKS
from fred_hw.spec import SwitchSpec
from fred_hw.switch.switch import ADDED_CYCLES, Switch
from fred_hw.unit import Unit
from gen.level import LEVELS, UnitLevel
from gen.manifest_parts import controlled, placed, streams

__all__ = ["SwitchLevel"]


class SwitchLevel(UnitLevel[SwitchSpec]):
    """The switch; its latency is that of a lone flit from port to port."""

    model = SwitchSpec
    load = staticmethod(load_spec)
    text = "the whole switch"
    description = "FRED switch: interconnect with links, virtual circuits, scheduler and registers"
    registers = staticmethod(switch_map)

    def top(self, spec: SwitchSpec) -> Unit:
        return Switch(spec=spec)

    def latency_cycles(self, spec: SwitchSpec) -> int:
        return network_latency_cycles(spec) + ADDED_CYCLES

    def manifest(self, spec: SwitchSpec) -> dict[str, Any]:
        protocol = spec.protocol
        rate = protocol.acked_rate(spec.ports, protocol.ack_interval)
        return {
            **NETWORKS[spec.network].manifest(spec),
            **streams("s<k>_axis", "m<k>_axis"),
            "acks": {"interval": protocol.ack_interval, "flits_per_cycle": round(rate, 3)},
            "entry": placed(phase_fields(spec)),
            "phases": {"entries": protocol.phases, "in_1536_bytes": phases_that_fit(spec)},
            **controlled(spec, switch_map(spec)),
        }


LEVELS.add("switch", SwitchLevel(), rank=2)
