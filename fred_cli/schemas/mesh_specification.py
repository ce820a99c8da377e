"""File kind: specifications of meshes of routers."""

from fred_hw.mesh.load import load_mesh
from fred_hw.mesh.spec import MeshSpec

from .file_kind import FILES, FileKind, of_model

__all__: list[str] = []

FILES.add(
    "mesh",
    FileKind(
        summary="A mesh of routers: SPEC of `fred route`, and of `fred gen` with `--level mesh` or "
        "`--level router`.",
        schema=lambda: of_model("Specification of a mesh of routers", MeshSpec),
        read=lambda path: load_mesh(str(path)),
    ),
    rank=12,
)
