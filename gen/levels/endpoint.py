# amaranth: UnusedElaboratable=no
# Units are created for their names and ports, and generated once.
"""Level: the collective endpoint of an NPU."""

from collections.abc import Mapping
from typing import Any

from fred_hw.ace.endpoint_map import endpoint_map
from fred_hw.ace.npu_endpoint import BEGIN_CYCLES, NpuEndpoint
from fred_hw.ace.work import flit_bytes
from fred_hw.errors import InputError
from fred_hw.load import load_spec
from fred_hw.mesh.load import is_mesh, load_mesh
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit
from gen.level import LEVELS, UnitLevel
from gen.manifest_parts import controlled, streams
from gen.replay import replay

__all__ = ["EndpointLevel", "OfLinkEnd"]


def _load_end(source: str, changes: Mapping[str, Any] | None = None) -> SwitchSpec:
    """Return the specification of endpoints at a switch's links, or at those of a mesh."""
    if is_mesh(source):
        return load_mesh(source, changes).link
    return load_spec(source, changes)


class OfLinkEnd(UnitLevel[SwitchSpec]):
    """Base of the levels of a link's end, at a switch or at a router of a mesh."""

    model = SwitchSpec
    load = staticmethod(_load_end)

    def said(self, spec: SwitchSpec) -> dict[str, Any]:
        routes = spec.protocol.routes
        return spec.model_dump() | ({} if routes is None else {"mesh": routes.model_dump()})


class EndpointLevel(OfLinkEnd):
    """The endpoint; its latency is from a descriptor's COMMAND to the first memory read."""

    text = "the collective endpoint of an NPU"
    description = "NPU's end of a FRED link: link layer, collective engine and registers"
    registers = staticmethod(endpoint_map)

    def top(self, spec: SwitchSpec) -> Unit:
        return NpuEndpoint(spec=spec)

    def latency_cycles(self, spec: SwitchSpec) -> int:
        return BEGIN_CYCLES

    def manifest(self, spec: SwitchSpec) -> dict[str, Any]:
        kept = replay(spec, spec.protocol.replay_needed)
        common = controlled(spec, endpoint_map(spec))
        return {**streams("s_axis", "m_axis", spec), "replay": kept, **common}

    def check(self, spec: SwitchSpec, source: str) -> None:
        try:
            flit_bytes(spec)
        except ValueError as error:
            raise InputError(source, "lanes", str(error).removeprefix("lanes ")) from None
        super().check(spec, source)


LEVELS.add("endpoint", EndpointLevel(), rank=3)
