# amaranth: UnusedElaboratable=no
# Units are created for their names and ports, and generated once.
"""Level: a Benes network with adders in all micro-switches, to compare FRED with."""

from typing import Any

from fred_hw.compiler.benes import check_ports, switch_count
from fred_hw.datapath.benes import Benes
from fred_hw.datapath.flit import FlitNetwork
from fred_hw.datapath.network import network
from fred_hw.errors import InputError
from fred_hw.load import load_spec
from fred_hw.spec import SwitchSpec
from gen.level import LEVELS, UnitLevel

__all__ = ["BenesLevel"]


class BenesLevel(UnitLevel[SwitchSpec]):
    """The network; its latency is that of a flit from port to port."""

    model = SwitchSpec
    load = staticmethod(load_spec)
    text = "a Benes network with adders"
    description = "Benes network whose micro-switches reduce and distribute, a baseline of FRED"

    def check(self, spec: SwitchSpec, source: str) -> None:
        try:
            check_ports("Benes", spec.ports)
        except ValueError:
            message = f"must be a power of two at level benes, not {spec.ports}"
            raise InputError(source, "ports", message) from None
        super().check(spec, source)

    def top(self, spec: SwitchSpec) -> FlitNetwork:
        return network(spec, Benes)

    def latency_cycles(self, spec: SwitchSpec) -> int:
        return self.top(spec).latency

    def manifest(self, spec: SwitchSpec) -> dict[str, Any]:
        count = switch_count(spec.ports)
        codes = (
            "per micro-switch, output 0 low: 0 none, 1 input 0, 2 input 1, 3 reduced, beside "
            "which 1 and 2 are none; input stage, both inner networks, output stage"
        )
        return {
            "microswitches": {"RD": count},
            "configuration": {"width": 4 * count, "code": codes},
        }

    def said(self, spec: SwitchSpec) -> dict[str, Any]:
        return spec.model_dump(exclude={"protocol", "middle_switches", "network"})


LEVELS.add("benes", BenesLevel(), rank=1.4)
