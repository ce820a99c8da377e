"""Tests of `fred estimate`."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fred_hw.wafer.program import WaferProgram
from fred_hw.wafer.tasks import Task
from perfmodel.training.compute import EFFICIENCY
from perfmodel.training.parts import WAITS
from studies.rtl_iteration import load_iteration, simulated
from testbench.collectives.iteration_in_rtl import IterationRun
from tests.fred_cli.fred import Fred


def test_estimate_says_the_same_to_a_reader(fred: Fred, place: Path) -> None:
    arguments = ("estimate", "--topology", "fred-d", "--workload", "gpt-3")
    said = fred.json(*arguments, "--timeline", "timeline.json")
    parts = said["compute_s"] + sum(said["exposed_s"].values())
    assert said["iteration_time_s"] == pytest.approx(parts, rel=1e-12)
    assert set(said["exposed_s"]) == set(WAITS) and said["rank"] == 0
    path_s = sum(said["critical_path_s"].values())
    assert path_s == pytest.approx(said["iteration_time_s"], rel=1e-12)
    assert (said["strategy"], said["compute_model"]) == ("MP2-DP5-PP2", "first-principles")
    assert said["memory_verdict"] == "fits if recomputed"
    events = json.loads((place / "timeline.json").read_text())["traceEvents"]
    assert {event["pid"] for event in events} == set(range(20))
    out = fred.out(*arguments)
    assert f"{said['iteration_time_s'] * 1e3:,.3f} ms" in out
    assert out.count("exposed ") == 6 and "exposed on NPU 0: iteration - compute" in out


def test_estimate_says_energy_and_use_of_links(fred: Fred) -> None:
    arguments = ("estimate", "--topology", "fred-d", "--workload", "gpt-3")
    said = fred.json(*arguments)
    energy, uses = said["energy"], said["utilization"]
    assert energy["total_j"] == pytest.approx(sum(energy["parts_j"].values()), rel=1e-12)
    assert [one["dimension"] for one in uses] == [
        "1: switch of 4",
        "2: switch of 5",
        "I/O controllers",
    ]
    out = fred.out(*arguments)
    assert f"{energy['total_j']:,.4g} J" in out
    for one in uses:
        assert f"{one['peak']:.1%} at most, {one['average']:.1%} on average" in out
    cluster = fred.json(*arguments, "--energy", "cluster")
    assert cluster["options"]["energy"] == "cluster"
    assert cluster["energy"]["total_j"] > energy["total_j"]
    assert cluster["iteration_time_s"] == said["iteration_time_s"]


def test_estimate_says_how_far_calibrated_compute_is_above_the_peak(fred: Fred) -> None:
    arguments = ("estimate", "--topology", "fred-d", "--workload", "resnet-152")
    said = fred.json(*arguments, "--compute", "calibrated")
    assert said["peak_share"] > 1
    out = fred(*arguments, "--compute", "calibrated")[1]
    assert f"{said['peak_share']:.3g} times the peak of the NPU" in out


def test_estimate_states_no_rate_that_the_published_figure_does_not_tell(fred: Fred) -> None:
    arguments = ("estimate", "--topology", "fred-d", "--workload", "transformer-1t")
    said = fred.json(*arguments, "--compute", "calibrated")
    assert said["peak_share"] is None
    out = fred(*arguments, "--compute", "calibrated")[1]
    assert "times the peak" not in out and re.search(r"rate of compute +not identified", out)


def test_estimate_takes_changes_of_the_workload(fred: Fred) -> None:
    arguments = ("estimate", "--topology", "mesh:5x4", "--workload", "transformer-17b", "--json")
    plain = fred.json(*arguments)
    changed = fred.json(
        *arguments, "--samples", "8", "--microbatches", "4", "--overlap", "--schedule", "gpipe"
    )
    assert (plain["minibatch"], changed["minibatch"]) == (48, 24)
    assert changed["exposed_s"]["dp"] < plain["exposed_s"]["dp"]


def test_estimate_leaves_out_microbatches_that_repeat(fred: Fred, place: Path) -> None:
    line = ("estimate", "--topology", "fred-d", "--workload", "resnet-50", "--json")
    many = ("--samples", "1048576", "--microbatches", "1048576")
    out = fred.out(*line, *many)
    assert json.loads(out)["minibatch"] == 20 * 1048576
    said = "microbatches: must be at most [0-9]+ with [0-9]+ layers where none is left out"
    for more in ("--no-repeats", "--timeline=made.json"):
        status, out, err = fred(*line, *many, more)
        assert (status, out) == (2, "") and re.search(said, err)
    assert not (place / "made.json").exists()


@pytest.mark.parametrize("strategy", ["MP1-DP4-PP1", "TP1-DP4-PP1"])
def test_estimate_takes_a_strategy(fred: Fred, strategy: str) -> None:
    arguments = ("--topology", "mesh:2x2", "--workload", "resnet-152", "--strategy", strategy)
    said = fred.json("estimate", *arguments)
    assert (said["topology"], said["strategy"]) == ("mesh:2x2", "MP1-DP4-PP1")


def test_npus_of_half_the_efficiency_compute_twice_as_long(fred: Fred) -> None:
    line = ("estimate", "--topology", "fred-d", "--workload", "transformer-17b", "--json")
    usual = fred.json(*line)
    slow = [f"--npu=efficiency.{kind}={value / 2}" for kind, value in EFFICIENCY.items()]
    found = fred.json(*line, *slow, "--npu=hbm_bytes_per_s=1.5e12")
    assert found["busy_s"] == pytest.approx(2 * usual["busy_s"])
    assert fred.json(*line, "--npu=hbm_bytes=40e9")["memory"]["available_bytes"] == 40e9


POOL = """
memory-type: HIERARCHICAL_MEMORY_POOL
remote-mem-bw: 2
num-remote-mem-groups: 256
num-out-node-switches: 4
out-node-bw: 64
in-node-bw: 256
num-nodes: {nodes}
num-npus-per-node: 4
piece-size: 1048576
in-switch-collectives: {joined}
"""


def test_estimate_takes_weights_from_remote_memory(fred: Fred, place: Path) -> None:
    line = ("estimate", "--topology", "fred-d", "--workload", "transformer-1t", "--json")
    streamed: list[float] = []
    for joined in (0, 1):
        (place / "pool.yaml").write_text(POOL.format(nodes=5, joined=joined))
        said = fred.json(*line, "--memory", "pool.yaml")
        streamed.append(said["communication_s"]["weight_streaming"])
        assert any("links of its own" in one for one in said["provenance"]["assumptions"])
    # Twenty copies at the 512 bytes per ns of the pool, or one at the 256 of each NPU.
    assert streamed[0] == pytest.approx(10 * streamed[1], rel=1e-2)


def test_blocks_without_controllers_run_with_remote_memory(fred: Fred, place: Path) -> None:
    block = "{block: ring, npus: 4, bytes_per_s: 50e9, latency_s: 500e-9}"
    (place / "ring.yaml").write_text(f"kind: blocks\nblocks: [{block}]\n")
    (place / "pool.yaml").write_text(POOL.format(nodes=5, joined=1))
    line = ("estimate", "--topology", "ring.yaml", "--workload", "resnet-50")
    line = (*line, "--strategy", "MP1-DP4-PP1", "--json")
    status, _, err = fred(*line)
    assert status == 2 and "must have I/O controllers" in err
    out = fred.out(*line, "--memory", "pool.yaml")
    assert json.loads(out)["communication_s"]["input_load"] > 0


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (POOL.format(nodes=2, joined=1), "num-nodes: must be enough for the 20 NPUs .*, not 2"),
        ("memory-type: NO_MEMORY_EXPANSION", "memory-type: must be a kind of memory, not NO_.*"),
    ],
)
def test_estimate_refuses_memory_that_is_none(
    text: str, line: str, fred: Fred, place: Path
) -> None:
    (place / "pool.yaml").write_text(text)
    given = ("--topology", "fred-d", "--workload", "gpt-3", "--memory", "pool.yaml")
    status, out, err = fred("estimate", *given)
    assert (status, out) == (2, "") and re.fullmatch(rf"error: pool\.yaml: {line}\n", err)


def test_estimate_puts_hardware_beside_itself(
    fred: Fred, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(_: object, tasks: Sequence[Sequence[Task]], *__: object, **___: object) -> IterationRun:
        assert len(tasks) == 20 and {len(one) for one in tasks} == {85, 89}
        times = [[(10 * place, 10 * place + 7) for place in range(len(one))] for one in tasks]
        circuits = [["" if task.cycles else "mp" for task in one] for one in tasks]
        return IterationRun("verilator", times, circuits)

    monkeypatch.setattr("testbench.collectives.iteration_in_rtl.run_tasks", run)
    examples = Path(__file__).parents[3] / "examples"
    arguments = ("estimate", "--topology", "fred-d", "--workload", f"{examples}/iteration.yaml")
    arguments = (*arguments, "--rtl", f"{examples}/wafer-20.yaml")
    monkeypatch.setattr("testbench.designs.MeasuredDesign.sha256", "0" * 64)
    monkeypatch.setattr("testbench.measurement.find_simulator", lambda _: ("5.6", Path()))
    more = ("--timeline", "timeline.json", "--record", "record.json")
    said = fred.json(*arguments, *more)
    assert said["rtl"]["cycles"] == 887
    record = load_iteration(place / "record.json")
    assert (record.cycles, record.strategy, record.link_cycles) == (887, "MP2-DP5-PP2", 23)
    assert record.topology["kind"] == "fred" and len(record.npus) == 20
    assert record.command.startswith("fred estimate --topology fred-d --workload ")
    model = simulated(record)
    assert model.request.topology.npus == 20
    assert model.iteration.time_s == pytest.approx(said["iteration_time_s"])
    assert said["rtl"]["iteration_time_s"] == pytest.approx(887 / said["rtl"]["clock_hz"])
    assert said["rtl"]["model_s"] == pytest.approx(said["iteration_time_s"], rel=1e-12)
    assert said["rtl"]["ratio"] == pytest.approx(
        said["iteration_time_s"] / said["rtl"]["iteration_time_s"]
    )
    events = json.loads((place / "timeline.json").read_text())["traceEvents"]
    names = {one["pid"]: one["args"]["name"] for one in events if one["name"] == "process_name"}
    assert names[3] == "NPU 3, stage 1, estimate" and names[23] == "NPU 3, hardware"
    order = [one for one in events if one["name"] == "process_sort_index"]
    places = {one["pid"]: one["args"]["sort_index"] for one in order}
    assert [places[pid] for pid in (3, 23, 4)] == [6, 7, 8]
    assert sum(one["ph"] == "X" and one["pid"] == 20 for one in events) == 89
    out = fred(*arguments)[1]
    assert "887" in out and "estimate / hardware" in out


def test_estimate_has_controllers_in_hardware_too(
    fred: Fred, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(made: WaferProgram, tasks: Sequence[Sequence[Task]], *_: object, **__: object) -> Any:
        assert made.endpoints == len(tasks) == 38
        assert {len(one) for one in tasks[20:]} == {0, 1, 8, 13}
        times = [[(10 * place, 10 * place + 7) for place in range(len(one))] for one in tasks]
        circuits = [["" if task.cycles else "dp" for task in one] for one in tasks]
        return IterationRun("verilator", times, circuits)

    monkeypatch.setattr("testbench.collectives.iteration_in_rtl.run_tasks", run)
    examples = Path(__file__).parents[3] / "examples"
    files = (f"{examples}/fred-d-controllers.yaml", f"{examples}/iteration-streaming.yaml")
    given = ("--topology", files[0], "--workload", files[1], "--timeline", "timeline.json")
    out = fred.out("estimate", *given, "--rtl", f"{examples}/wafer-20-controllers.yaml")
    assert "estimate / hardware" in out
    events = json.loads((place / "timeline.json").read_text())["traceEvents"]
    names = {one["pid"]: one["args"]["name"] for one in events if one["name"] == "process_name"}
    assert names[38 + 20] == "I/O controller 20, hardware" and 20 not in names
    order = {one["pid"] for one in events if one["name"] == "process_sort_index"}
    assert order == {*range(20), *range(38, 76)}
    said = {one["name"] for one in events if one["ph"] == "X" and one["pid"] == 38 + 20}
    assert {"weights of embedding, forward", "gradients of layer"} <= said


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ((), "estimate: --record: must be given with --rtl"),
        (
            ("--rtl", "wafer.yaml", "--samples", "8"),
            "estimate: --samples: must not be given with --record: set it in the files",
        ),
    ],
)
def test_a_record_is_of_hardware_and_of_files(more: tuple[str, ...], line: str, fred: Fred) -> None:
    given = ("--topology", "fred-d", "--workload", "gpt-3", "--record", "record.json", *more)
    status, out, err = fred("estimate", *given)
    assert (status, out, err) == (2, "", f"error: {line}\n")
