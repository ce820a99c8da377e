"""Tests of fred_cli.report.study, of the summary and of the strategies to explore."""

from pathlib import Path

import pytest

from fred_cli.hardware_table import hardware_rows, price
from fred_cli.report import study as module
from fred_cli.report.explorer import explorer
from fred_cli.report.study import Question, Study, study
from fred_cli.report.summary import summary
from fred_hw.errors import InputError

OWN = """kind: transformer
layers: 4
hidden: 1024
heads: 8
sequence: 512
vocabulary: 1000
strategy: MP2-DP2-PP1
mode: stationary
microbatches: 2
samples_per_replica: 4
"""
EXPERTS = OWN.replace("DP2-PP1", "DP2-PP1-EP2") + "experts: 4\nexperts_per_token: 2\n"
TORUS = """kind: blocks
blocks: [{block: torus, npus: [2, 2], bytes_per_s: 100e9, latency_s: 500e-9}]
io_bytes_per_s: 50e9
npu: {peak_flops: 312e12, hbm_bytes_per_s: 2e12, hbm_bytes: 80e9}
"""


def asked(folder: Path, workload: str = OWN, topology: str = TORUS, **changes: object) -> Study:
    (folder / "own.yaml").write_text(workload)
    (folder / "torus.yaml").write_text(topology)
    names = {"topologies": (str(folder / "torus.yaml"),), "workload": str(folder / "own.yaml")}
    return study(Question(**{**names, **changes}))  # pyright: ignore[reportArgumentType]


def answer(found: Study) -> tuple[str, ...]:
    return summary(found, price(hardware_rows()))


def test_lone_wafer_is_put_beside_the_mesh_of_as_many_npus_of_its_own(tmp_path: Path) -> None:
    found = asked(tmp_path)
    assert [one.name for one in found.fabrics] == ["mesh:2x2", str(tmp_path / "torus.yaml")]
    assert found.npu.peak_flops == 312e12
    assert found.rows[0].estimate.busy_s == pytest.approx(found.rows[1].estimate.busy_s)
    assert found.subject == 1 and list(found.timelines()) == [found.fabrics[1].name, "mesh:2x2"]


def test_lone_mesh_is_alone_and_fabrics_are_those_named(tmp_path: Path) -> None:
    alone = asked(tmp_path, topologies=("mesh:2x2",))
    assert [one.name for one in alone.fabrics] == ["mesh:2x2"]
    first, *_ = answer(alone)
    assert " takes " in first and " on the mesh:2x2" not in first
    both = asked(tmp_path, topologies=("mesh:3x2", "mesh:2x2"))
    assert [one.name for one in both.fabrics] == ["mesh:3x2", "mesh:2x2"]


def test_prime_number_of_npus_has_no_mesh_beside_it(tmp_path: Path) -> None:
    found = asked(tmp_path, topology=TORUS.replace("torus, npus: [2, 2]", "ring, npus: 5"))
    assert len(found.fabrics) == 1 and found.fabrics[0].npus == 5


def test_compute_is_calibrated_only_where_that_is_known(tmp_path: Path) -> None:
    assert asked(tmp_path).compute == "first-principles"
    published = {"topologies": ("fred-d",), "workload": "resnet-152", "least_npus": 20}
    assert study(Question(**published)).compute == "calibrated"  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match=r"must be .* where compute is calibrated"):
        asked(tmp_path, compute="calibrated")


def test_strategy_is_that_of_the_workload_unless_given(tmp_path: Path) -> None:
    assert str(asked(tmp_path).strategy) == "MP2-DP2-PP1"
    found = asked(tmp_path, strategy="MP1-DP1-PP4")
    assert {row.estimate.strategy for row in found.rows} == {"MP1-DP1-PP4"}


def test_what_does_not_fit_the_memory_ranks_behind_all_that_does(tmp_path: Path) -> None:
    found = asked(tmp_path, topology=TORUS.replace("80e9", "0.25e9"))
    marks = [row.fits for row in found.swept]
    rows = explorer({"own": found.swept})["rows"]
    assert 0 < sum(marks) < len(marks) == len(rows)
    assert [row["fits"] for row in rows] == sorted(marks, reverse=True)
    for mark in (True, False):
        times = [row["ms"] for row in rows if row["fits"] == mark]
        assert mark is False or times == sorted(times)
    assert all(row["memory"].startswith("fits") == row["fits"] for row in rows)
    for row in rows:
        assert sum(row["parts"]) == pytest.approx(row["ms"], rel=1e-3)
    second = answer(found)[1]
    on_torus = [row for row in rows if row["fabric"] != "mesh:2x2"]
    fitting = [row for row in on_torus if row["fits"]]
    assert second.startswith(f"Of {len(on_torus)} strategies on torus, {len(fitting)} fit")
    assert fitting[0]["strategy"] in second


def test_given_strategy_is_among_all_with_what_few_have_and_without(tmp_path: Path) -> None:
    found = asked(tmp_path, EXPERTS)
    names = {row.estimate.strategy for row in found.swept}
    assert {"MP2-DP2-PP1-EP2", "MP1-DP4-PP1-EP2", "MP2-DP2-PP1", "MP4-DP1-PP1"} <= names
    assert not any("-CP" in name or "-SP" in name for name in names)
    more = asked(tmp_path, EXPERTS, strategy="MP2-DP1-PP1-CP2-SP")
    names = {row.estimate.strategy for row in more.swept}
    assert {"MP2-DP1-PP1-CP2-SP", "MP2-DP1-PP1-CP2", "MP2-DP2-PP1-SP", "MP2-DP2-PP1"} <= names


def test_given_strategy_of_few_npus_is_among_all_unless_more_are_asked_for(tmp_path: Path) -> None:
    found = asked(tmp_path, strategy="MP2-DP1-PP1")
    fewer = [row for row in found.swept if row.estimate.strategy == "MP2-DP1-PP1"]
    assert [row.estimate.topology for row in fewer] == [one.name for one in found.fabrics]
    most = asked(tmp_path, strategy="MP2-DP1-PP1", least_npus=4)
    assert "MP2-DP1-PP1" not in {row.estimate.strategy for row in most.swept}


def test_explorer_has_the_parts_that_occur(tmp_path: Path) -> None:
    usual = ["compute", "mp", "dp", "pp", "weight_streaming", "input_load", "bubble"]
    plain = explorer({"own": asked(tmp_path).swept})
    assert [part.name for part in plain["parts"]] == usual
    shared = explorer({"own": asked(tmp_path, EXPERTS).swept})
    assert [part.name for part in shared["parts"]] == [*usual[:-1], "ep", "bubble"]
    for row in shared["rows"]:
        assert len(row["parts"]) == 8 and (row["parts"][6] > 0) == ("-EP2" in row["strategy"])
        assert sum(row["parts"]) == pytest.approx(row["ms"], rel=1e-3)


def test_of_large_wafers_the_given_strategy_alone_is_estimated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SWEPT", 3)
    found = asked(tmp_path)
    assert [row.estimate for row in found.swept] == [row.estimate for row in found.rows]
    assert answer(found)[1].startswith("No other strategy was estimated; ")
    assert len(asked(tmp_path, least_npus=4).swept) > 2


def test_summary_says_which_wins_by_how_much_and_what_was_assumed(tmp_path: Path) -> None:
    found = asked(tmp_path)
    first, _, third, cost = answer(found)
    times = {row.estimate.topology: row.estimate.iteration_time_s for row in found.rows}
    slow, fast = max(times.values()), min(times.values())
    assert times["mesh:2x2"] == fast
    gain = f"{slow / fast:.2f} times as fast as torus"
    assert first.startswith(f"mesh:2x2 wins: for own as MP2-DP2-PP1 it is {gain}, with ")
    assert "312 TFLOP/s and 2 TB/s" in third and "protocol" in third
    assert third.endswith("; 750 GB/s per link of the mesh, as published.")
    assert cost.startswith("Price: the area of mesh:2x2 and torus has not been synthesized.")
