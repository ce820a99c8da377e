"""Tests of studies.study.constraints."""

from typing import Any

import pytest

from fred_hw.errors import InputError
from studies.study.constraints import parse_constraint

FIELDS: dict[str, Any] = {
    "mp": 2,
    "dp": 5,
    "npus": 10,
    "topology": "fred-d",
    "topology.l1.0.npus": 4,
    "topology.l1_l2_bytes_per_s": 3e12,
}


def holds(text: str) -> bool:
    return parse_constraint(text, "s.yaml", "constraints.0").holds(FIELDS.get)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("npus == mp * dp", True),
        ("npus > mp * dp", False),
        ("topology.l1_l2_bytes_per_s / 1e12 <= 3 and mp in (1, 2)", True),
        ("topology.l1[0].npus == 4", True),
        ("topology != 'fred-d' or topology.l1_l2_bytes_per_s > 4e12", False),
        ("not (log2(mp) == 1)", False),
        ("max(mp, dp) == 5 if npus else mp == 1", True),
        ("missing == 3", False),
    ],
)
def test_expressions(text: str, expected: bool) -> None:
    assert holds(text) is expected


def test_names_are_dotted_paths() -> None:
    found = parse_constraint("a.b[1].c == d and min(e, 2) == 2", "s.yaml", "c")
    assert found.names == ("a.b.1.c", "d", "e")
    with pytest.raises(InputError, match=r"^s\.yaml: c: must name fields of a point, not 'd'"):
        found.check_names({"a.b.1.c", "e"})


@pytest.mark.parametrize(
    "text",
    [
        "mp ==",
        "mp = 3",
        "mp == 1or dp == 5",
        "__import__('os').system('true')",
        "().__class__",
        "'a'.upper() == 'A'",
        "[x for x in (1, 2)]",
        "lambda: 1",
        "open('/etc/passwd') == 1",
        "(1).real",
        "mp[dp] == 1",
        "9 ** 9 ** 9 ** 9 > 1",
        "'a' * 10 ** 9 == 1",
        "mp / 0 == 1",
        "mp + topology == 1",
        "mp * dp",
        "missing > 3",
        "f'{mp}'",
        "1" + "+1" * 600,
    ],
)
def test_what_is_no_expression_over_fields_is_refused_in_a_line(text: str) -> None:
    with pytest.raises(InputError, match=r"^s\.yaml: constraints\.0: must "):
        holds(text)
