"""The pages that users read, and what stands in them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.fred_cli.walk import commands as walked

__all__ = ["PAGES", "ROOT", "SAVED", "Block", "Shown", "blocks", "commands", "inline", "prose"]

ROOT = Path(__file__).parents[2]
PAGES = [
    str(path.relative_to(ROOT))
    for path in (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
    if path.name != "files.md"  # sentences of docstrings
]

SAVED = "docs/how-to/agents.md"
"""A guide whose blocks are files and commands in their order, as those of tutorials are."""

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: the page, its language, its text, and what the page says after it."""

    page: str
    language: str
    text: str
    after: str


@dataclass(frozen=True)
class Shown:
    """A command, without its comment, and the output shown below it, None where there is none."""

    command: str
    output: str | None = None
    status: int = 0


def _text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str, *languages: str) -> list[Block]:
    """Return the fenced blocks of a page that are in one of the languages."""
    text = _text(page)
    return [
        Block(page, found[1], found[2], text[found.end() :])
        for found in _FENCE.finditer(text)
        if found[1] in languages
    ]


def prose(page: str) -> str:
    """Return a page without its fenced blocks."""
    return _FENCE.sub("", _text(page))


def inline(page: str) -> list[str]:
    """Return what stands in backticks, each once, with line ends as spaces."""
    return sorted({" ".join(found.split()) for found in re.findall(r"`([^`]+)`", prose(page))})


def commands(page: str) -> Iterator[Shown]:
    """Yield the commands of a page: lines `$ ...` of console blocks, and those in backticks.

    A comment ``# exit status N`` behind a command says how it ends. In backticks, ``fred`` with
    nothing but the name of a command behind it is that name, not a command to type.
    """
    for block in blocks(page, "console"):
        for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            line, _, output = part.partition("\n")
            command, _, comment = line.partition(" # ")
            status = re.search(r"exit status (\d)", comment)
            yield Shown(command.strip(), output or None, int(status[1]) if status else 0)
    for text in inline(page):
        typed = re.match(r"(fred|python -m) \S+ \S|\.venv/bin/\w+ \S|make \S", text)
        if typed and text not in _names():
            yield Shown(text)


@cache
def _names() -> frozenset[str]:
    return frozenset(f"fred {words}" for words, _ in walked())
