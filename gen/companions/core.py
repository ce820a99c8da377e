"""FuseSoC core description (CAPI2)."""

from importlib.metadata import version
from typing import Any

import yaml

from gen.level import LEVELS

from .companion import COMPANIONS, Companion
from .smoke_bench import SMOKE_FILESET

__all__ = ["core_file"]


def core_file(name: str, version: str, level: str) -> str:
    """Return a FuseSoC core description (CAPI2) with targets to lint, simulate and synthesize.

    Parameters
    ----------
    name : str
        Name of the top module.
    version : str
        Version of this package.
    level : str
        One of ``LEVELS``. Those without a smoke test have no target ``sim``.
    """
    filesets = _filesets(name, level)
    sources = [one for one in filesets if one not in ("lint", SMOKE_FILESET)]
    core: dict[str, Any] = {
        "name": f"fred-hw:{level}:{name}:{version}",
        "description": LEVELS[level].description,
        "filesets": filesets,
        "targets": {
            "default": {"filesets": sources, "toplevel": name},
            "lint": {
                "default_tool": "verilator",
                "filesets": ["lint", "rtl"],
                "tools": {"verilator": {"mode": "lint-only", "verilator_options": ["-Wall"]}},
                "toplevel": name,
            },
            "synth": {
                "default_tool": "yosys",
                "filesets": ["rtl"],
                "tools": {"yosys": {"arch": "xilinx"}},
                "toplevel": name,
            },
        },
    }
    if SMOKE_FILESET in filesets:
        core["targets"]["sim"] = {
            "default_tool": "icarus",
            "filesets": ["rtl", SMOKE_FILESET],
            "toplevel": f"{name}_tb",
        }
    return "CAPI=2:\n" + yaml.safe_dump(core, sort_keys=False, width=100)


def _filesets(name: str, level: str) -> dict[str, dict[str, Any]]:
    """Return the files for tools, keyed by the fileset that each writer names."""
    found: dict[str, dict[str, Any]] = {}
    for one in COMPANIONS.values():
        if one.fileset and one.serves(level):
            file, kind = f"{name}{one.ending}", {"file_type": one.file_type}
            fileset = found.setdefault(one.fileset, {"files": [], **kind})
            usual = fileset["file_type"] == one.file_type
            fileset["files"].append(file if usual else {file: kind})
    return found


COMPANIONS.add(
    "FuseSoC core",
    Companion(".core", lambda design: core_file(design.name, version("fred-hw"), design.level)),
    rank=5,
)
