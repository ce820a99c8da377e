"""File kind: studies."""

from studies.study.file import StudyFile
from studies.study.plan import load_study

from .file_kind import FILES, FileKind, of_model

__all__: list[str] = []

FILES.add(
    "study",
    FileKind(
        summary="A space of points to be estimated: FILE of `fred study run`.",
        schema=lambda: of_model("StudyFile", StudyFile),
        read=load_study,
    ),
    rank=4,
)
