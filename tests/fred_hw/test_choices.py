"""Tests of fred_hw.choices: which names are found and suggested, and what messages say."""

import pytest

from fred_hw.choices import did_you_mean, find_choice, not_one_of

NAMES = ("all_reduce", "all_gather", "gpt-3", "FIFO")


@pytest.mark.parametrize(
    ("value", "found"),
    [("ALL_REDUCE", "all_reduce"), ("fifo", "FIFO"), ("gpt3", None), (3, None), ("", None)],
)
def test_case_does_not_matter(value: object, found: str | None) -> None:
    assert find_choice(value, NAMES) == found


@pytest.mark.parametrize(
    ("value", "suggested"),
    [
        ("allreduce", "all_reduce"),
        ("GPT3", "gpt-3"),
        ("all-gathr", "all_gather"),
        ("all gather", "all_gather"),
    ],
)
def test_close_names_are_suggested(value: str, suggested: str) -> None:
    assert did_you_mean(value, NAMES) == f"; did you mean {suggested!r}?"


def test_all_names_with_the_given_beginning_are_suggested() -> None:
    formats = ("fp16", "fp8_e4m3", "fp8_e5m2", "int8")
    assert did_you_mean("fp8", formats) == "; did you mean 'fp8_e4m3' or 'fp8_e5m2'?"
    assert did_you_mean("", formats[:3]) == ""


@pytest.mark.parametrize("value", ["bert", "", 3, None, "all_reduce" * 20])
def test_nothing_is_suggested_where_nothing_is_close(value: object) -> None:
    assert did_you_mean(value, NAMES) == ""


def test_message_lists_the_choices_or_names_the_command_that_does() -> None:
    assert not_one_of("x", ("a", "b")) == "must be one of a, b, not 'x'"
    assert (
        not_one_of("x", ("a", "b"), otherwise="or a file")
        == "must be one of a, b or a file, not 'x'"
    )
    many = [f"name-{k}" for k in range(20)]
    assert not_one_of("x", many, listed_by="fred presets") == (
        "must be one of the 20 names that 'fred presets' lists, not 'x'"
    )
    assert not_one_of("x", many) == f"must be one of {', '.join(many)}, not 'x'"
