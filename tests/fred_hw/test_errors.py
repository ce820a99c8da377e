"""Tests of fred_hw.errors."""

import pytest

from fred_hw.errors import LINE, InputError, one_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("must be\n  1,\tnot 2", "must be 1, not 2"),
        ("\x1b[2Jgone", r"\x1b[2Jgone"),
        ("\u202eright to left", r"\u202eright to left"),
        ("\udcff of a name", r"\udcff of a name"),
        ("Größe µ", "Größe µ"),
        (r"a \n that is written", r"a \n that is written"),
    ],
    ids=["lines", "escape", "direction", "surrogate", "letters", "backslash"],
)
def test_no_terminal_obeys_a_line(text: str, line: str) -> None:
    assert one_line(text) == line == one_line(line)


@pytest.mark.parametrize("limit", [20, 100])
@pytest.mark.parametrize("length", [19, 20, 21, 100, 101, 5_000_000])
def test_what_is_too_long_lacks_its_middle(length: int, limit: int) -> None:
    text = "must be a, not " + (length - 15) * "b"
    line = one_line(text, limit)
    assert len(line) == min(length, limit)
    assert line == text or (line.startswith("must be a,") and line.endswith("bb") and "..." in line)


@pytest.mark.parametrize("long", ["source", "field", "message"])
def test_a_line_keeps_source_field_and_both_ends_of_the_message(long: str) -> None:
    parts = {"source": "a.yaml", "field": "l1.0", "message": "must be 1, not 2"}
    parts[long] = f"must{5000 * '!'}2"
    error = InputError(**parts)
    assert len(f"error: {error}") <= LINE
    for part in parts.values():
        assert part[:4] in str(error)
    assert str(error).endswith("2")
    assert error.source == parts["source"]
