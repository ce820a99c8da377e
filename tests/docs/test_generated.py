"""Tests of docs.generate: what is committed is what the hardware and its docstrings give."""

from pathlib import Path

import pytest

from docs.generate.__main__ import documents

DOCUMENTS = documents()


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_committed_page_or_figure_is_fresh(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == DOCUMENTS[path], "make docs writes it"


def test_every_figure_is_generated() -> None:
    folder = next(iter(DOCUMENTS)).parent
    assert folder.name == "figures"
    assert {path for path in folder.iterdir() if path.suffix == ".svg"} <= set(DOCUMENTS)
