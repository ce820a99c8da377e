"""File kind: sweeps of traces."""

from perfmodel.studies.trace_sweep import TraceSweepFile, load_trace_sweep

from .file_kind import FILES, FileKind, of_model

__all__: list[str] = []

FILES.add(
    "trace-sweep",
    FileKind(
        summary="Traces that are to be run on each of some networks: FILE of `fred sweep`.",
        schema=lambda: of_model("TraceSweepFile", TraceSweepFile),
        read=load_trace_sweep,
    ),
    rank=4,
)
