"""The fenced blocks of every page are closed, labelled and hold one command per line."""

import re
from collections.abc import Iterator

import pytest
from markdown_it import MarkdownIt

from .pages import PAGES, ROOT

_MARKDOWN = re.compile(r"\s*(?:[*+-] |\d+\. |\|)")
"""A line of a list or of a table."""


def mistakes(text: str) -> Iterator[str]:
    """Yield what is wrong with the fenced blocks of a page, a line for each mistake."""
    lines = text.splitlines()
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type != "fence" or not token.map:
            continue
        first, end = token.map
        closing = lines[end - 1].strip(" >")
        # Without a closing fence, the block takes the rest of the page or of the list item.
        if end - first < 2 or closing.strip(token.markup[0]) or len(closing) < len(token.markup):
            yield f"line {first + 1}: fence is not closed"
        for number, line in enumerate(token.content.splitlines(), first + 2):
            if not token.info.strip() and _MARKDOWN.match(line):
                yield f"line {number}: list or table inside a fence without a language"
            if token.info.strip() == "console" and " $ " in line.partition("$ ")[2]:
                yield f"line {number}: second command on a line"


@pytest.mark.parametrize("page", PAGES)
def test_fences_of_a_page_are_closed_and_hold_what_they_say(page: str) -> None:
    assert [*mistakes((ROOT / page).read_text("utf-8"))] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("```console\n$ ls\n```\n\n* item\n", []),
        ("```yaml\n- item\n```\n", []),
        ("* item\n\n  ```text\n  | a |\n  ```\n", []),
        ("```console\n$ ls\n\n# Heading\n", ["line 1: fence is not closed"]),
        ("text\n\n```", ["line 3: fence is not closed"]),
        ("* item\n\n  ```text\n  a\n\ntext\n", ["line 3: fence is not closed"]),
        ("```\n* item\n```\n", ["line 2: list or table inside a fence without a language"]),
        ("```\na\n| b |\n```\n", ["line 3: list or table inside a fence without a language"]),
        ("```console\n$ ls $ cat file\n```\n", ["line 2: second command on a line"]),
    ],
    ids=["closed", "yaml", "in a list", "open", "last line", "item", "list", "table", "commands"],
)
def test_mistakes_in_fences_are_found(text: str, found: list[str]) -> None:
    assert [*mistakes(text)] == found
