"""File kind: specifications of switches."""

from fred_hw.load import PRESETS, load_spec, preset_path
from fred_hw.spec import SwitchSpec

from .file_kind import FILES, FileKind, of_model

__all__: list[str] = []

FILES.add(
    "specification",
    FileKind(
        summary="A switch: SPEC of `fred gen`, `fred sim` and others.",
        schema=lambda: of_model("Specification of a FRED switch", SwitchSpec),
        read=lambda path: load_spec(str(path)),
        shipped=lambda: [preset_path(name) for name in PRESETS],
    ),
    rank=0,
)
