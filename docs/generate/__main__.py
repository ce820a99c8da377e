"""Write what comes from code of docs: `python -m docs.generate`; `--check` only compares."""

import json
import sys
from collections.abc import Callable, Iterator
from difflib import unified_diff
from functools import partial
from pathlib import Path

from fred_cli.drawings.idea import draw_idea

from .attacks import attacks_page
from .blocks import draw_blocks, read_blocks
from .catalogue import catalogue
from .command_line import command_line
from .commands import COMMANDS_PAGE, commands_page
from .evidence import evidence_page
from .figures import draw_wave
from .files import files
from .measured import measured
from .names import names
from .networks import HARDWARE_PAGE, draw_networks, networks_page
from .pages import (
    ATTACKS,
    COMMAND_LINE,
    DOCS,
    EVIDENCE,
    FILES,
    MEASURED,
    NAMES,
    PROOFS,
    PYTHON,
    UNITS,
    YAML_KEYS,
)
from .ports import REFERENCE, TABLES, ports_page
from .proofs import proofs_page
from .python_api import python_api
from .reference import reference
from .saturation import MESH_PAGE, draw_saturation, saturation_page
from .studies import RESULTS, STUDIES, draw_study
from .waves import WAVES

__all__ = ["DIAGRAMS", "FIGURES", "WHOLE", "documents"]

FIGURES = DOCS / "figures"
DIAGRAMS = {path.stem: read_blocks(path) for path in sorted(FIGURES.glob("*.yaml"))}


WHOLE: dict[Path, Callable[[], str]] = {
    UNITS: lambda: catalogue(DIAGRAMS),
    NAMES: names,
    COMMAND_LINE: command_line,
    PYTHON: python_api,
    FILES: files,
    MEASURED: measured,
    YAML_KEYS: reference,
    EVIDENCE: evidence_page,
    PROOFS: proofs_page,
    ATTACKS: attacks_page,
}
"""What makes the text of each of ``PAGES``."""

_WITH_PARTS: dict[Path, Callable[[], str]] = {
    MESH_PAGE: saturation_page,
    COMMANDS_PAGE: commands_page,
    HARDWARE_PAGE: networks_page,
    **{REFERENCE / one.page: partial(ports_page, one.page) for one in TABLES},
}
"""Pages written by hand, some parts of which are written here."""


def documents() -> dict[Path, str]:
    """Return the text of each file that is written here."""
    found = {FIGURES / f"{name}.svg": draw_blocks(blocks) for name, blocks in DIAGRAMS.items()}
    for name, make in WAVES.items():
        wave = make()
        found[FIGURES / f"{name}.json"] = json.dumps(wave).replace("}, ", "},\n ") + "\n"
        found[FIGURES / f"{name}.svg"] = draw_wave(wave)
    found[FIGURES / "mesh-saturation.svg"] = draw_saturation()
    found[FIGURES / "networks.svg"] = draw_networks()
    found[FIGURES / "idea.svg"] = draw_idea()
    found[FIGURES / "idea-static.svg"] = draw_idea(animated=False)
    found |= {RESULTS / f"{name}.svg": draw_study(name) for name in STUDIES}
    return {**found, **{path: make() for path, make in (WHOLE | _WITH_PARTS).items()}}


def _differences() -> Iterator[str]:
    """Yield the lines in which committed files differ from what code gives."""
    found = documents()
    for path in sorted({*FIGURES.glob("*.svg")} - found.keys()):
        yield f"{path.relative_to(DOCS.parent)}: no code draws it"
    for path, text in found.items():
        name = str(path.relative_to(DOCS.parent))
        committed = path.read_text("utf-8") if path.exists() else ""
        yield from unified_diff(
            committed.splitlines(), text.splitlines(), name, "make docs", n=0, lineterm=""
        )


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit("\n".join(_differences()) or 0)
    for path, text in documents().items():
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path.relative_to(DOCS.parent)}\n")
