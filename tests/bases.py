"""Files to begin with: what tests of readers and schemas change value by value."""

from typing import Any

from docs.generate.reference import EXAMPLES, files
from fred_cli.schemas.file_kind import FILES
from fred_hw.reading import read_data

__all__ = ["bases"]


def bases(kind: str) -> dict[str, Any]:
    """Return what a file says for each value of ``kind:`` that files of a kind have.

    It is the smallest of those in examples/, and a shipped one only where there is none. Files
    without such a key go by the name of their kind.
    """
    found: dict[str, Any] = {}
    ours = files(FILES[kind])
    for path in sorted(ours, key=lambda one: (one.parent == EXAMPLES, -one.stat().st_size)):
        data = read_data(path)
        found[data.get("kind", kind) if isinstance(data, dict) else kind] = data
    return found
