"""Tests of `fred presets`."""

from fred_hw.load import PRESETS
from tests.fred_cli.fred import Fred


def test_presets_all_have_a_purpose(fred: Fred) -> None:
    rows = fred.json("presets")["presets"]
    assert tuple(row["preset"] for row in rows) == PRESETS
    assert all(set(row) == {"preset", "name", "for"} and all(row.values()) for row in rows)
    out = fred.out("presets")
    assert all(name in out for name in PRESETS)
