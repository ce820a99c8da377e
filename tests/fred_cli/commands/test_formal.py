"""Tests of `fred formal`."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fred_cli.main import main
from testbench.formal.property import PROPERTIES, Bound, Property

NAME = "fifo-keeps-order"


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs the command, and returns status and outputs."""

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["fred", "formal", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    monkeypatch.chdir(tmp_path)
    return run


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


def test_formal_prints_proofs_and_writes_them(run: Any) -> None:
    status, said, _ = run(NAME, "--output", "proofs.json")
    assert status == 0
    assert "all 1 properties hold" in said
    assert "proven" in said and "induction" in said and "refuted in 2" in said
    written = json.loads(Path("proofs.json").read_text())
    assert written["failed"] == []
    (one,) = written["properties"]
    assert (one["name"], one["unit"], one["holds"]) == (NAME, "fifo_w2_d4", True)
    assert one["covers"] == {"full": 5, "followed_word_leaves": 2}


def test_formal_prints_a_counterexample(run: Any, refuted: str) -> None:
    status, said, _ = run(refuted)
    assert status == 1
    assert "counterexample of never_two" in said
    assert f"failed: {refuted}" in said
    rows = [line.split() for line in said.splitlines()]
    assert next(row for row in rows if row[:1] == ["used"])[2:] == ["0", "1", "2"]


def test_formal_lists_properties(run: Any) -> None:
    status, said, _ = run("--list", "--json")
    assert status == 0
    assert json.loads(said)["properties"] == {name: one.shows for name, one in PROPERTIES.items()}


def test_formal_refuses_an_unknown_property(run: Any) -> None:
    status, said, wrong = run("fifo-keep-order")
    assert (status, said) == (2, "")
    assert wrong.startswith("error: NAME: must be one of the ")
    assert wrong.endswith("did you mean 'fifo-keeps-order'?\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--list", "-o", "list.json"), "formal: --output: must be given without --list"),
        (("fifo-keeps-order", "--fast"), "formal: --fast: must be given without NAME"),
    ],
)
def test_formal_refuses_options_that_do_not_apply(
    words: tuple[str, ...], message: str, run: Any
) -> None:
    assert run(*words) == (2, "", f"error: {message}\n")
