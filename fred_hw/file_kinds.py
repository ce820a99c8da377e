"""Recognition of input files by keys that only one kind has, or by their suffix."""

from collections.abc import Mapping
from pathlib import Path

__all__ = [
    "ARCHITECTURE",
    "CERTIFICATE",
    "CLUSTER",
    "DESIGN",
    "ENDPOINT",
    "MESH",
    "NETWORK",
    "PRESET",
    "READ_AS_YAML",
    "REMOTE_MEMORY",
    "ROCE",
    "SCHEDULE",
    "STRATEGIES",
    "STUDY",
    "SWITCH",
    "SYSTEM",
    "TEXT_WORKLOAD",
    "TOPOLOGY",
    "TRAINED",
    "WAFER",
    "WORKLOAD",
    "YAML",
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
CERTIFICATE = "a routing certificate"
STRATEGIES = "strategies to support"
PRESET = "the preset of a switch"

TEXT_WORKLOAD = "a text workload of ASTRA-sim 1.0"
SCHEDULE = "a schedule in GOAL"
TRAINED = "a trained network"
YAML = "a YAML file"

_SUFFIXES = {
    ".v": "Verilog",
    ".sv": "SystemVerilog",
    ".lib": "a cell library",
    ".et": "a Chakra trace",
    ".goal": SCHEDULE,
    ".onnx": TRAINED,
    ".txt": TEXT_WORKLOAD,
    ".yaml": YAML,
    ".yml": YAML,
}
"""Kinds of files by suffix."""

READ_AS_YAML = (None, TEXT_WORKLOAD, YAML)
"""Kinds by suffix that may hold a specification; YAML may have the suffix .txt or none."""

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
    CERTIFICATE: ("refutations",),
    STRATEGIES: ("strategies",),
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
    """Return the kind of a file by its suffix; None for JSON and unknown suffixes."""
    return _SUFFIXES.get(path.suffix.lower())
