"""Tests of docs.sentences; ``make check`` runs it on all pages."""

from pathlib import Path

import pytest

from docs import sentences
from docs.generate.pages import PAGES
from docs.sentences import CELL_LIMIT, LIMIT, long_sentences

LONG = " ".join(["word"] * (LIMIT + 1))


def of(text: str) -> list[tuple[int, str]]:
    return [(line, sentence) for line, sentence, _ in sentences.sentences(text)]


def test_sentences_are_those_of_paragraphs_lists_and_headings() -> None:
    page = "# Title\n\nOne *thing* is\nhere. Another (e.g. `a  b`), too!\n\n* An item; Two parts\n"
    assert of(page) == [
        (1, "Title"),
        (3, "One thing is here."),
        (3, "Another (e.g. `a_b`), too!"),
        (6, "An item;"),
        (6, "Two parts"),
    ]


@pytest.mark.parametrize(
    "page",
    [f"```\n{LONG}\n```\n", f"<!-- {LONG} -->\n", f"    {LONG}\n"],
    ids=["fence", "comment", "indented"],
)
def test_code_and_comments_have_no_sentences(page: str) -> None:
    assert not any("word" in sentence for _, sentence in of(page))


def test_sentences_over_the_limit_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sentences, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(f"Short.\n\n{LONG[5:]} — `{LONG}`.\n\n{LONG}. Café.\n", "utf-8")
    assert long_sentences([page]) == [
        f"page.md:3: {LIMIT + 1} words: {LONG[5:]} — `{LONG.replace(' ', '_')}`.",
        f"page.md:5: {LIMIT + 1} words: {LONG}.",
    ]


def test_cells_of_tables_have_a_limit_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sentences, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    most, over = (" ".join(["word"] * words) for words in (CELL_LIMIT, CELL_LIMIT + 1))
    page.write_text(f"| a | b |\n| --- | --- |\n| {most}. | {most} |\n| c | {over} |\n\n{LONG}\n")
    assert long_sentences([page]) == [
        f"page.md:4: {CELL_LIMIT + 1} words: {over}",
        f"page.md:6: {LIMIT + 1} words: {LONG}",
    ]


def test_pages_are_those_written_by_hand() -> None:
    found = {*sentences.written_pages()}
    assert not found & set(PAGES)
    names = {str(page.relative_to(sentences.ROOT)) for page in found}
    assert {"README.md", "docs/reference/link.md", "docs/how-to/commands.md"} <= names
    assert not names & {"docs/reference/registers.md", "docs/reference/files.md"}
