"""FuseSoC core description (CAPI2)."""

from importlib.metadata import version

import yaml

from .companion import COMPANIONS, Companion

__all__ = ["core_file"]

_DESCRIPTIONS = {
    "interconnect": "FRED interconnect: rigid pipeline that reduces and broadcasts as it routes",
    "switch": "FRED switch: interconnect with links, virtual circuits, scheduler and registers",
}


def core_file(name: str, version: str, level: str) -> str:
    """Return a FuseSoC core description (CAPI2) with a lint target."""
    core = {
        "name": f"fred-hw:{level}:{name}:{version}",
        "description": _DESCRIPTIONS[level],
        "filesets": {
            "rtl": {"files": [f"{name}.v"], "file_type": "verilogSource-2005"},
            "constraints": {"files": [f"{name}.sdc"], "file_type": "SDC"},
            "lint": {"files": [f"{name}.vlt"], "file_type": "vlt"},
        },
        "targets": {
            "default": {"filesets": ["rtl", "constraints"], "toplevel": name},
            "lint": {
                "default_tool": "verilator",
                "filesets": ["lint", "rtl"],
                "tools": {"verilator": {"mode": "lint-only", "verilator_options": ["-Wall"]}},
                "toplevel": name,
            },
        },
    }
    return "CAPI=2:\n" + yaml.safe_dump(core, sort_keys=False, width=100)


COMPANIONS.add(
    "FuseSoC core",
    Companion(".core", lambda design: core_file(design.name, version("fred-hw"), design.level)),
    rank=5,
)
