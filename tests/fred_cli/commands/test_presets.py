"""Tests of `fred presets`."""

import json
from collections.abc import Callable

from fred_hw.load import PRESETS

Run = Callable[..., tuple[int, str, str]]


def test_presets_all_have_a_purpose(fred: Run) -> None:
    status, out, err = fred("presets", "--json")
    assert (status, err) == (0, "")
    rows = json.loads(out)["presets"]
    assert tuple(row["preset"] for row in rows) == PRESETS
    assert all(set(row) == {"preset", "name", "for"} and all(row.values()) for row in rows)
    status, out, err = fred("presets")
    assert (status, err) == (0, "")
    assert all(name in out for name in PRESETS)
