"""File kind: workloads."""

from perfmodel.workloads.file import KINDS
from perfmodel.workloads.workload import WORKLOADS, load_workload, workload_path

from .file_kind import FILES, FileKind, of_kinds

__all__: list[str] = []

_SUMMARY = "A network and how it is trained: `--workload` of `fred estimate` and others."

FILES.add(
    "workload",
    FileKind(
        summary=_SUMMARY,
        schema=lambda: of_kinds("Workload", _SUMMARY, KINDS),
        read=lambda path: load_workload(str(path)),
        shipped=lambda: [workload_path(name) for name in WORKLOADS],
    ),
    rank=3,
)
