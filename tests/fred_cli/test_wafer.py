"""Tests of fred_cli.wafer and training, and how sizes and groups are read."""

import csv
import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fred_cli.wafer import parse_group, parse_size
from fred_hw.errors import InputError
from perfmodel.studies.compare import compare
from perfmodel.switch_timing import record as timing

Run = Callable[..., tuple[int, str, str]]

UNITS = "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB"
FRED_D = "collective --topology fred-d"

REFUSED = {
    "collective": r"fred collective: Missing option '--topology'\.",
    "collective --topology torus": r"--topology: must be mesh:.*, fred-d or a path .*, not 'torus'",
    "collective --topology mesh:0x4": r"topology mesh:0x4: columns: .* from 1 to 64, not 0",
    "collective --topology mesh:1x1": r"mesh:1x1: must have 2 or more NPUs, not 1",
    "collective --topology missing.yaml": r"missing\.yaml: must be an existing file, .*",
    "collective --topology empty.yaml": r"empty\.yaml: .* not nothing \(the file is empty\)",
    "collective --topology one-port.yaml": r"one-port\.yaml: kind: .*",
    f"{FRED_D} --size 1XB": rf"--size: must be a number with one of {UNITS}, not '1XB'",
    f"{FRED_D} --size GiB": rf"--size: must be a number with one of {UNITS}, not 'GiB'",
    f"{FRED_D} --size -1": rf"--size: must be a number with one of {UNITS}, not '-1'",
    f"{FRED_D} --size 0": r"--size: must be above 0 bytes, not 0\.0",
    f"{FRED_D} --group 0-x": r"--group: must be NPU numbers like 0,1,4-7, not '0-x'",
    f"{FRED_D} --group 0,1,5-3": r"--group: must be NPU numbers like 0,1,4-7, not '0,1,5-3'",
    f"{FRED_D} --group 0,3,0": r"--group: must hold each NPU once, not 0 twice",
    f"{FRED_D} --group 0,20": r"--group: must hold NPUs 0 to 19 of fred-d, not 20",
    f"{FRED_D} --group 7": r"--group: must have 2 or more NPUs, not 1",
    f"{FRED_D} --pattern gossip": r"--pattern: must be one of all_reduce, .*, not 'gossip'",
    f"{FRED_D} --chunks 0": r"--chunks: must be 1 to 16384, not 0",
    f"{FRED_D} --chunks x": r"fred collective: Invalid value for '--chunks': 'x' .*",
    "estimate --topology fred-d": r"fred estimate: Missing option '--workload'\.",
    "estimate --topology fred-d --workload x": r"--workload: must be resnet-152, .*, not 'x'",
    "estimate --topology fred-d --workload x.yaml": r"x\.yaml: must be an existing file, .*",
    "estimate --topology fred-d --workload one-port.yaml": r"one-port\.yaml: kind: .*",
    "estimate --topology fred-d --workload gpt-3 --strategy MP5-DP5-PP1": (
        r"--strategy: must fit the 20 NPUs of fred-d, not need 25 as MP5-DP5-PP1"
    ),
    "estimate --topology mesh:2x2 --workload gpt-3": (
        r"--strategy: must fit the 4 NPUs of mesh:2x2, not need 20 as MP2-DP5-PP2"
    ),
    "estimate --topology fred-d --workload gpt-3 --strategy x": (
        r"--strategy: must be like MP2-DP5-PP2, not 'x'"
    ),
    "estimate --topology fred-d --workload gpt-3 --compute guessed": (
        r"--compute: must be one of first-principles, calibrated, not 'guessed'"
    ),
    "estimate --topology fred-d --workload gpt-3 --mode stationary": (
        r"gpt-3: mode: must be streaming where weights .* 80 GB as MP2-DP5-PP2"
    ),
    "estimate --topology fred-d --workload gpt-3 --microbatches 3": (
        r"gpt-3: microbatches: must divide 16 samples per replica, not be 3"
    ),
    "estimate --topology fred-d --workload gpt-3 --samples 0": (
        r"--samples: must be 1 or more, not 0"
    ),
    "estimate --topology fred-d --workload gpt-3 --placement snake": (
        r"--placement: must be linear for fred-d, not 'snake'"
    ),
    "estimate --topology fred-d --workload gpt-3 --algorithm gossip": (
        r"--algorithm: must be one of auto, ring, .*, not 'gossip'"
    ),
    "estimate --topology fred-d --workload gpt-3 --timeline folder.yaml": (
        r"folder\.yaml: must be a file, not a directory"
    ),
    f"{FRED_D} --algorithm gossip": r"--algorithm: must be one of auto, .*, not 'gossip'",
    f"{FRED_D} --algorithm two_level_ring --group 0-4": (
        r"--algorithm: must have a group .*, not two_level_ring for 5 NPUs of fred-d"
    ),
    "collective --topology mesh:9x9 --draw x.svg": r"--draw: must show at most 64 NPUs, not 81",
    f"{FRED_D} --draw folder.yaml": r"folder\.yaml: must be a file, not a directory",
    "collective --topology slow.yaml": r"slow\.yaml: link_bytes_per_s: must be .* above 0, not 0",
    "wafers --topology fred-d --wafers 0": r"--wafers: must be 1 to 1024, not 0",
    "wafers --topology fred-d --join rope": r"--join: must be one of switch, fred, not 'rope'",
    "wafers --topology fred-d --size 0": r"--size: must be above 0 bytes, not 0\.0",
    "strategies": r"fred strategies: Missing option '--workload'\.",
    "strategies --workload gpt-3 --samples 0": r"--samples: must be 1 or more, not 0",
    "strategies --workload gpt-3 --least-npus 21": r"--least-npus: must be 1 to 20, not 21",
    "strategies --workload gpt-3 --compute x": r"--compute: must be one of .*, not 'x'",
    "reproduce --section all": r"--section: must be one of bandwidth, .*, not 'all'",
    "compare --workload bert": r"--workload: must be resnet-152, .*, not 'bert'",
    f"{FRED_D} --protocol free": (
        r"fred collective: Invalid value for '--protocol': 'free' is not one of .*"
    ),
    "reproduce --protocol free": r"fred reproduce: Invalid value for '--protocol': 'free' .*",
    "collective --topology no-protocol.yaml": (
        r"no-protocol\.yaml: protocol: must be one of measured, ideal, not 'free'"
    ),
    "compare --topology ideal.yaml --topology fred-d --compute calibrated": (
        r"--compute: must be first-principles for fabrics some of whose protocols are ideal"
    ),
    "compare extra": r"fred compare: Got unexpected extra argument \(extra\)",
}


@pytest.mark.parametrize(("line", "message"), REFUSED.items(), ids=REFUSED)
def test_bad_input_is_one_line(
    refused: Callable[..., str], place: Path, line: str, message: str
) -> None:
    mesh = "kind: mesh\ncolumns: 5\nrows: 4\nprotocol: "
    (place / "ideal.yaml").write_text(f"{mesh}ideal\n")
    (place / "no-protocol.yaml").write_text(f"{mesh}free\n")
    said = refused(*line.split())
    assert re.fullmatch(f"error: {message}", said), said


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("0", 0),
        ("17", 17),
        ("17B", 17),
        ("1.5kB", 1500),
        ("64MB", 64e6),
        ("2.GB", 2e9),
        ("3TB", 3e12),
        ("1KiB", 1024),
        ("2MiB", 2 * 1024**2),
        ("1GiB", 1024**3),
        ("0.5TiB", 1024**4 / 2),
        (" 1 gib ", 1024**3),
    ],
)
def test_size_is_read(text: str, size_bytes: float) -> None:
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize("text", ["", "GiB", "-1", "+1", "1e9", ".5GB", "1 G B", "1Gib/s", "inf"])
def test_size_of_another_form_is_refused(text: str) -> None:
    message = f"--size: must be a number with one of {UNITS}, not {text!r}"
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        parse_size(text)


@pytest.mark.parametrize(
    ("text", "members"),
    [
        (None, None),
        ("3", [3]),
        ("0,1,4-7", [0, 1, 4, 5, 6, 7]),
        ("7,0-2", [7, 0, 1, 2]),
        ("5-5", [5]),
        (" 1 , 2-3 ", [1, 2, 3]),
        ("0,0", [0, 0]),
    ],
)
def test_group_is_read_in_its_order(text: str | None, members: list[int] | None) -> None:
    assert parse_group(text) == members


@pytest.mark.parametrize("text", ["", ",", "1,", "a", "-1", "1-", "1-2-3", "3-2", "0-9999999"])
def test_group_of_another_form_is_refused(text: str) -> None:
    message = f"--group: must be NPU numbers like 0,1,4-7, not {text!r}"
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        parse_group(text)


@pytest.mark.parametrize(
    ("topology", "published"),
    [
        ("mesh:5x4", 1.5e12),
        ("fred-a", 1.85e12),
        ("fred-b", 2.85e12),
        ("fred-c", 3.0e12),
        ("fred-d", 5.7e12),
    ],
)
def test_all_reduce_runs_at_the_published_bandwidth(
    fred: Run, topology: str, published: float
) -> None:
    arguments = ("--topology", topology, "--size", "1GiB", "--protocol", "ideal")
    status, out, err = fred("collective", *arguments, "--json")
    assert (status, err) == (0, "")
    said = json.loads(out)
    assert said["npu_bandwidth"] == pytest.approx(published, rel=0.05)
    assert said["time_s"] == pytest.approx(2 * 19 / 20 * 2**30 / said["npu_bandwidth"])
    assert said["bytes_per_npu"] > 0
    assert set(said["bottleneck"]) == {"link", "carried_bytes", "utilisation"}
    assert 0 < said["bottleneck"]["utilisation"] <= 1


def test_collective_takes_group_pattern_and_chunks(fred: Run) -> None:
    arguments = ("--group", "0,1,4-7", "--pattern", "broadcast", "--chunks", "3", "--size", "1MB")
    status, out, err = fred("collective", "--topology", "fred-c", *arguments, "--json")
    assert (status, err) == (0, "")
    said = json.loads(out)
    assert said["groups"] == [[0, 1, 4, 5, 6, 7]]
    assert (said["pattern"], said["chunks"], said["size_bytes"]) == ("broadcast", 3, 1e6)


def test_collective_says_the_same_to_a_reader(fred: Run) -> None:
    arguments = ("collective", "--topology", "fred-d", "--size", "64MB")
    said = json.loads(fred(*arguments, "--json")[1])
    status, out, err = fred(*arguments)
    assert (status, err) == (0, "")
    assert out.startswith("all_reduce of 64MB on fred-d")
    assert f"{said['time_s'] * 1e6:,.2f} us" in out
    assert f"{said['npu_bandwidth'] / 1e12:.3f} TB/s" in out
    assert "record l1-12" in out and "assumed: " in out


def test_collective_checks_and_draws_its_schedule(fred: Run, place: Path) -> None:
    arguments = ("--group", "0-5", "--algorithm", "halving_doubling", "--draw", "drawn.svg")
    said = json.loads(
        fred("collective", "--topology", "fred-c", *arguments, "--check", "--json")[1]
    )
    assert said["checked"] is True and said["algorithm"] == "halving-doubling"
    root = ElementTree.parse(place / "drawn.svg").getroot()
    arrows = [one for one in root.iter() if one.get("marker-end")]
    # Two lend to the core of four and get back; the core halves and doubles in two steps each.
    assert len(arrows) == 2 + 4 * 2 + 4 * 2 + 2


def test_wafers_prints_the_same_as_its_json(fred: Run) -> None:
    arguments = ("wafers", "--topology", "fred-d", "--wafers", "4")
    said = json.loads(fred(*arguments, "--json")[1])
    assert said["npus"] == 80 and said["time_s"] > said["inside_s"] > 0
    status, out, err = fred(*arguments)
    assert (status, err) == (0, "")
    assert f"{said['time_s'] * 1e6:,.2f} us" in out


def test_estimate_says_the_same_to_a_reader(fred: Run, place: Path) -> None:
    arguments = ("estimate", "--topology", "fred-d", "--workload", "gpt-3")
    status, out, err = fred(*arguments, "--json", "--timeline", "timeline.json")
    assert (status, err) == (0, "")
    said = json.loads(out)
    parts = said["compute_s"] + sum(said["exposed_s"].values())
    assert said["iteration_time_s"] == pytest.approx(parts, rel=1e-12)
    assert set(said["exposed_s"]) == {"mp", "dp", "pp", "weight_streaming", "input_load"}
    assert (said["strategy"], said["compute_model"]) == ("MP2-DP5-PP2", "first-principles")
    assert said["memory_verdict"] == "fits if recomputed"
    events = json.loads((place / "timeline.json").read_text())["traceEvents"]
    assert {event["pid"] for event in events} == set(range(20))
    status, out, err = fred(*arguments)
    assert (status, err) == (0, "")
    assert f"{said['iteration_time_s'] * 1e3:,.3f} ms" in out
    assert out.count("exposed ") == 5


def test_estimate_says_how_far_calibrated_compute_is_above_the_peak(fred: Run) -> None:
    arguments = ("estimate", "--topology", "fred-d", "--workload", "resnet-152")
    said = json.loads(fred(*arguments, "--compute", "calibrated", "--json")[1])
    assert said["peak_share"] > 1
    out = fred(*arguments, "--compute", "calibrated")[1]
    assert f"{said['peak_share']:.3g} times the peak of the NPU" in out


@pytest.mark.parametrize("command", ["compare", "strategies"])
def test_tables_say_which_compute_is_above_the_peak(fred: Run, command: str) -> None:
    arguments = (command, "--topology", "fred-d", "--workload", "resnet-152")
    assert "above the peak" not in fred(*arguments)[1]
    out = fred(*arguments, "--compute", "calibrated")[1]
    assert re.search(r"^compute above the peak of the NPU, times: resnet-152 \d", out, re.MULTILINE)


def test_estimate_takes_changes_of_the_workload(fred: Run) -> None:
    arguments = ("estimate", "--topology", "mesh:5x4", "--workload", "transformer-17b", "--json")
    plain = json.loads(fred(*arguments)[1])
    changed = json.loads(
        fred(
            *arguments, "--samples", "8", "--microbatches", "4", "--overlap", "--schedule", "gpipe"
        )[1]
    )
    assert (plain["minibatch"], changed["minibatch"]) == (48, 24)
    assert changed["exposed_s"]["dp"] < plain["exposed_s"]["dp"]


def test_estimate_takes_a_strategy(fred: Run) -> None:
    arguments = ("--topology", "mesh:2x2", "--workload", "resnet-152", "--strategy", "MP1-DP4-PP1")
    said = json.loads(fred("estimate", *arguments, "--json")[1])
    assert (said["topology"], said["strategy"]) == ("mesh:2x2", "MP1-DP4-PP1")


def test_compare_has_a_row_for_each_pair(
    fred: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perfmodel.studies.compare.compare", cache(compare))
    status, out, err = fred("compare", "--json", "--csv", "compare.csv")
    assert (status, err) == (0, "")
    rows = json.loads(out)["rows"]
    assert len({(row["workload"], row["topology"]) for row in rows}) == len(rows) == 20
    with (place / "compare.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [float(row["iteration [s]"]) for row in table] == [
        row["iteration_time_s"] for row in rows
    ]
    status, out, err = fred("compare")
    assert (status, err) == (0, "")
    for row in rows:
        line = rf"^\s*{row['workload']}\s+{row['strategy']}\s+{row['topology']}\s+[\d,.]+"
        assert re.search(line, out, re.MULTILINE)


def test_compare_takes_fabrics_and_workloads(fred: Run) -> None:
    arguments = ("--topology", "mesh:2x2", "--topology", "mesh:4x1", "--workload", "own.yaml")
    rows = json.loads(fred("compare", *arguments, "--json")[1])["rows"]
    assert [(row["topology"], row["strategy"]) for row in rows] == [
        ("mesh:2x2", "MP2-DP2-PP1"),
        ("mesh:4x1", "MP2-DP2-PP1"),
    ]


def test_strategies_are_listed_written_and_drawn(fred: Run, place: Path) -> None:
    arguments = ("strategies", "--workload", "own.yaml", "--topology", "mesh:2x2", "--samples", "4")
    files = ("--csv", "all.csv", "--chart", "all.html")
    said = json.loads(fred(*arguments, *files, "--json")[1])["rows"]
    times = [row["time_per_sample_s"] for row in said]
    assert times == sorted(times)
    with (place / "all.csv").open() as file:
        assert [row["strategy"] for row in csv.DictReader(file)] == [r["strategy"] for r in said]
    page = (place / "all.html").read_text(encoding="utf-8")
    assert "chart-strategies" in page and "https://cdn" not in page.split("</script>")[-1]
    status, out, err = fred(*arguments)
    assert (status, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines() if "MP" in line.split("mesh")[0]] == [
        row["strategy"] for row in said
    ]


@pytest.fixture
def half_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make up whole switches that leave half of the link rate for payload, at no latency."""
    folder = tmp_path / "records"
    folder.mkdir()
    for name in ("l1-11", "l1-12", "l2-10"):
        record = json.loads((timing.RECORDS / f"{name}.json").read_text(encoding="utf-8"))
        record["switch"] = {
            "latency_cycles": 0,
            "stages": {"all": 0},
            "data_flits_per_cycle": 0.5 * (4096 + 48 + 32) / 4096,
            "ack_share": 0.01,
            "control_share": 0.02,
            "payload_share": 0.5,
            "reconfiguration_cycles": 0,
            "preemption_cycles": 0,
            "recovery_cycles": {"to_switch": 200, "from_switch": 300},
        }
        (folder / f"{name}.json").write_text(json.dumps(record), encoding="utf-8")
    monkeypatch.setattr(timing, "RECORDS", folder)


@pytest.mark.usefixtures("half_share")
@pytest.mark.parametrize(
    ("command", "key"),
    [
        ("collective --topology fred-d", "time_s"),
        ("collective --topology mesh:5x4", "time_s"),
        ("wafers --topology fred-d --wafers 1", "time_s"),
        ("estimate --topology mesh:5x4 --workload resnet-152", "exposed_s"),
        ("compare --topology fred-b --workload resnet-152", "exposed_s"),
        ("strategies --workload own.yaml --topology mesh:2x2 --samples 4", "communication_s"),
    ],
)
def test_ideal_protocol_takes_half_the_time_of_half_the_payload(
    fred: Run, command: str, key: str
) -> None:
    found: list[float] = []
    for more in ((), ("--protocol", "measured"), ("--protocol", "ideal")):
        said = json.loads(fred(*command.split(), *more, "--json")[1])
        value = (said["rows"][0] if "rows" in said else said)[key]
        found.append(sum(value.values()) if isinstance(value, dict) else value)
    assert found[0] == found[1] == pytest.approx(2 * found[2], rel=0.05)


@pytest.mark.usefixtures("half_share")
def test_provenance_says_what_was_taken_from_which_record(fred: Run) -> None:
    lines = fred("collective", "--topology", "mesh:5x4")[1]
    assert "  mesh links: 50.0% payload, record l1-12 of the whole switch, " in lines
    lines = fred("collective", "--topology", "fred-d")[1]
    assert "  l2: 0 cycles (0.0 ns), 50.0% payload, record l2-10 of the whole switch, " in lines
    lines = fred("collective", "--topology", "fred-d", "--protocol", "ideal")[1]
    assert " 100.0% payload, record l2-10 of the interconnect alone, " in lines
    assert "  assumed: protocol ideal: " in lines


ROW = {"id", "what", "published", "model", "ratio", "tolerance", "ok", "how", "source"}


@pytest.mark.usefixtures("half_share")
def test_reproduce_says_how_far_the_protocol_moved_its_rows(fred: Run, place: Path) -> None:
    arguments = ("reproduce", "--section", "bandwidth")
    said = json.loads(fred(*arguments, "--csv", "rows.csv", "--json")[1])
    ideal = json.loads(fred(*arguments, "--protocol", "ideal", "--json")[1])
    assert ideal["within_tolerance"] == ideal["rows_in_all"] > said["within_tolerance"]
    for row, other in zip(said["rows"], ideal["rows"], strict=True):
        assert set(row) == ROW | {"ideal", "moved_percent"} and set(other) == ROW
        assert row["ideal"] == other["model"]
        assert row["moved_percent"] == pytest.approx(100 * (row["model"] / other["model"] - 1))
    with (place / "rows.csv").open() as file:
        written = list(csv.DictReader(file))
    assert [float(row["moved_percent"]) for row in written] == [
        row["moved_percent"] for row in said["rows"]
    ]
    out = fred(*arguments)[1]
    first = said["rows"][0]
    shown = rf"MISS +{first['ideal']:.4g} +{first['moved_percent']:+.2f} "
    assert re.search(shown, out), out


def test_reproduce_prints_and_writes_its_rows(fred: Run, place: Path) -> None:
    arguments = ("reproduce", "--section", "wafer", "--protocol", "ideal")
    said = json.loads(fred(*arguments, "--csv", "rows.csv", "--json")[1])
    assert said["rows_in_all"] == said["within_tolerance"] == len(said["rows"])
    assert set(said["rows"][0]) == ROW
    with (place / "rows.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [row["id"] for row in table] == [row["id"] for row in said["rows"]]
    assert set(table[0]) == ROW
    status, out, err = fred(*arguments)
    assert (status, err) == (0, "")
    assert f"{len(said['rows'])} of {len(said['rows'])} within tolerance" in out
    assert "moved" not in out
