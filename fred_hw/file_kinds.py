"""Recognition of input files by keys that only one kind has, or by their suffix."""

from collections.abc import Mapping
from pathlib import Path

__all__ = [
    "ARCHITECTURE",
    "CLUSTER",
    "DESIGN",
    "ENDPOINT",
    "MESH",
    "NETWORK",
    "PRESET",
    "REMOTE_MEMORY",
    "ROCE",
    "STUDY",
    "SWITCH",
    "SYSTEM",
    "TOPOLOGY",
    "WAFER",
    "WORKLOAD",
    "file_kind",
    "suffix_kind",
]

SWITCH = "a switch specification"
MESH = "a mesh specification"
WAFER = "a wafer specification"
TOPOLOGY = "a topology of the wafer model"
WORKLOAD = "a workload"
STUDY = "a study"
CLUSTER = "a cluster"
ARCHITECTURE = "an architecture of a trained network"
DESIGN = "a bandwidth design"
ENDPOINT = "an endpoint"
NETWORK = "an ASTRA-sim network"
SYSTEM = "an ASTRA-sim system"
REMOTE_MEMORY = "an ASTRA-sim remote memory"
ROCE = "parameters of RoCE"
PRESET = "the preset of a switch"

_SUFFIXES = {
    ".v": "Verilog",
    ".sv": "SystemVerilog",
    ".lib": "a cell library",
    ".et": "a Chakra trace",
}
"""Kinds of files that are neither YAML nor JSON."""

_MARKS: dict[str, tuple[str, ...]] = {
    SWITCH: ("ports",),
    MESH: ("width",),
    WAFER: ("switches",),
    STUDY: ("space",),
    CLUSTER: ("training",),
    ARCHITECTURE: ("layers",),
    NETWORK: ("npus_count",),
    DESIGN: ("dimensions",),
    ENDPOINT: ("settings",),
    SYSTEM: ("all-reduce-implementation", "preferred-dataset-splits", "peak-perf"),
    REMOTE_MEMORY: ("memory-type",),
    ROCE: ("congestion_control",),
}
"""Keys that identify a kind; one of them is enough."""

_OF_KIND = {
    TOPOLOGY: ("fred", "mesh", "blocks", "mesh_switch", "links", "wafers"),
    WORKLOAD: ("transformer", "resnet", "dlrm", "gnmt", "all_reduce"),
}
"""Values of the key ``kind`` in the kinds of files that have this key."""


def file_kind(data: object) -> str | None:
    """Return the kind of file that ``data`` looks like; None if unknown."""
    if not isinstance(data, Mapping):
        return None
    for kind, values in _OF_KIND.items():
        if data.get("kind") in values:
            return kind
    if "kind" in data:
        return None
    return next((kind for kind, keys in _MARKS.items() if any(key in data for key in keys)), None)


def suffix_kind(path: Path) -> str | None:
    """Return the kind of file that is neither YAML nor JSON by its suffix; None for others."""
    return _SUFFIXES.get(path.suffix.lower())
