"""Tests of `fred reproduce`."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fred_cli.fred import Fred

ROW = {
    *("id", "what", "evidence", "published", "derived", "model", "ratio", "rule", "tolerance"),
    *("ok", "how", "others", "source"),
}
HEADINGS = ROW - {"evidence"} | {"class"}


@pytest.mark.slow
@pytest.mark.usefixtures("half_share")
def test_reproduce_says_how_far_the_protocol_moved_its_rows(fred: Fred, place: Path) -> None:
    arguments = ("reproduce", "--section", "bandwidth")
    said = fred.json(*arguments, "--csv", "rows.csv")
    ideal = fred.json(*arguments, "--protocol", "ideal")
    counts = [one["counts"]["predicted"] for one in (ideal, said)]
    assert counts[0]["ok"] == counts[0]["rows"] == counts[1]["rows"] > counts[1]["ok"]
    for row, other in zip(said["rows"], ideal["rows"], strict=True):
        assert set(row) == ROW | {"ideal", "moved_percent"} and set(other) == ROW
        assert row["ideal"] == other["model"]
        if isinstance(row["model"], str):
            assert row["moved_percent"] is None
            continue
        assert row["moved_percent"] == pytest.approx(100 * (row["model"] / other["model"] - 1))
    with (place / "rows.csv").open() as file:
        written = list(csv.DictReader(file))
    assert [row["moved_percent"] for row in written] == [
        "" if row["moved_percent"] is None else str(row["moved_percent"]) for row in said["rows"]
    ]
    out = fred(*arguments)[1]
    first = said["rows"][0]
    shown = rf"MISS +{first['ideal']:.4g} +{first['moved_percent']:+.2f} "
    assert re.search(shown, out), out


def test_reproduce_prints_and_writes_its_rows(fred: Fred, place: Path) -> None:
    arguments = ("reproduce", "--section", "wafer", "--protocol", "ideal")
    said = fred.json(*arguments, "--csv", "rows.csv")
    assert set(said["rows"][0]) == ROW
    with (place / "rows.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [row["id"] for row in table] == [row["id"] for row in said["rows"]]
    assert set(table[0]) == HEADINGS
    out = fred.out(*arguments)
    counts = said["counts"]
    good, same = counts["predicted"], counts["consistency"]
    assert f"{good['ok']} of {good['rows']} predicted figures within tolerance" in out
    assert f"no evidence: {same['ok']} of {same['rows']} consistency" in out
    assert "moved" not in out


@pytest.mark.slow
def test_reproduce_says_what_the_published_speedups_tell(fred: Fred) -> None:
    arguments = ("reproduce", "--section", "speedups", "--protocol", "ideal")
    told = {one["workload"]: one for one in fred.json(*arguments)["identified"]}
    assert [name for name, one in told.items() if not one["identified"]] == ["transformer-1t"]
    out = fred(*arguments)[1]
    for name, one in told.items():
        low, high = one["speedup_d"]
        assert re.search(rf"{name} .* {low:.3f} to {high:.3f} ", out)
    assert re.search(r"transformer-1t +1\.4 +none .* not identified", out)


def test_reproduce_tells_nothing_of_compute_without_speedups(fred: Fred) -> None:
    arguments = ("reproduce", "--section", "wafer", "--protocol", "ideal")
    assert fred.json(*arguments)["identified"] == []
    assert "Compute that gives" not in fred(*arguments)[1]


@pytest.mark.slow
def test_reproduce_takes_a_model_of_compute_for_every_row(fred: Fred) -> None:
    arguments = ("reproduce", "--section", "speedups", "--protocol", "ideal", "--json")
    usual, said = (fred.json(*arguments, "--compute", name) for name in ("calibrated", "weights"))
    assert [row["id"] for row in said["rows"]] == [row["id"] for row in usual["rows"]]
    # The reading was taken because of the speed-ups, so they are no test of it.
    assert said["identified"] == [] and said["counts"]["calibrated"]["rows"] == 8
    found = {row["id"]: row for row in said["rows"]}
    assert found["speedup/resnet-152/fred-c"]["how"] == "simulated, compute weights"
    assert found["speedup/resnet-152/fred-c"]["ok"]


@pytest.mark.slow
@pytest.mark.parametrize(("section", "panels"), [("libra", 6), ("wires", 1)])
def test_section_with_a_chart(section: str, panels: int, fred: Fred, place: Path) -> None:
    arguments = ("reproduce", "--section", section, "--protocol", "ideal", "--chart", "c.html")
    fred.json(*arguments)
    page = (place / "c.html").read_text()
    found = [json.loads(one) for one in re.findall(r"application/json\">(.*?)</script>", page)]
    assert len(found) == panels
    assert all(len(trace["x"]) == len(trace["y"]) for one in found for trace in one["data"])


@pytest.mark.parametrize("sections", [(), ("wafer",), ("libra", "wires")])
def test_chart_needs_one_section_that_has_one(
    sections: tuple[str, ...], refused: Callable[..., str]
) -> None:
    words = [word for name in sections for word in ("--section", name)]
    said = refused("reproduce", *words, "--chart", "c.html")
    given = ", ".join(sections) or "all"
    assert said == (
        f"error: --section: must be one of libra, wires, given once, with --chart, not {given}"
    )
