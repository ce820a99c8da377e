"""File kind: networks of ASTRA-sim."""

from tracemodel.api import NetworkFile, read_network

from .file_kind import FILES, FileKind, of_model

__all__: list[str] = []

FILES.add(
    "astra-network",
    FileKind(
        summary="A network as ASTRA-sim describes it.",
        schema=lambda: of_model("NetworkFile", NetworkFile),
        read=read_network,
    ),
    rank=8,
)
