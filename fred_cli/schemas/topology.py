"""File kind: wafers and clusters."""

from typing import Any

from perfmodel.topology.files import KINDS, load_topology

from .file_kind import FILES, FileKind, of_kinds

__all__: list[str] = []

_SUMMARY = "A wafer or a cluster: `--topology` of `fred estimate` and others."


def _schema() -> dict[str, Any]:
    return of_kinds("Topology", _SUMMARY, {name: kind.file for name, kind in KINDS.items()})


FILES.add("topology", FileKind(summary=_SUMMARY, schema=_schema, read=load_topology), rank=2)
