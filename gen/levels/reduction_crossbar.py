# amaranth: UnusedElaboratable=no
# Units are created for their names and ports, and generated once.
"""Level: a full crossbar with a reduction tree per output, to compare FRED with."""

from typing import Any

from fred_hw.datapath.reduction_crossbar import ReductionCrossbar, tree_latency_cycles
from fred_hw.load import load_spec
from fred_hw.networks.network import NETWORKS
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit
from gen.level import LEVELS, UnitLevel

__all__ = ["CrossbarLevel"]


class CrossbarLevel(UnitLevel[SwitchSpec]):
    """The crossbar; its latency is that of a flit from port to port."""

    model = SwitchSpec
    load = staticmethod(load_spec)
    text = "a full crossbar with a reduction tree per output"
    description = "Full crossbar with a reduction tree per output, a baseline of FRED"

    def top(self, spec: SwitchSpec) -> Unit:
        return ReductionCrossbar(spec=spec)

    def latency_cycles(self, spec: SwitchSpec) -> int:
        return tree_latency_cycles(spec)

    def manifest(self, spec: SwitchSpec) -> dict[str, Any]:
        return NETWORKS["crossbar"].manifest(spec)

    def said(self, spec: SwitchSpec) -> dict[str, Any]:
        return spec.model_dump(exclude={"protocol", "middle_switches", "network"})


LEVELS.add("crossbar", CrossbarLevel(), rank=1.2)
