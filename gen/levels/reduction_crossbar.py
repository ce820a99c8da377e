# amaranth: UnusedElaboratable=no
# Units are created for their names and ports, and generated once.
"""Level: a full crossbar with a reduction tree per output, to compare FRED with."""

from typing import Any

from fred_hw.datapath.flit import FlitNetwork
from fred_hw.datapath.network import network
from fred_hw.datapath.reduction_crossbar import ReductionCrossbar
from fred_hw.load import load_spec
from fred_hw.networks.network import NETWORKS
from fred_hw.spec import SwitchSpec
from gen.level import LEVELS, UnitLevel

__all__ = ["CrossbarLevel"]


class CrossbarLevel(UnitLevel[SwitchSpec]):
    """The crossbar; its latency is that of a flit from port to port."""

    model = SwitchSpec
    load = staticmethod(load_spec)
    text = "a full crossbar with a reduction tree per output"
    description = "Full crossbar with a reduction tree per output, a baseline of FRED"

    def top(self, spec: SwitchSpec) -> FlitNetwork:
        return network(spec, ReductionCrossbar)

    def latency_cycles(self, spec: SwitchSpec) -> int:
        return self.top(spec).latency

    def manifest(self, spec: SwitchSpec) -> dict[str, Any]:
        return NETWORKS["crossbar"].manifest(spec)

    def said(self, spec: SwitchSpec) -> dict[str, Any]:
        return spec.model_dump(exclude={"protocol", "middle_switches", "network"})


LEVELS.add("crossbar", CrossbarLevel(), rank=1.2)
