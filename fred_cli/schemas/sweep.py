"""File kind: sweeps."""

from perfmodel.studies.sweep_file import SWEEP_FILE
from perfmodel.studies.sweep_points import load_sweep

from .file_kind import FILES, FileKind, of_model

__all__: list[str] = []

FILES.add(
    "sweep",
    FileKind(
        summary="What is to be estimated of each other: FILE of `fred sweep`.",
        schema=lambda: of_model("SweepFile", SWEEP_FILE),
        read=load_sweep,
    ),
    rank=4,
)
