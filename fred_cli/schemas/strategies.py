"""File kind: strategies that a pruned interconnect supports."""

from fred_hw.files import load_model
from fred_hw.pruning import NeedsFile

from .file_kind import FILES, FileKind, of_model

__all__: list[str] = []

FILES.add(
    "strategies",
    FileKind(
        summary="What a pruned interconnect supports: `--only` of `fred gen` and others.",
        schema=lambda: of_model("NeedsFile", NeedsFile),
        read=lambda path: load_model(NeedsFile, path).parsed(str(path)),
    ),
    rank=14,
)
