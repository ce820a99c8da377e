"""Every key of every file is on docs/reference/yaml-keys.md, with all that is promised of it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from docs.generate.reference import models
from fred_cli.schemas.file_kind import FILES

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "yaml-keys.md").read_text(
    encoding="utf-8"
)
UNITS = {
    r"bytes_per_s|flops|bandwidth|mem-bw|node-bw": r"B/s|FLOP/s|10\^9 B/s|2\^30 B/s|bytes per ns",
    r"(?:^|_)bytes$|piece-size": r"B",
    r"latency_s$": r"s",
    r"_cycles$": r"cycles",
    r"(?<!reduction)-(?:latency|delay)$": r"ns",
}
"""Units by what keys are called; those of a delay without effect have none."""


def rows() -> Iterator[tuple[str, str, list[str]]]:
    """Yield the kind, the table and the cells of each row."""
    kind = table = ""
    for line in PAGE.splitlines():
        if line.startswith("## "):
            kind = line[3:]
        elif line.startswith("### "):
            table = line[4:]
        elif line.startswith("| `"):
            yield kind, table, [cell.strip() for cell in line.strip("|").split(" | ")]


ROWS = list(rows())


def test_every_key_has_type_default_example_and_meaning() -> None:
    lacking = [
        (kind, table, cells[0])
        for kind, table, cells in ROWS
        if len(cells) != 7 or not all(cells[n] for n in (0, 1, 4, 5, 6)) or cells[5] == "`null`"
    ]
    assert lacking == [] and len(ROWS) > 200


def test_every_number_has_a_range() -> None:
    numbers = [(*place, cells) for *place, cells in ROWS if re.search(r"integer|number", cells[1])]
    assert len(numbers) > 100
    assert [cells[0] for *_, cells in numbers if not re.search(r"\d", cells[2])] == []


def test_every_quantity_has_its_unit() -> None:
    found: dict[str, int] = dict.fromkeys(UNITS, 0)
    for _, table, cells in ROWS:
        for name, unit in UNITS.items():
            if re.search(name, cells[0].strip("`")) and "mapping" not in cells[1]:
                assert re.fullmatch(unit, cells[3]), (table, cells)
                found[name] += 1
    assert min(found.values()) > 0


@pytest.mark.parametrize("kind", FILES)
def test_every_key_of_a_schema_is_there_and_its_examples_fit(kind: str) -> None:
    schema = FILES[kind].schema()
    expected: set[tuple[str, str]] = set()
    for name, model in models(schema).items():
        for key, field in model["properties"].items():
            expected.add((name, f"`{key}`"))
            within: dict[str, Any] = {**field, "$defs": schema.get("$defs", {})}
            for example in field.get("examples", ()):
                Draft202012Validator(within).validate(example)
    found = {(table, cells[0]) for name, table, cells in ROWS if name == kind}
    patterns = {f"`{one.strip('^$')}`" for one in schema.get("patternProperties", {})}
    assert found == expected | {(schema["title"], one) for one in patterns}
    assert found
