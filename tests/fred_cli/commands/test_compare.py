"""Tests of `fred compare`."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fred_hw.files import load_model
from perfmodel.collectives.themis.plan import POLICIES
from perfmodel.switch_timing.networks import SHIPPED_NETWORKS, NetworkRecord
from perfmodel.topology.parse import FABRICS
from perfmodel.training.compare import compare
from perfmodel.training.request import read_requests
from perfmodel.workloads.workload import WORKLOADS
from tests.fred_cli.fred import Fred


@pytest.mark.slow
def test_compare_has_a_row_for_each_pair(
    fred: Fred, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = compare(read_requests(FABRICS, WORKLOADS))
    monkeypatch.setattr("perfmodel.training.compare.compare", lambda *_: once)
    rows = fred.json("compare", "--csv", "compare.csv")["rows"]
    assert (
        len({(row["workload"], row["topology"]) for row in rows})
        == len(rows)
        == len(WORKLOADS) * len(FABRICS)
    )
    with (place / "compare.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [float(row["iteration [s]"]) for row in table] == [
        row["iteration_time_s"] for row in rows
    ]
    out = fred.out("compare")
    for row in rows:
        line = rf"^\s*{row['workload']}\s+{row['strategy']}\s+{row['topology']}\s+[\d,.]+"
        assert re.search(line, out, re.MULTILINE)


def test_compare_takes_fabrics_and_workloads(fred: Fred) -> None:
    arguments = ("--topology", "mesh:2x2", "--topology", "mesh:4x1", "--workload", "own.yaml")
    rows = fred.json("compare", *arguments)["rows"]
    assert [(row["topology"], row["strategy"]) for row in rows] == [
        ("mesh:2x2", "MP2-DP2-PP1"),
        ("mesh:4x1", "MP2-DP2-PP1"),
    ]


def test_without_names_a_model_of_compute_takes_the_workloads_that_it_knows(
    fred: Fred, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Transformers take longer to calibrate.
    monkeypatch.setattr("perfmodel.workloads.workload.WORKLOADS", ("resnet-152", "mine"))
    rows = fred.json("compare", "--topology", "mesh:5x4", "--compute", "calibrated")["rows"]
    assert [row["workload"] for row in rows] == ["resnet-152"]


@pytest.mark.parametrize("command", ["compare", "strategies --samples 20 --least-npus 20"])
def test_rates_of_npus_are_those_of_all_fabrics(fred: Fred, command: str) -> None:
    fabrics = ("--topology", "mesh:5x4", "--topology", "fred-d")
    line = (*command.split(), *fabrics, "--workload", "resnet-152", "--json")
    usual, fast = (
        {(row["topology"], row["strategy"]): row["busy_s"] for row in json.loads(said)["rows"]}
        for said in (
            fred(*line)[1],
            fred(*line, "--npu=peak_flops=1e18", "--npu=hbm_bytes_per_s=1e15")[1],
        )
    )
    assert usual.keys() == fast.keys() and len({name for name, _ in usual}) == 2
    assert all(fast[key] < usual[key] / 100 for key in usual)


@pytest.mark.parametrize("command", ["compare", "strategies --workload gpt-3"])
def test_network_models_of_traces_are_refused_with_the_command_that_takes_them(
    command: str, refused: Callable[..., str]
) -> None:
    said = "error: --network-model: must be one of fluid, packet, roce, not"
    assert refused(*command.split(), "--network-model", "aware") == (
        f"{said} 'aware', which simulates all messages of traces together (fred estimate --network)"
    )
    assert refused(*command.split(), "--network-model", "loggops") == (
        f"{said} 'loggops', which takes GOAL schedules and traces (fred estimate)"
    )
    assert refused(*command.split(), "--network-model", "fluidd").startswith(f"{said} 'fluidd'")


SLOW = "kind: mesh\ncolumns: 2\nrows: 2\nnpu: {peak_flops: 1.0e+12, hbm_bytes: 90.0e+9}\n"
DIFFER = (
    r"error: --topology: must have equal NPUs unless --npu-from or --as-is is given, not "
    r"peak_flops 9\.894e\+14 and 1e\+12, hbm_bytes 8e\+10 and 9e\+10 of mesh:2x2 and slow\.yaml"
)


@pytest.mark.parametrize("command", ["compare", "strategies", "report -o made"])
def test_topologies_whose_npus_differ_are_refused_unless_told_how(
    command: str, fred: Fred, place: Path, refused: Callable[..., str]
) -> None:
    (place / "slow.yaml").write_text(SLOW)
    fabrics = ("--topology", "mesh:2x2", "--topology", "slow.yaml")
    line = (*command.split(), *fabrics, "--workload", "own.yaml")
    assert re.fullmatch(DIFFER, refused(*line))
    both = "error: --npu-from: must not be given if NPUs are compared as they are"
    assert refused(*line, "--as-is", "--npu-from", "slow.yaml") == both
    if command.startswith("report"):
        assert not (place / "made").exists()
        return
    slow, same = (
        {(row["topology"], row["strategy"]): row for row in fred.json(*line, *how)["rows"]}
        for how in (("--as-is",), ("--npu-from", "mesh:2x2"))
    )
    for (name, strategy), row in slow.items():
        other = same[name, strategy]
        assert (row["busy_s"] > 10 * other["busy_s"]) == (name == "slow.yaml")
        assert other["memory"]["available_bytes"] == 8e10


def test_readings_give_a_range(fred: Fred, place: Path) -> None:
    line = ("compare", "--topology", "mesh:2x2", "--topology", "mesh:4x1", "--workload", "own.yaml")
    more = ("--reading", "compute=weights", "--reading", "compute=peak:2,placement=linear")
    rows = fred.json(*line, *more, "--csv", "all.csv")["rows"]
    assert [[*row["readings"]] for row in rows] == [list(more[1::2])] * 2
    with (place / "all.csv").open() as file:
        table = list(csv.DictReader(file))
    out = fred.out(*line, *more)
    for row, cells in zip(rows, table, strict=True):
        every = (row["speedup"], *row["readings"].values())
        band = min(every), max(every)
        assert (float(cells["least speedup"]), float(cells["largest speedup"])) == band
        assert f"{band[0]:.3f} to {band[1]:.3f}" in out
    assert "readings" not in fred.json(*line)["rows"][0]


POOL = "memory-type: MEMORY_POOL\nremote-mem-bw: 1\n"
NODES = "memory-type: PER_NODE_MEMORY_EXPANSION\nremote-mem-bw: 1\nnum-nodes: 5\n"


@pytest.mark.parametrize("command", ["compare", "strategies --samples 20 --least-npus 20"])
def test_remote_memory_is_that_of_all_fabrics(command: str, fred: Fred, place: Path) -> None:
    (place / "pool.yaml").write_text(POOL)
    fabrics = ("--topology", "fred-d", "--topology", "mesh:5x4")
    line = (*command.split(), *fabrics, "--workload", "resnet-152", "--json")
    usual, pool = (
        {(row["topology"], row["strategy"]): row for row in json.loads(said)["rows"]}
        for said in (fred(*line)[1], fred(*line, "--memory", "pool.yaml")[1])
    )
    assert usual.keys() == pool.keys() and len({name for name, _ in usual}) == 2
    for key, row in pool.items():
        # A pool of 1 GB/s for all takes longer than any I/O controllers.
        assert row["communication_s"]["input_load"] > usual[key]["communication_s"]["input_load"]


@pytest.mark.parametrize("command", ["compare", "strategies"])
def test_remote_memory_must_be_there_for_the_largest_fabric(
    command: str, place: Path, refused: Callable[..., str]
) -> None:
    (place / "nodes.yaml").write_text(f"{NODES}num-npus-per-node: 1\n")
    fabrics = ("--topology", "mesh:2x2", "--topology", "fred-d")
    line = (command, *fabrics, "--workload", "resnet-152", "--memory")
    assert "nodes.yaml: num-nodes: must be enough for the 20 NPUs" in refused(*line, "nodes.yaml")
    assert "none.yaml: must be an existing file" in refused(*line, "none.yaml")


FEW = ("--topology", "mesh:2x2", "--topology", "mesh:4x1", "--size", "1MiB")


def test_algorithms_are_compared_on_topologies(fred: Fred, place: Path) -> None:
    arguments = ("compare", "--algorithms", *FEW, "--pattern", "all_reduce", "--csv", "all.csv")
    rows = fred.json(*arguments)["rows"]
    assert {(row["topology"], row["pattern"]) for row in rows} == {
        ("mesh:2x2", "all_reduce"),
        ("mesh:4x1", "all_reduce"),
    }
    assert {"ring", "multitree"} <= {row["algorithm"] for row in rows}
    (best,) = {row["time_s"] for row in rows if row["of_all"]}
    assert best == min(row["time_s"] for row in rows)
    with (place / "all.csv").open() as file:
        assert [float(row["time [s]"]) for row in csv.DictReader(file)] == [
            row["time_s"] for row in rows
        ]
    out = fred.out(*arguments)
    assert len(re.findall(r"^\s*all_reduce\s+1 MiB\s+4\s+mesh:", out, re.MULTILINE)) == 2


@pytest.mark.parametrize("groups", [["0-2"], ["0-2", "1,3"], ["0,1", "1,0"]])
def test_algorithms_are_compared_over_groups(fred: Fred, groups: list[str]) -> None:
    options = [word for group in groups for word in ("--group", group)]
    how = ("--algorithms", *FEW, "--pattern", "broadcast", *options)
    rows = fred.json("compare", *how)["rows"]
    members = [[0, 1, 2] if group == "0-2" else [*map(int, group.split(","))] for group in groups]
    for group in members:
        own = [row for row in rows if row["group"] == group]
        assert {row["topology"] for row in own} == {"mesh:2x2", "mesh:4x1"}
        best_s = min(row["time_s"] for row in own)
        assert {row["time_s"] for row in own if row["of_all"]} == {best_s}
    assert all(row["group"] in members for row in rows)


ONCE = "--{}: must be given once for each value, not '{}' twice"


def orders_of_dimensions(fred: Fred, pattern: str, size: int) -> set[str]:
    """Return the orders of dimensions among the algorithms of a collective on four NPUs."""
    how = ("--topology", "mesh:2x2", "--pattern", pattern, "--size", str(size))
    rows = fred.json("compare", "--algorithms", *how)["rows"]
    return {row["algorithm"] for row in rows} & POLICIES.keys()


@pytest.mark.parametrize(
    ("pattern", "least", "words"),
    [
        ("all_reduce", 64, "64 bytes, one for each chunk"),
        ("reduce_scatter", 64, "64 bytes, one for each chunk"),
        ("all_gather", 256, "256 bytes, one of each of 4 NPUs for each chunk"),
    ],
)
def test_orders_of_dimensions_take_the_sizes_that_a_collective_takes(
    fred: Fred, pattern: str, least: int, words: str
) -> None:
    """A chunk has a byte, in an all-gather a byte of each NPU: with any network model."""
    assert orders_of_dimensions(fred, pattern, least) == {*POLICIES}
    assert orders_of_dimensions(fred, pattern, least - 1) == set()
    alone = ("collective", "--topology", "mesh:2x2", "--pattern", pattern, "--algorithm", "themis")
    for model in ("fluid", "aware"):
        how = (*alone, "--network-model", model, "--size")
        assert fred.json(*how, str(least))["size_bytes"] == least
        status, _, err = fred(*how, str(least - 1))
        assert status == 2
        assert (
            model == "fluid" or err == f"error: --size: must be at least {words}, not {least - 1}\n"
        )


def test_switches_are_those_of_the_record_in_each_output(fred: Fred, tmp_path: Path) -> None:
    options = ("compare", "--hardware", "--switches")
    status, out, _ = fred(*options, "--csv", str(tmp_path / "t.csv"))
    assert status == 0
    record = load_model(NetworkRecord, SHIPPED_NETWORKS)
    for one in record.networks:
        assert re.search(
            rf"^ *{one.ports} +{re.escape(one.network)} +{one.area_um2:,.0f} ", out, re.M
        ), one
    found = fred.json(*options)
    shown = [(row["network"], row["ports"], row["latency_ns"]) for row in found["rows"]]
    assert shown == [(one.network, one.ports, one.latency_ns) for one in record.networks]
    for front in found["fronts"]:
        assert front["networks"] == [one.network for one in record.front(front["ports"])]
    lines = (tmp_path / "t.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + len(record.networks)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("--size 1MiB", "compare: --size: must be given with --algorithms"),
        ("--algorithms --workload gpt-3", "compare: --workload: must not be given with --algo.*"),
        ("--switches", "compare: --switches: must be given with --hardware"),
        ("--algorithms --switches", "compare: --switches: must be given with --hardware"),
        ("--hardware --switches --size 1MiB", "compare: --size: must not be given with --hardware"),
        ("--algorithms --hardware", "compare: --algorithms: must not be given with --hardware"),
        ("--algorithms --pattern allreduce", r"--pattern: must be .*did you mean 'all_reduce'\?"),
        ("--algorithms --group 0-90", "--group: must hold NPUs 0 to 19 of mesh:5x4, not 20"),
        ("--algorithms --topology mesh:2x2 --topology fred-d", "--group: must be given for .*"),
        ("--algorithms --size 0B", "--size: must be .*"),
        ("--algorithms --group 0-3 --group 0-3", ONCE.format("group", "0-3")),
        ("--algorithms --group 0-3 --group 0,1,2,3", ONCE.format("group", "0,1,2,3")),
        ("--algorithms --size 1MiB --size 1024KiB", ONCE.format("size", "1024KiB")),
        ("--algorithms --pattern reduce --pattern reduce", ONCE.format("pattern", "reduce")),
        ("--algorithms --topology fred-d --topology fred-d", ONCE.format("topology", "fred-d")),
        (
            "--algorithms --network-model loggops",
            "--network-model: must be fluid, .* or roce for a topology, not loggops, which .*",
        ),
    ],
)
def test_what_is_not_for_algorithms_is_refused(fred: Fred, arguments: str, line: str) -> None:
    status, out, err = fred("compare", *arguments.split())
    assert (status, out) == (2, "")
    assert re.fullmatch(f"error: {line}\n", err), err
