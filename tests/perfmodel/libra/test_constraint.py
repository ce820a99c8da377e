"""Tests of perfmodel.libra.constraint."""

import pytest

from perfmodel.libra.constraint import Constraint, names_of, parse_constraint

NAMES = names_of((1e-6, 3e-6), 2)


def parse(text: str) -> tuple[Constraint, ...]:
    """Return the constraints of a text on two dimensions."""
    return parse_constraint(text, NAMES, 2)


@pytest.mark.parametrize(
    ("text", "factors", "equal", "bound"),
    [
        ("b0 + b1 <= 500", (1, 1), False, 500),
        ("total = 500", (1, 1), True, 500),
        ("total == 5e2", (1, 1), True, 500),
        ("b0 >= b1", (-1, 1), False, 0),
        ("2 b0 - 3*b1 + 7 <= b1 - .5", (2, -4), False, -7.5),
        ("-b0 <= -20", (-1, 0), False, -20),
        ("100 >= b1", (0, 1), False, 100),
        ("b0 + b0 <= 4", (2, 0), False, 4),
    ],
)
def test_text_becomes_a_linear_constraint(
    text: str, factors: tuple[float, ...], equal: bool, bound: float
) -> None:
    [found] = parse(text)
    assert [one * 1e9 for one in found.factors] == pytest.approx(factors)
    assert (found.equal, found.bound, found.text) == (equal, bound, text)


def test_cost_is_in_dollars() -> None:
    [found] = parse("cost <= 1e6")
    assert (found.factors, found.bound) == ((1e-6, 3e-6), 1e6)


def test_chain_becomes_a_constraint_between_each_two() -> None:
    first, second = parse("b0 >= 2 b1 >= 40")
    assert first.text == second.text == "b0 >= 2 b1 >= 40"
    assert [one * 1e9 for one in first.factors] == [-1, 2]
    assert [one * 1e9 for one in second.factors] == [0, -2] and second.bound == -40


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must be a constraint like b0 + b1 <= 500, not '' without <=, >= or ="),
        ("b0 + b1", "must be a constraint like b0 + b1 <= 500, not 'b0 + b1' without <=, >= or ="),
        ("b0 < 5", "must be a constraint like b0 + b1 <= 500, not '< 5'"),
        ("b0 = b2", "must use the names b0, b1, total, cost, not 'b2' in 'b0 = b2'"),
        ("b0 b1 = 5", "must have terms like 2 b0, b0 or 4, not 'b0 b1' in 'b0 b1 = 5'"),
        ("b0 =", "must have terms like 2 b0, b0 or 4, not 'nothing' in 'b0 ='"),
        ("b0 + = 4", "must have terms like 2 b0, b0 or 4, not 'nothing' in 'b0 + = 4'"),
        ("b0 = * 4", "must have terms like 2 b0, b0 or 4, not '* 4' in 'b0 = * 4'"),
        ("2 * 3 = b0", "must have terms like 2 b0, b0 or 4, not '2 * 3' in '2 * 3 = b0'"),
        ("b0 * 2 = 3", "must have terms like 2 b0, b0 or 4, not 'b0 * 2' in 'b0 * 2 = 3'"),
        ("b0 - - 2 = 3", "must have terms like 2 b0, b0 or 4, not 'nothing' in 'b0 - - 2 = 3'"),
        ("3 <= 4", "must bound a bandwidth, not '3 <= 4'"),
        ("b0 <= b0 + 4", "must bound a bandwidth, not 'b0 <= b0 + 4'"),
        ("b0 <= 1e999", "must have numbers below 1e308, not 'b0 <= 1e999'"),
        ("b0 + " * 300 + "b0 = 1", "must have at most 1000 characters, not 1506"),
    ],
)
def test_other_texts_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011
        parse(text)
    assert str(error.value) == message


def test_cost_needs_prices() -> None:
    with pytest.raises(ValueError, match=r"^must use the names b0, total, not 'cost' in"):
        parse_constraint("cost <= 5", names_of(None, 1), 1)
