"""File kind: systems of ASTRA-sim."""

from tracemodel.api import SystemFile, load_system

from .file_kind import FILES, FileKind, of_model

__all__: list[str] = []

FILES.add(
    "astra-system",
    FileKind(
        summary="Collectives and an NPU as ASTRA-sim describes them.",
        schema=lambda: of_model("SystemFile", SystemFile),
        read=load_system,
    ),
    rank=9,
)
