"""Tests of `fred cluster`."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from docs.generate.reference import EXAMPLES
from perfmodel.published import COMET_GAIN, COMET_SPREAD
from tests.fred_cli.fred import Fred

FILE = str(EXAMPLES / "cluster.yaml")


def test_table_says_what_fits_and_what_is_best(fred: Fred) -> None:
    out = fred.out("cluster", FILE, "--workload", "transformer-1t")
    rows = {line.split()[0]: line for line in out.splitlines() if line.startswith("  MP")}
    assert len(rows) == 11
    assert " * " in rows["MP32-DP32-PP1"] and " * " not in rows["MP64-DP16-PP1"]
    assert " 45.3 " in rows["MP64-DP16-PP1"] and " 265.8 " in rows["MP8-DP128-PP1"]
    assert "\n* does not fit the memory\nbest that fits: MP64-DP16-PP1, " in out
    assert re.search(r"best if all fitted: MP1-DP1024-PP1, .* with 2,048\.4 GB on each NPU", out)
    assert out.count("MP16-DP64-PP1") == 1 + 4


def test_json_csv_and_chart_are_of_the_same_points(fred: Fred, place: Path) -> None:
    arguments = ("cluster", FILE, "--workload", "transformer-1t", "--batch", "512", "--json")
    found = fred.json(*arguments, "--csv", "c.csv", "--chart", "c.html")
    with (place / "c.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [one["strategy"] for one in rows] == [one["strategy"] for one in found["rows"]]
    assert rows[0]["strategy"] == "MP2-DP512-PP1"  # a sample for each replica
    for row, one in zip(rows, found["rows"], strict=True):
        assert (row["fits"] == "True") == one["fits"]
        assert row["iteration [s]"] == ("" if one["time_s"] is None else str(one["time_s"]))
    fitting = [one["time_s"] for one in found["rows"] if one["fits"]]
    assert found["best"]["feasible"]["strategy"] == "MP64-DP16-PP1"
    assert min(fitting) == next(
        one["time_s"] for one in found["rows"] if one["strategy"] == "MP64-DP16-PP1"
    )
    assert len(found["variants"]) == 8
    page = (place / "c.html").read_text()
    panels = [json.loads(one) for one in re.findall(r"application/json\">(.*?)</script>", page)]
    names = [one["strategy"] + ("" if one["fits"] else " *") for one in found["rows"]]
    assert [panel["data"][0]["y"] for panel in panels] == [names, names]


def test_expanded_memory_is_a_line_of_the_chart(fred: Fred, place: Path) -> None:
    text = Path(FILE).read_text().partition("vary:")[0]
    (place / "e.yaml").write_text(f"{text}expanded: {{capacity_bytes: 1e12, bytes_per_s: 1e11}}\n")
    status, out, _ = fred("cluster", "e.yaml", "--workload", "gpt-3", "--chart", "c.html")
    assert status == 0 and "other resources" not in out
    panels = re.findall(r"application/json\">(.*?)</script>", (place / "c.html").read_text())
    lines = [one for one in json.loads(panels[1])["data"] if one["type"] == "scatter"]
    assert [one["x"] for one in lines] == [[80, 80], [1080, 1080]]


def test_published_figures_are_beside_ours(fred: Fred, place: Path) -> None:
    out = fred.out("cluster", "--published", "--csv", "p.csv")
    assert "16 of 16 figures within tolerance" in out
    with (place / "p.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 16
    rows = fred.json("cluster", "--published")["rows"]
    assert {row["published"] for row in rows} >= {1.42, 94.42, 131.25}


def test_page_has_the_factors_of_the_example(fred: Fred) -> None:
    # COMET's are context: its batch is not known, so nothing is compared with them.
    found = fred.json("cluster", FILE, "--workload", "transformer-1t")
    gain = [one["speedup"] for one in found["variants"] if one["values"]["compute"] == 1]
    times = [sum(one["unconstrained"].values()) for one in found["rows"]]
    page = (EXAMPLES.parent / "docs/explanation/cluster.md").read_text()
    assert f"| {min(gain):.2f} to {max(gain):.2f} | {COMET_GAIN.printed} |" in page
    assert f"| {max(times) / min(times):.1f} | {COMET_SPREAD.printed} |" in page


def test_experts_have_groups_and_a_column(fred: Fred, place: Path) -> None:
    text = Path(FILE).read_text().partition("vary:")[0].replace("fan_in: 128", "fan_in: 4")
    (place / "e.yaml").write_text(text.replace("{batch:", "{ep: [1, 8], batch:") + VARY)
    line = ("cluster", "e.yaml", "--workload", "mixtral-8x7b")
    out = fred.out(*line, "--chart", "c.html")
    assert re.search(r" ep +if it fitted", out)
    found = fred.json(*line)
    rows = {one["strategy"]: one for one in found["rows"]}
    assert {"MP1-DP32-PP1", "MP1-DP32-PP1-EP8", "MP4-DP8-PP1-EP8"} <= {*rows}
    assert "MP8-DP4-PP1-EP8" not in rows
    few, many = (rows[f"MP1-DP32-PP1{ep}"] for ep in ("-EP8", ""))
    assert few["fits"] and not many["fits"]
    assert few["unconstrained"]["ep_s"] > 0 == many["unconstrained"]["ep_s"]
    assert few["unconstrained"]["dp_s"] <= many["unconstrained"]["dp_s"]
    assert all("EP8" in one["best"]["feasible"]["strategy"] for one in found["variants"])
    assert '"ep"' in (place / "c.html").read_text()
    assert " ep " not in fred("cluster", FILE, "--workload", "transformer-1t")[1]


VARY = "vary: {network: [1, 100]}\n"

BAD = {
    "cluster": r"fred cluster: FILE: must be given without --published",
    "cluster {file}": r"fred cluster: --workload: must be given without --published",
    "cluster --published --batch 3": r"--published: must be given without a file .*",
    "cluster {file} --workload bert": r"workload: must be one of the 11 names .*, not 'bert'",
    "cluster {file} --workload resnet-152": r".*resnet-152\.yaml: kind: must be transformer .*",
    "cluster {file} --workload gpt-3 --batch 0": r"--batch: must be 1 to 1073741824, not 0",
    "cluster missing.yaml --workload gpt-3": r"missing\.yaml: must be an existing file, .*",
    "cluster small.yaml --workload gpt-3": r"small\.yaml: must be a cluster, not a switch .*",
    "cluster odd.yaml --workload gpt-3": r"odd\.yaml: training\.batch: must allow .*, not 1",
    "cluster odd.yaml --workload gpt-3 --batch 2": r"--batch: must allow a strategy .*, not 2",
    "cluster groups.yaml --workload gpt-3": (
        r"groups\.yaml: training\.ep: must be divisors of 1, the experts of gpt-3, not 8"
    ),
    "cluster {file} --workload gpt-3 --csv x --chart x": r"--chart: must be another file than .*",
}


@pytest.mark.parametrize("line", BAD)
def test_bad_input_is_one_line(refused: Callable[..., str], place: Path, line: str) -> None:
    text = Path(FILE).read_text().partition("vary:")[0]
    odd = text.replace("{batch: 1024,", "{batch: 1, pipeline: [3],")
    (place / "odd.yaml").write_text(odd)
    (place / "groups.yaml").write_text(text.replace("{batch:", "{ep: [1, 8], batch:"))
    said = refused(*line.format(file=FILE).split())
    assert re.fullmatch(f"error: {BAD[line]}", said), said
