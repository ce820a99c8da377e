"""Tests of synth.boolean."""

import pytest

from synth.boolean import truth_table


@pytest.mark.parametrize(
    ("function", "values"),
    [
        ("A", [0, 1, 0, 1]),
        ("!A", [1, 0, 1, 0]),
        ("A'", [1, 0, 1, 0]),
        ("(A * B)", [0, 0, 0, 1]),
        ("A & B", [0, 0, 0, 1]),
        ("A B", [0, 0, 0, 1]),
        ("!(A*B)", [1, 1, 1, 0]),
        ("(!A) + (!B)", [1, 1, 1, 0]),
        ("(A B)'", [1, 1, 1, 0]),
        ("A | B", [0, 1, 1, 1]),
        ("A ^ B", [0, 1, 1, 0]),
        ("!A B + A !B", [0, 1, 1, 0]),
        ("A + B A'", [0, 1, 1, 1]),
        ("A ^ B + A B", [0, 1, 1, 1]),
        ("1", [1, 1, 1, 1]),
        ("0", [0, 0, 0, 0]),
    ],
)
def test_operators_are_those_of_liberty(function: str, values: list[int]) -> None:
    assert truth_table(function, ["A", "B"]) == tuple(map(bool, values))


@pytest.mark.parametrize("function", ["", "C", "A +", "(A", "A)", "A ? B", "IQ", "!", "A % B"])
def test_what_is_no_function_of_the_inputs_has_no_table(function: str) -> None:
    assert truth_table(function, ["A", "B"]) is None


@pytest.mark.parametrize("opening", ["(", "!"])
def test_what_is_too_deep_has_no_table(opening: str) -> None:
    assert truth_table(opening * 100_000 + "A", ["A"]) is None
