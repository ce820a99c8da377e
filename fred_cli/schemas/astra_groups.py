"""File kind: communicator groups of ASTRA-sim."""

from tracemodel.api import GROUPS_SCHEMA, load_groups

from .file_kind import FILES, FileKind, document

__all__: list[str] = []

FILES.add(
    "astra-groups",
    FileKind(
        summary="NPUs of each communicator group by its number, in the order of their ring.",
        schema=lambda: document("Communicator groups", GROUPS_SCHEMA),
        read=load_groups,
    ),
    rank=11,
)
