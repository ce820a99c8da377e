"""Tests of `fred reproduce`."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fred_cli.fred import Fred
from tests.records import shipped
from tests.written import written

ROW = {
    *("id", "what", "evidence", "published", "derived", "model", "ratio", "rule", "tolerance"),
    *("ok", "how", "reading", "readings", "source"),
}
HEADINGS = ROW - {"evidence", "reading", "readings"} | {"class", "others", "over readings"}


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
    assert "not counted as evidence: 2 of 2 link-rate, " in out
    assert f"{same['ok']} of {same['rows']} consistency" in out
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


def _rows(of: str, count: int, **changed: object) -> dict[str, Any]:
    """Return a shipped record with its first rows alone, of which the first is changed."""
    data = shipped(of)
    data["rows"] = data["rows"][:count]
    data["rows"][0] |= changed
    return data


def test_rows_that_the_model_was_calibrated_on_are_marked(
    fred: Fred, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the table, as JSON and as CSV; records of users too."""
    names = ("wafer-20-controllers", "mesh-5x4-trees")
    monkeypatch.setattr("studies.rtl_shipped.SHIPPED_CYCLES", names)
    written(place / "trees.json", _rows("mesh-5x4-trees", 1))
    given = ("reproduce", "--rtl", "--record", "trees.json")
    said = fred.json(*given, "--csv", "rows.csv")
    assert {row["evidence"] for row in said["storage_rows"]} == {"predicted"}
    trees = said["trees_rows"] + said["records"][0]["rows"]
    assert [row["evidence"] for row in trees] == 5 * ["calibrated"]
    with (place / "rows.csv").open() as file:
        classes = [row["class"] for row in csv.DictReader(file)]
    assert classes == len(said["storage_rows"]) * ["predicted"] + 5 * ["calibrated"]
    lines = fred.out(*given).splitlines()
    of_trees = [line for line in lines if "multitree_one_port" in line and "mp_all_reduce" in line]
    assert len(of_trees) == 5 and all("calibrated" in line for line in of_trees)


def test_records_of_users_are_compared_behind_the_shipped_ones(
    fred: Fred, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studies.rtl_shipped.SHIPPED_CYCLES", ("wafer-20-controllers",))
    written(place / "mine.json", _rows("wafer-20", 2, cycles=1))
    written(place / "mesh.json", _rows("mesh-5x4-phases", 1))
    given = ("reproduce", "--rtl", "--record", "mine.json", "--record", "mesh.json")
    said = fred.json(*given, "--csv", "rows.csv")
    assert {*said} == {"storage_rows", "storage_summaries", "records"}
    mine, mesh = said["records"]
    assert (mine["file"], mesh["file"]) == ("mine.json", "mesh.json")
    assert [row["ok"] for row in mine["rows"]] == [False, True]
    assert mine["rows"][0]["rtl_cycles"] == 1 and mine["summaries"][-1]["ok"] == 1
    (row,) = mesh["rows"]
    assert row["ok"] and row["rtl_cycles"] == shipped("mesh-5x4-phases")["rows"][0]["cycles"]
    with (place / "rows.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(said["storage_rows"]) + 3
    out = fred.out(*given)
    assert out.index("I/O controllers") < out.index("1 of 2 phases within 3 %")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (shipped("l1-12"), "schema: must be one of fred-wafer-cycles/1, fred-mesh-cycles/1, not "),
        ("[1]", "must be a mapping of keys to values, not [1]"),
        ({"ports": 4}, "must be a record of phases in RTL, not a switch specification"),
        (_rows("wafer-20", 1, cycles=0), "rows.0.cycles: must be greater than or equal to 1, not"),
        (
            _rows("wafer-20", 1, strategy="MP2"),
            "rows.0.strategy: must be of the form MP2-DP5-PP2, not 'MP2'",
        ),
        (
            _rows("wafer-20", 1, strategy="MP7-DP3-PP1"),
            "rows.0.strategy: must be a strategy of at most 20 NPUs, not MP7-DP3-PP1 of 21",
        ),
        (
            _rows("wafer-20", 1, strategy="MP2-DP1-PP1", phase="dp_all_reduce"),
            "rows.0.phase: must be one of mp_all_reduce, not 'dp_all_reduce'",
        ),
        (
            _rows("wafer-20-controllers", 1, phase="load_7"),
            "rows.0.phase: must be one of mp_all_reduce, ",
        ),
        (
            _rows("mesh-5x4-phases", 1, phase="load_0"),
            "rows.0.phase: must be one of mp_all_reduce, ",
        ),
    ],
    ids=[
        *("switch", "list", "specification", "cycles", "strategy", "large", "phase", "load"),
        "mesh",
    ],
)
def test_what_is_no_record_of_phases_is_refused(
    fred: Fred, place: Path, content: object, message: str
) -> None:
    written(place / "mine.json", content)
    status, out, err = fred("reproduce", "--rtl", "--record", "mine.json", "--csv", "rows.csv")
    assert (status, out) == (2, "") and err.count("\n") == 1
    assert err.startswith(f"error: mine.json: {message}")
    assert not (place / "rows.csv").exists()


def test_records_are_given_with_rtl_alone(fred: Fred, place: Path) -> None:
    written(place / "mine.json", _rows("wafer-20", 1))
    status, _, err = fred("reproduce", "--record", "mine.json")
    assert (status, err) == (2, "error: reproduce: --record: must be given with --rtl only\n")
    status, _, err = fred("reproduce", "--rtl", "--record", "other.json")
    assert status == 2 and err.startswith("error: other.json: ") and err.count("\n") == 1


def test_planes_that_no_timing_is_shipped_of_are_refused(fred: Fred, place: Path) -> None:
    data = _rows("wafer-20", 1)
    data["spec"]["lanes"] = 1
    data["name"] = data["name"].replace("fp16x256", "fp16x1")
    written(place / "mine.json", data)
    status, _, err = fred("reproduce", "--rtl", "--record", "mine.json")
    assert status == 2 and err.count("\n") == 1
    assert err.startswith("error: mine.json: switches: must be of chiplets that a record is ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("section", "panels"),
    [
        ("libra", 6),
        ("wires", 1),
        pytest.param(
            *("congestion-control", 3),
            marks=[pytest.mark.slow(180), pytest.mark.xdist_group("report")],
        ),
    ],
)
def test_section_with_a_chart(section: str, panels: int, fred: Fred, place: Path) -> None:
    if section == "congestion-control":
        pytest.importorskip("numba")
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
        "error: --section: must be one of congestion-control, libra, wires, given once, "
        f"with --chart, not {given}"
    )
