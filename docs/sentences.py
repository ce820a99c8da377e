"""Report sentences of the documentation that are longer than the limit of their place.

Run as ``python -m docs.sentences``; the exit status is 1 if there are any.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from docs.generate.pages import PAGES

__all__ = ["CELL_LIMIT", "LIMIT", "long_sentences", "sentences", "written_pages"]

ROOT = Path(__file__).parents[1]
LIMIT = 25
"""Words of the longest sentence in a paragraph, list or heading."""
CELL_LIMIT = 35
"""Words of the longest sentence in a cell of a table, where lists stand in one sentence."""

_REGISTERS = ROOT / "docs/reference/registers.md"  # written by python -m gen.registers
_END = re.compile(r"(?<=[.?!:;])\s+(?=[A-Z0-9`*(\[\"'])")
_ABBREVIATED = re.compile(r"\b(?:e\.g|i\.e|et al|vs|cf|Fig|Sec|No)\.$")


def sentences(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield the sentences of a Markdown page outside code.

    Parameters
    ----------
    text : str
        The page.

    Yields
    ------
    (int, str, int)
        Line of the paragraph or row, from 1, a sentence of it without markup, and the limit of its
        length in words.
    """
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    limit, line = LIMIT, 1
    for token in tokens:
        if token.type in ("table_open", "table_close"):
            limit = CELL_LIMIT if token.type == "table_open" else LIMIT
        line = token.map[0] + 1 if token.map else line  # cells have no line: that of their row
        if token.type == "inline":
            begun = ""
            for part in _END.split(_plain(token)):
                begun = f"{begun} {part}".strip()
                if not _ABBREVIATED.search(begun):
                    yield line, begun, limit
                    begun = ""
            if begun:
                yield line, begun, limit


def long_sentences(pages: list[Path]) -> list[str]:
    """Return a line ``PAGE:LINE: N words: SENTENCE`` for each sentence over the limit."""
    found: list[str] = []
    for page in pages:
        for line, sentence, limit in sentences(page.read_text("utf-8")):
            words = len([word for word in sentence.split() if re.search(r"\w", word)])
            if words > limit:
                found.append(f"{page.relative_to(ROOT)}:{line}: {words} words: {sentence}")
    return found


def _plain(token: Token) -> str:
    """Return the text of an inline token: a piece of code counts as one word."""
    shown = {"softbreak": " ", "hardbreak": " "}
    return "".join(
        f"`{'_'.join(child.content.split())}`"
        if child.type == "code_inline"
        else shown.get(child.type, child.content)
        for child in token.children or []
        if child.type not in ("link_open", "link_close", "image", "html_inline")
    )


def written_pages() -> list[Path]:
    """Return the pages that are written by hand."""
    own = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    generated = {*PAGES, _REGISTERS}
    return own + [page for page in sorted((ROOT / "docs").rglob("*.md")) if page not in generated]


if __name__ == "__main__":
    lines = long_sentences(written_pages())
    said = (
        "\n".join(lines) or f"no sentence is longer than {LIMIT} words, or {CELL_LIMIT} in tables"
    )
    sys.stdout.write(f"{said}\n")
    sys.exit(bool(lines))
