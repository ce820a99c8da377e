"""File kind: flows of a phase."""

from typing import Any

from fred_hw.compiler.flows import FlowEntry, read_flows

from .file_kind import FILES, FileKind, document

__all__: list[str] = []

_MOST_PORTS = 64


def _schema() -> dict[str, Any]:
    flows = {"type": "array", "items": {"$ref": "#/$defs/FlowEntry"}}
    under_a_key = {
        "type": "object",
        "properties": {"flows": flows},
        "required": ["flows"],
        "additionalProperties": False,
    }
    entry = FlowEntry.model_json_schema()
    schema = {"anyOf": [flows, under_a_key], "$defs": {"FlowEntry": entry}}
    return document("Flows that are active at once", schema)


FILES.add(
    "flows",
    FileKind(
        summary="What is reduced from which ports and goes to which: FLOWS of `fred route`.",
        schema=_schema,
        read=lambda path: read_flows(path, _MOST_PORTS),
    ),
    rank=1,
)
