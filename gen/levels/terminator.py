# amaranth: UnusedElaboratable=no
# Units are created for their names and ports, and generated once.
"""Level: a link terminator."""

from typing import Any

from fred_hw.endpoint.flow import flow_layout
from fred_hw.endpoint.terminator import SEND_CYCLES, LinkTerminator
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit
from gen.level import LEVELS
from gen.manifest_parts import placed, streams
from gen.replay import replay

from .endpoint import OfLinkEnd

__all__ = ["TerminatorLevel"]


class TerminatorLevel(OfLinkEnd):
    """The terminator; its latency counts from a packet's last flit to its first on the link."""

    text = "a link terminator"
    description = "FRED link terminator: AXI4-Streams of packets to and from a link"

    def top(self, spec: SwitchSpec) -> Unit:
        return LinkTerminator(spec=spec)

    def latency_cycles(self, spec: SwitchSpec) -> int:
        return SEND_CYCLES

    def manifest(self, spec: SwitchSpec) -> dict[str, Any]:
        widths = {name: field.width for name, field in flow_layout(spec)}
        return {
            **streams("s_axis", "m_axis", spec),
            "flow": placed(widths) | {"unicast_phase": spec.protocol.online},
            "replay": replay(spec, spec.protocol.replay_needed),
            "link_digest": spec.digest,
        }


LEVELS.add("terminator", TerminatorLevel(), rank=3.5)
