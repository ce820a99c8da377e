"""Tests of fred_hw.compiler.connections."""

import re

import pytest

from fred_hw.compiler.connections import (
    BOTH,
    connections,
    every_connection,
    kept_connections,
    made_by,
)
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.routing import route


@pytest.mark.parametrize(
    ("kind", "word", "made"),
    [
        ("R", 0b1001, {(1, 0), (2, 1)}),
        ("R", 0b1111, {(BOTH, 2)}),
        ("R", 0b0100, {(2, 0)}),
        ("R", 0b0000, set()),
        ("demux", 0b11, {(1, 2)}),
        ("D", 0b1010, {(2, 0), (2, 1)}),
        ("mux", 0b01, {(1, 0)}),
        ("RD", 0b1001, {(1, 0), (2, 1)}),
        ("RD", 0b1111, {(BOTH, 0), (BOTH, 1)}),
        ("RD", 0b0111, {(BOTH, 0)}),  # a reduction occupies the whole micro-switch
    ],
)
def test_connections_are_those_of_the_state(
    kind: str, word: int, made: set[tuple[int, int]]
) -> None:
    assert set(connections(kind, word, 3)) == made


def test_codes_above_the_number_of_subswitches_are_idle() -> None:
    assert set(connections("R", 0b1101, 2)) == {(1, 0)}
    assert not set(connections("D", 0b1111, 2))


@pytest.mark.parametrize("kind", ["R", "D", "RD", "demux", "mux"])
@pytest.mark.parametrize("middle_switches", [2, 3])
def test_some_state_makes_each_connection(kind: str, middle_switches: int) -> None:
    width = {"RD": 2}.get(kind, middle_switches.bit_length())
    codes = range(4 if kind == "RD" else middle_switches + 1)
    highs = [0] if kind in ("demux", "mux") else codes
    words = [low | high << width for low in codes for high in highs]
    found = {one for word in words for one in connections(kind, word, middle_switches)}
    assert found == every_connection(kind, middle_switches)


def test_made_by_joins_configurations_by_path() -> None:
    words = []
    for flow in (Flow([0], [3]), Flow([0, 1], [0])):
        configuration = route((flow,), 4, 2).configuration
        assert configuration is not None
        words.append(configuration.pack())
    made = made_by(words, 4, 2)
    assert made["r_0"] == {(1, 0), (BOTH, 0)}
    assert made["d_1"] == {(1, 1)} and made["d_0"] == {(1, 0)}
    assert made["r_1"] == made["middle_1.rd"] == frozenset()


def test_a_connection_that_a_microswitch_lacks_is_refused() -> None:
    message = "Multiplexer connections must be some of [(1, 0), (2, 0)], not [(1, 1)]"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        kept_connections("Multiplexer", "mux", 2, [(1, 1)])
