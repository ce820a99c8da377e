"""Tests of studies.study.axes."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fred_hw.errors import InputError
from studies.study.axes import values_of


def values(given: object, seed: int = 1, name: str = "npu.peak_flops") -> list[Any]:
    return values_of(given, name, seed, "s.yaml")


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (3, [3]),
        (["a", None, True], ["a", None, True]),
        ({"range": [1, 4], "step": 1}, [1, 2, 3, 4]),
        ({"range": [1, 4], "step": 2}, [1, 3]),
        ({"range": [0.0, 0.3], "step": 0.1}, pytest.approx([0, 0.1, 0.2, 0.3])),
        ({"range": [2, 2], "step": 1}, [2]),
        ({"log_range": [1.0, 1000.0], "points": 4}, pytest.approx([1, 10, 100, 1000])),
        ({"log_range": [1, 16], "points": 5, "integer": True}, [1, 2, 4, 8, 16]),
        ({"log_range": [1, 4], "points": 9, "integer": True}, [1, 2, 3, 4]),
        ({"log_range": [5e11, 8e12], "points": 1}, [5e11]),
        ({"log_range": [1, 10**30], "points": 2}, [1.0, 1e30]),
    ],
)
def test_values(said: object, expected: object) -> None:
    assert values(said) == expected


def test_integers_of_a_range_stay_integers() -> None:
    assert all(isinstance(one, int) for one in values({"range": [1, 9], "step": 2}))


@settings(max_examples=30)
@given(st.floats(1, 1e12), st.floats(1.01, 1e3), st.integers(2, 50))
def test_log_ranges_have_both_ends_and_equal_ratios(low: float, ratio: float, points: int) -> None:
    found = values({"log_range": [low, low * ratio], "points": points})
    assert (found[0], found[-1], len(found)) == (low, low * ratio, points)
    ratios = [b / a for a, b in pairwise(found)]
    assert ratios == pytest.approx([ratio ** (1 / (points - 1))] * (points - 1))


@pytest.mark.parametrize(
    ("said", "mean"),
    [
        ({"distribution": "normal", "mean": 5, "std": 2}, 5),
        ({"distribution": "uniform", "low": 2, "high": 4}, 3),
        ({"distribution": "loguniform", "low": 1, "high": 100}, 99 / 4.605),
    ],
)
def test_random_values_follow_from_the_seed_and_the_field(
    said: dict[str, Any], mean: float
) -> None:
    said = {**said, "samples": 4000}
    found = values(said)
    assert found == values(said)
    assert found != values(said, seed=2)
    assert found != values(said, name="npu.hbm_bytes")
    assert sum(found) / len(found) == pytest.approx(mean, rel=0.06)
    if "low" in said:
        assert said["low"] <= min(found) < max(found) <= said["high"]


_NORMAL = {"distribution": "normal", "mean": 5, "samples": 3}


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ([], ": must have 1 or more values, not []"),
        ([1, 2, 1], ": must have each value once, not 1 twice"),
        ([[1]], ": must be text, numbers, true or false, not [1]"),
        ({"from": 1}, ": must be a value, a list or a mapping with range, log_range, distribution"),
        ({"range": [3, 1], "step": 1}, ".range: must have its smaller value first, not [3, 1]"),
        ({"range": [3], "step": 1}, ".range: must have a first and a last value, not 1 values"),
        ({"range": [1, 3], "step": 0}, ".step: must be above 0, not 0"),
        ({"range": [1, 3], "step": 1e-9}, ".step: must give at most 1,000,000 values, not 1e-09"),
        ({"log_range": [0, 3], "points": 2}, ".log_range: must be above 0, not 0"),
        (
            {"log_range": [1, 3], "points": 0},
            ".points: must be an integer from 1 to 1000000, not 0",
        ),
        ({**_NORMAL, "std": -1}, ".std: must be above 0, not -1"),
        ({**_NORMAL, "std": 0}, ".std: must be above 0, not 0"),
        (_NORMAL, ".std: must be given with normal"),
        ({**_NORMAL, "std": 1, "low": 1}, ".low: must not be given with normal"),
        (
            {"distribution": "uniform", "low": 4, "high": 2, "samples": 3},
            ".high: must be above low, 4, not 2",
        ),
        (
            {"distribution": "loguniform", "low": 0, "high": 2, "samples": 3},
            ".low: must be above 0 with loguniform, not 0",
        ),
    ],
)
def test_bad_values_are_refused(said: object, line: str) -> None:
    with pytest.raises(InputError) as refused:
        values(said)
    assert str(refused.value) == f"s.yaml: space.npu.peak_flops{line}"


def test_an_unknown_key_of_a_rule_is_named() -> None:
    with pytest.raises(InputError, match=r"peak_flops\.stp: unknown key; .*did you mean 'step'\?"):
        values({"range": [1, 3], "step": 1, "stp": 1})
