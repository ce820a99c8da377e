"""File kind: architectures of trained networks."""

from perfmodel.repurpose.architecture import Architecture, load_architecture

from .file_kind import FILES, FileKind, of_model

__all__: list[str] = []

FILES.add(
    "architecture",
    FileKind(
        summary="Operations of a trained network: --architecture of `fred repurpose`.",
        schema=lambda: of_model("Architecture", Architecture),
        read=load_architecture,
    ),
    rank=6.5,
)
