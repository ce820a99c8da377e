"""Keys of files as docs/reference/yaml-keys.md states them, and as the readers have them."""

from collections.abc import Iterable

from docs.generate.reference import ROOT, tables
from fred_cli.schemas.file_kind import FILES

__all__ = ["documented_keys", "read_keys"]

_PAGE = ROOT / "docs" / "reference" / "yaml-keys.md"


def documented_keys(kind: str) -> list[str]:
    """Return the rows of the committed page for a kind of file: ranges, choices and defaults."""
    text = _PAGE.read_text(encoding="utf-8")
    section = text.partition(f"\n## {kind}\n")[2].partition("\n## ")[0]
    return _rows(section.splitlines())


def read_keys(kind: str) -> list[str]:
    """Return the same rows, from the models that check a file."""
    return _rows(tables(FILES[kind]))


def _rows(lines: Iterable[str]) -> list[str]:
    return [line for line in lines if line.startswith("| `")]
