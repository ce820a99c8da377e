# amaranth: UnusedElaboratable=no
# Units are created for their names and ports, and generated once.
"""Level: the interconnect of a switch."""

from typing import Any

from fred_hw.datapath.flit import FlitNetwork
from fred_hw.datapath.network import network
from fred_hw.errors import FieldError, InputError
from fred_hw.load import load_spec
from fred_hw.networks.network import NETWORKS
from fred_hw.pruning import kept_parts, needed_results
from fred_hw.spec import SwitchSpec
from gen.level import LEVELS, UnitLevel

__all__ = ["InterconnectLevel"]


class InterconnectLevel(UnitLevel[SwitchSpec]):
    """The rigid pipeline; its latency is that of a flit from port to port."""

    model = SwitchSpec
    load = staticmethod(load_spec)
    prunes = True
    text = "the interconnect alone"
    description = "FRED interconnect: rigid pipeline that reduces and broadcasts as it routes"

    def check(self, spec: SwitchSpec, source: str) -> None:
        if spec.network != "fred":
            other = f"at level interconnect, not {spec.network!r}, which is level {spec.network}"
            raise InputError(source, "network", f"must be fred {other}")
        try:
            needed_results(spec)
        except FieldError as error:
            raise InputError(source, error.field, error.message) from None
        super().check(spec, source)

    def top(self, spec: SwitchSpec) -> FlitNetwork:
        return network(spec)

    def latency_cycles(self, spec: SwitchSpec) -> int:
        return self.top(spec).latency

    def manifest(self, spec: SwitchSpec) -> dict[str, Any]:
        pruned = {} if spec.only is None else {"pruned": kept_parts(spec)}
        return {**NETWORKS["fred"].manifest(spec), **pruned}

    def said(self, spec: SwitchSpec) -> dict[str, Any]:
        return spec.model_dump(exclude={"protocol"})


LEVELS.add("interconnect", InterconnectLevel(), rank=1)
