"""File kind: remote memory of ASTRA-sim."""

from perfmodel.memory.file import MemoryFile, load_memory

from .file_kind import FILES, FileKind, of_model

__all__: list[str] = []

FILES.add(
    "astra-memory",
    FileKind(
        summary="Memory beyond that of the NPUs as ASTRA-sim describes it.",
        schema=lambda: of_model("MemoryFile", MemoryFile),
        read=load_memory,
    ),
    rank=10,
)
