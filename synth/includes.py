"""Included Verilog files, restricted to the folder of the input."""

import re
from pathlib import Path

from fred_hw.errors import InputError
from fred_hw.reading import read_text

__all__ = ["with_includes"]

_DIRECTIVE = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"'
    r'|(?P<line>^[ \t]*`include[ \t]+"(?P<name>[^"\n]+)"[ \t]*(?://[^\n]*)?$)',
    re.DOTALL | re.MULTILINE,
)
"""Comments and strings, which contain no directives, or include directives on their own line."""


def with_includes(path: Path, max_bytes: int) -> str:
    """Return the text of a Verilog file with included files inserted.

    A file is looked for beside the one that includes it and in the folder of ``path``. What is not
    there, or includes itself, stays a directive, for it may stand in a part that is left out.

    Raises
    ------
    InputError
        A file cannot be read, is outside of the folder of ``path``, or all are larger than
        ``max_bytes``.
    """
    return _Includes(path, max_bytes).text(path, ())


class _Includes:
    def __init__(self, path: Path, max_bytes: int) -> None:
        self._source, self._left = path, max_bytes
        self._root = path.parent.resolve()

    def text(self, path: Path, outer: tuple[Path, ...]) -> str:
        """Return the text of an included file."""
        text = read_text(path, self._left).removeprefix("\ufeff")
        self._left -= len(text.encode())
        name = path.name if outer else "design.v"

        def replaced(found: re.Match[str]) -> str:
            if not found["line"]:
                return found[0]
            line = text.count("\n", 0, found.start()) + 1
            inner = self._find(found["name"], path, line)
            if inner is None or inner in (*outer, path.resolve()):
                return found[0]
            inside = self.text(inner, (*outer, path.resolve()))
            return f'`line 1 "{inner.name}" 1\n{inside}\n`line {line + 1} "{name}" 2'

        return _DIRECTIVE.sub(replaced, text)

    def _find(self, name: str, path: Path, line: int) -> Path | None:
        for folder in (path.parent, self._root):
            place = (folder / name).resolve()
            if self._root not in place.parents:
                message = f"`include must name a file in the folder of the input, not {name!r}"
                raise InputError(str(self._source), f"{path.name} line {line}", message)
            if place.exists():
                return place
        return None
