"""Tests of outputs: whatever a command writes is checked before its work."""

from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import click
import pytest

from fred_cli.options import OutputPath
from tests.fred_cli.walk import commands


def outputs(context: click.Context) -> list[str]:
    """Return the options of a command that name what it writes."""
    return [one.opts[-1] for one in context.command.params if isinstance(one.type, OutputPath)]


OPTIONS = [(words, option) for words, context in commands() for option in outputs(context)]
PAIRS = [
    (words, pair) for words, context in commands() for pair in combinations(outputs(context), 2)
]


def test_all_commands_that_write_are_among_them() -> None:
    assert {
        *(("chakra convert", "--output"), ("cluster", "--csv"), ("cluster", "--chart")),
        *(("gen", "--output"), ("schema", "--output")),
    } <= set(OPTIONS)
    writing = {"cluster", "collective", "estimate", "repurpose", "reproduce", "route"}
    writing |= {"strategies"}
    assert {words for words, _ in PAIRS} == writing


@pytest.mark.parametrize(("words", "option"), OPTIONS)
def test_outputs_are_checked_before_the_work(
    refused: Callable[..., str], words: str, option: str
) -> None:
    # All else that the command needs is missing, so whoever worked before would say that.
    said = option if option.startswith("-") else option.upper()  # of an argument
    for given, message in {
        "": f"error: {said}: must be the name of a ",
        "a-file/x": "must be a folder, not a file",
        "n" * 300: "File name too long",
    }.items():
        assert message in refused(*words.split(), option, given)


@pytest.mark.parametrize("second", ["x", "./x", "folder.yaml/../x", "link"])
@pytest.mark.parametrize(("words", "pair"), PAIRS)
def test_two_outputs_are_two_files_however_they_are_spelt(
    refused: Callable[..., str], place: Path, words: str, pair: tuple[str, str], second: str
) -> None:
    (place / "link").symlink_to("x")
    for one, other in (pair, pair[::-1]):
        said = refused(*words.split(), one, "x", other, second)
        assert said == f"error: {other}: must be another file than {one}"


@pytest.mark.parametrize(
    ("line", "folder"),
    [
        ("sim small.yaml --sim icarus", "sim-results/fred_m3_p4_int8x1/icarus"),
        (
            "sim small.yaml --sim icarus --level switch",
            "sim-results/fred_m3_p4_int8x1/switch/icarus",
        ),
        ("characterize small.yaml --sim icarus", "characterize/fred_m3_p4_int8x1/icarus"),
        ("report --spec small.yaml -o out", "sim-results/fred_m3_p4_int8x1/icarus"),
    ],
)
def test_folders_for_simulations_are_checked_before_the_work(
    refused: Callable[..., str],
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    folder: str,
) -> None:
    def work(*_: object, **__: object) -> None:
        raise AssertionError("the work has begun")

    for where in (
        "testbench.cosimulation.cosimulate_interconnect.generate",
        "fred_cli.report.page.study",
    ):
        monkeypatch.setattr(where, work)
    (place / "build").write_text("")
    assert refused(*line.split()) == f"error: build/{folder}: must be a folder, not a file"
