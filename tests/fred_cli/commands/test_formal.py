"""Tests of `fred formal`."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from testbench.formal.property import PROPERTIES, Bound, Property
from tests.fred_cli.fred import Fred

NAME = "fifo-keeps-order"


@pytest.fixture
def refuted() -> Iterator[str]:
    """Lend a property that does not hold."""
    fifo = PROPERTIES[NAME]

    def conditions(c: Any, u: Any) -> None:
        c.check("never_two", u.used < 2)
        c.cover("one", u.used == 1)

    one = Property("never-two", fifo.unit, "", "", conditions, fifo.mutant, Bound(3, ""))
    with PROPERTIES.lending(one.name, one):
        yield one.name


def test_formal_prints_proofs_and_writes_them(fred: Fred, place: Path) -> None:
    said = fred.out("formal", NAME, "--output", "proofs.json")
    assert said.endswith("passed: 1 of 1\n")
    assert "proven" in said and "induction" in said and "refuted in 2" in said
    written = json.loads((place / "proofs.json").read_text())
    assert written["failed"] == []
    (one,) = written["properties"]
    assert (one["name"], one["unit"], one["holds"]) == (NAME, "fifo_w2_d4", True)
    assert one["covers"] == {"full": 5, "followed_word_leaves": 2}


def test_formal_prints_a_counterexample(fred: Fred, refuted: str) -> None:
    status, said, _ = fred("formal", refuted)
    assert status == 1
    assert "counterexample of never_two" in said
    assert said.endswith(f"failed: {refuted}\n")
    rows = [line.split() for line in said.splitlines()]
    assert next(row for row in rows if row[:1] == ["used"])[2:] == ["0", "1", "2"]


def test_formal_lists_properties(fred: Fred) -> None:
    found = fred.json("formal", "--list")
    assert found == {"properties": {name: one.shows for name, one in PROPERTIES.items()}}


def test_formal_refuses_an_unknown_property(refused: Callable[..., str]) -> None:
    wrong = refused("formal", "fifo-keep-order")
    assert wrong.startswith("error: NAME: must be one of the ")
    assert wrong.endswith("did you mean 'fifo-keeps-order'?")


def test_formal_refuses_a_file_in_place_of_its_folder(
    place: Path, refused: Callable[..., str]
) -> None:
    (place / "build").mkdir()
    (place / "build/formal").write_text("")
    assert refused("formal", NAME) == "error: build/formal: must be a folder, not a file"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--list", "-o", "list.json"), "formal: --output: must be given without --list"),
        (("fifo-keeps-order", "--fast"), "formal: --fast: must be given without NAME"),
    ],
)
def test_formal_refuses_options_that_do_not_apply(
    words: tuple[str, ...], message: str, refused: Callable[..., str]
) -> None:
    assert refused("formal", *words) == f"error: {message}"
