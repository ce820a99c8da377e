"""Tests of fred_hw.compiler.configuration."""

import json
import random
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fred_hw.compiler.configuration import Configuration
from fred_hw.compiler.shape import code_width, layout, microswitch_counts


def random_word(ports: int, middle_switches: int, rng: random.Random) -> int:
    word, width = 0, code_width(middle_switches)
    for field in layout(ports, middle_switches):
        bits, most = (2, 3) if field.kind == "RD" else (width, middle_switches)
        for offset in range(0, field.width, bits):
            word |= rng.randint(0, most) << (field.offset + offset)
    return word


@given(st.integers(2, 24), st.integers(2, 5), st.randoms(use_true_random=False))
def test_packing_comes_back(ports: int, middle_switches: int, rng: random.Random) -> None:
    word = random_word(ports, middle_switches, rng)
    configuration = Configuration.unpack(word, ports, middle_switches)
    assert configuration.pack() == word
    again = Configuration.from_dict(json.loads(json.dumps(configuration.to_dict())))
    assert again == configuration and hash(again) == hash(configuration)


@pytest.mark.parametrize(
    ("middle_switches", "word"),
    [  # mux, D of outputs 1 and 0, middle subswitches from the last, demux, R of inputs 1 and 0
        (3, "10 11 11  0100 1001 0011  11 10 01"),
        (4, "010 011 011  0000 0100 1001 0011  011 010 001"),
    ],
)
def test_word_is_as_the_contract_lays_it_out(middle_switches: int, word: str) -> None:
    crossings = ((3, 0), (1, 2), (0, 1), (0, 0))[:middle_switches]
    inner = tuple(Configuration(2, middle_switches, crossing=crossing) for crossing in crossings)
    configuration = Configuration(3, middle_switches, ((1, 2),), 3, inner, ((3, 3),), 2)
    assert configuration.pack() == int(word.replace(" ", ""), 2)


def test_idle_is_zero_and_large_switches_are_no_trouble() -> None:
    idle = Configuration.idle(64, 8)
    assert idle.pack() == 0 and idle.is_idle
    assert microswitch_counts(64, 8)["RD"] == 32768
    assert Configuration.unpack(0, 64, 8) == idle
    assert hash(Configuration.idle(64, 8)) == hash(idle)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ((1 << 116, 8, 3), ValueError, "configuration word must have 116 bits, not 117"),
        ((-1, 8, 3), ValueError, "configuration word must be 0 or more, not -1"),
        ((True, 8, 3), TypeError, "configuration word must be an integer, not True"),
        ((0, 1, 3), ValueError, "ports must be 2 or more, not 1"),
        ((0, 8, 1), ValueError, "middle_switches must be 2 or more, not 1"),
        ((3, 4, 2), ValueError, "Configuration inputs must be 0 to 2, not 3"),
        ((3 << 4, 3, 2), ValueError, "Configuration demux must be 0 to 2, not 3"),
        ((3 << 18, 3, 2), ValueError, "Configuration mux must be 0 to 2, not 3"),
    ],
)
def test_bad_word_is_refused(arguments: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{re.escape(message)}$"):
        Configuration.unpack(*arguments)


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"inputs": ()}, ValueError, "Configuration inputs must have 1 pairs, not 0"),
        ({"outputs": ((0, 4),)}, ValueError, "Configuration outputs must be 0 to 3, not 4"),
        ({"inputs": ((0, True),)}, TypeError, "Configuration inputs must be an integer, not True"),
        ({"demux": None}, TypeError, "Configuration demux must be an integer, not None"),
        ({"crossing": (0, 0)}, ValueError, "Configuration crossing must have 0 pairs, not 1"),
        (
            {"subswitches": ()},
            ValueError,
            (
                "Configuration subswitches must have (ports, middle_switches) "
                "[(2, 3), (2, 3), (2, 3)], not []"
            ),
        ),
    ],
)
def test_bad_part_is_refused(changes: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{re.escape(message)}$"):
        replace(Configuration.idle(3, 3), **changes)


@pytest.mark.parametrize("middle_switches", [2, 3, 5])
def test_crossing_has_four_codes_whatever_the_middle_switches(middle_switches: int) -> None:
    for code in range(4):
        assert Configuration(2, middle_switches, crossing=(code, 3 - code)).pack() < 16
    for crossing, code in (((0, 4), 4), ((-1, 0), -1)):
        message = f"^Configuration crossing must be 0 to 3, not {code}$"
        with pytest.raises(ValueError, match=message):
            Configuration(2, middle_switches, crossing=crossing)


def test_even_switch_has_no_demultiplexer() -> None:
    with pytest.raises(ValueError, match=r"^Configuration mux must be None for even ports, not 0$"):
        replace(Configuration.idle(4, 3), mux=0)


@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        (3, TypeError, "Configuration must be a mapping, not 3"),
        ({}, ValueError, "Configuration must have keys middle_switches, ports, not []"),
        (
            {"ports": 2, "middle_switches": 3, "mux": 0},
            ValueError,
            (
                "Configuration must have keys crossing, middle_switches, ports, "
                "not ['middle_switches', 'mux', 'ports']"
            ),
        ),
        (
            {"ports": 2, "middle_switches": 3, "crossing": [1]},
            ValueError,
            "Configuration crossing must be pairs of codes, not [1]",
        ),
        (
            {"ports": 2, "middle_switches": 3, "crossing": 1},
            TypeError,
            "Configuration crossing must be a list, not 1",
        ),
    ],
)
def test_bad_mapping_is_refused(data: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{re.escape(message)}$"):
        Configuration.from_dict(data)
