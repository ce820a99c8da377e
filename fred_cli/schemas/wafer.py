"""File kind: specifications of wafers."""

from fred_hw.wafer.load import load_wafer
from fred_hw.wafer.spec import WaferSpec

from .file_kind import FILES, FileKind, of_model

__all__: list[str] = []

FILES.add(
    "wafer",
    FileKind(
        summary="A wafer as hardware: SPEC of `fred gen` with `--level wafer`.",
        schema=lambda: of_model("Specification of a wafer", WaferSpec),
        read=lambda path: load_wafer(str(path)),
    ),
    rank=13,
)
