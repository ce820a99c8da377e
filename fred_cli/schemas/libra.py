"""File kind: bandwidth designs."""

from perfmodel.libra.design import DesignFile, load_design

from .file_kind import FILES, FileKind, of_model

__all__: list[str] = []

FILES.add(
    "libra",
    FileKind(
        summary="Network, workloads and constraints of a bandwidth design: DESIGN of `fred libra`.",
        schema=lambda: of_model("DesignFile", DesignFile),
        read=load_design,
    ),
    rank=6,
)
