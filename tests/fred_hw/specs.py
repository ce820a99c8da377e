"""Small specifications, and flits of theirs, shared by the tests of fred_hw."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fred_hw.datapath.interconnect import Interconnect
from fred_hw.formats.fp16 import FP16
from fred_hw.formats.fp32 import FP32
from fred_hw.formats.number_format import FloatFormat
from fred_hw.link.message import message_layout
from fred_hw.mesh.plan import DIRECTIONS
from fred_hw.mesh.spec import MeshSpec
from fred_hw.protocol import CRC_BITS, HANDSHAKE_FIELDS, HEADER_FIELDS, ProtocolSpec
from fred_hw.spec import SwitchSpec
from testbench.models.endpoint import Flit, FlitCodec

__all__ = [
    "CODEC",
    "FRAMED",
    "HANDSHAKE",
    "LINK",
    "MESH",
    "STOMP",
    "TORUS",
    "framed_flit",
    "kind_of",
    "link_flit",
    "sizes_of_units",
]

STOMP = (1 << CRC_BITS) - 1
"""What inverts a CRC."""

_PROTOCOL = ProtocolSpec(
    phases=4,
    packet_flits=4,
    buffer_packets=3,
    round_trip_cycles=8,
    ack_interval=2,
    window_packets=8,
    timeout_cycles=16,
    nack_timeout_cycles=5,
    packet_timeout_cycles=6,
    head_of_line_timeout_cycles=256,
)
LINK = SwitchSpec(ports=4, lanes=1, format="int16", protocol=_PROTOCOL)
CODEC = FlitCodec(LINK)
MESH = MeshSpec(width=3, height=2, lanes=1, format="int16", protocol=_PROTOCOL)

TORUS = MESH.with_changes(height=3, wrap=True, controllers=False, routing="dateline")

HANDSHAKE = {
    name: max((1 << HEADER_FIELDS[name].bits) - 2 - k, 1) for k, name in enumerate(HANDSHAKE_FIELDS)
}
"""Values for the fields of a handshake, each another one where it has more than a bit."""

FRAMED = [f"o.payload.{name}" for name in ("header", "data", "crc", "last")]
"""Ports of a flit to a link."""


def sizes_of_units(spec: SwitchSpec) -> dict[str, Any]:
    """Return a size for each name that a parameter of a public unit has, those of a lane apart.

    Sources choose routes, so that units have all that they may have.
    """
    names = {"parts": "all", "connections": None}
    counts = {
        "channels": replace(spec.protocol.channels, each=2),
        "outside": True,
        "guarded": True,
        "latency": 8,
        "depth": 4,
        "readers": 2,
        "machines": 1,
    }
    counts |= {"sources": 2, "destinations": 2, "count": 3, "place_bits": 3}
    counts |= {"npus": (4, 2), "reciprocals": (1, 2), "load_width": 16, "chunk_width": 12}
    shapes = {"shape": 8, "width": 4, "data_width": 16, "layout": message_layout(spec)}
    mesh = MESH.with_changes(protocol=spec.protocol, routing="odd_even_adaptive")
    spec = spec.with_changes(protocol=mesh.link.protocol)
    formats = {"narrow": FP16, "wide": FP32, "lanes": 2}
    formats |= dict(zip(("given", "wanted"), _ends(spec), strict=True))
    network = Interconnect(spec=spec.with_changes(format="fp32", accumulation=None, lanes=2))
    meshes = {"mesh": mesh, "directions": DIRECTIONS}
    return {
        "spec": spec,
        **meshes,
        "ports": spec.ports,
        "middle_switches": spec.middle_switches,
        **counts,
        **shapes,
        **names,
        **formats,
        "network": network,
    }


def _ends(spec: SwitchSpec) -> tuple[FloatFormat, FloatFormat]:
    """Return the formats of a conversion: to a narrower one with accumulation, else to a wider."""
    return (FP32, FP16) if spec.accumulation else (FP16, FP32)


def link_flit(flit: Flit) -> dict[str, int]:
    """Return a flit as inputs of a port ``i`` that is a link."""
    return {"i.valid": 1, "i.header": flit.header, "i.data": flit.data, "i.crc": flit.crc}


def framed_flit(word: Sequence[int]) -> Flit:
    """Return the flit that is seen at the ports ``FRAMED``."""
    header, data, crc, last = word
    return Flit(header, data, crc, bool(last))


def kind_of(header: int) -> int:
    """Return the kind of a flit."""
    low, bits = HEADER_FIELDS["kind"]
    return header >> low & (1 << bits) - 1
