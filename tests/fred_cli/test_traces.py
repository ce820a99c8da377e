"""Tests of `fred estimate` with the files and traces of ASTRA-sim."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from docs.generate.reference import EXAMPLES
from fred_cli.traces import spans
from tests.fred_cli.fred import Fred
from tests.written import written
from tracemodel.astra.engine.repeated import Ran, run_jobs
from tracemodel.chakra.files import read, write
from tracemodel.chakra.kinds import NodeType
from tracemodel.chakra.node import Attr, InOut, Node

FILES = [
    f"--{name}={EXAMPLES}/astra-{name}.yaml" for name in ("network", "system", "memory", "groups")
]
STEP = ["estimate", *FILES, f"--workload={EXAMPLES}/astra-step/step"]
KEYS = ["rank", "total_ns", "compute_ns", "communication_ns", "overlap_ns"]
KEYS.append("exposed_communication_ns")


@pytest.mark.parametrize("model", ["fluid", "unaware", "aware"])
def test_times_of_all_ranks_are_said(model: str, fred: Fred) -> None:
    said = fred.json(*STEP, "--network-model", model)
    assert said["network_model"] == model and (said["faster_than_links"] is None) == (
        model != "unaware"
    )
    assert [[*row] for row in said["ranks"]] == [KEYS] * 4
    assert [row["rank"] for row in said["ranks"]] == [0, 1, 2, 3]
    for row in said["ranks"]:
        total, compute, other, both, exposed = [*row.values()][1:]
        assert exposed == total - compute and both <= min(compute, other)
    assert said["total_ns"] == max(row["total_ns"] for row in said["ranks"])
    out = fred.out(*STEP, "--network-model", model)
    # NPUs 0 and 2 are the first at the memory of their nodes, 1 and 3 wait for them.
    for ranks, row in (("0, 2", said["ranks"][0]), ("1, 3", said["ranks"][1])):
        figures = " +".join(f"{value:,}" for value in [*row.values()][1:])
        assert re.search(rf"{ranks} +{figures}", out)


def control_trace(folder: Path, parent: int) -> list[str]:
    """Write a trace with a node that waits for another by a control dependency."""
    nodes = [Node(1, type=NodeType.COMP_NODE, duration_us=2)]
    nodes.append(Node(2, type=NodeType.COMP_NODE, ctrl_deps=(parent,), duration_us=3))
    nodes.append(Node(3, type=NodeType.COMP_NODE, ctrl_deps=(2,), attrs=(ON_CPU,), duration_us=4))
    for rank in range(2):
        write(folder / f"w.{rank}.et", nodes)
    network = written(
        folder / "net.yml", "{topology: [Ring], npus_count: [2], bandwidth: [1], latency: [0]}\n"
    )
    system = written(folder / "sys.json", "{}")
    return ["estimate", f"--workload={folder}/w", f"--network={network}", f"--system={system}"]


ON_CPU = Attr("is_cpu_op", "bool", True)


def test_control_dependencies_count_unless_they_are_ignored(fred: Fred, tmp_path: Path) -> None:
    """Compute of 2 and 3 us, then 4 us on the CPU; that begins at 0 where nothing waits for it."""
    line = control_trace(tmp_path, 1)
    assert fred.json(*line)["total_ns"] == 9_000
    assert fred.json(*line, "--no-control")["total_ns"] == 5_000


def test_control_dependency_that_does_not_exist_is_an_error(fred: Fred, tmp_path: Path) -> None:
    line = control_trace(tmp_path, 7)
    message = f"error: {tmp_path}/w.0.et: node 2: must depend on nodes of the trace, not on 7\n"
    assert fred(*line) == (2, "", message)
    assert fred("chakra", "validate", f"{tmp_path}/w") == (2, "", message)
    assert fred.json(*line, "--no-control")["total_ns"] == 5_000


def test_details_are_reported_and_written(fred: Fred, tmp_path: Path) -> None:
    names = ("csv", "collectives-csv", "links-csv", "timeline")
    line = [*STEP, "--details", *(f"--{name}={tmp_path / name}" for name in names)]
    plain, said = fred.json(*STEP), fred.json(*line)
    details = said.pop("details")
    assert said == plain
    assert [*details] == ["collectives", "links", "compute"]
    assert len(details["collectives"]) == 16 and len(details["compute"]) == 4
    assert all(
        0 <= one["exposed_ns"] <= one["end_ns"] - one["begin_ns"] for one in details["collectives"]
    )
    assert all(0 < one["utilization"] <= 1 for one in details["links"])
    rows = {name: (tmp_path / name).read_text().splitlines() for name in names[:3]}
    assert rows["csv"][0].split(",")[3:9] == KEYS
    assert [len(one) - 1 for one in rows.values()] == [4, 16, len(details["links"])]
    events = json.loads((tmp_path / "timeline").read_text())["traceEvents"]
    assert {one["pid"] for one in events} == {0, 1, 2, 3}
    assert max(one.get("ts", 0) + one.get("dur", 0) for one in events) == pytest.approx(
        said["total_ns"] / 1000
    )
    out = fred.out(*line)
    for title in ("busiest links", "collectives with the longest", "compute nodes by the roof"):
        assert title in out


def test_ranks_of_several_networks_are_rows(fred: Fred, tmp_path: Path) -> None:
    fred.out(*STEP, "--network=fred-d", f"--csv={tmp_path / 'a.csv'}")
    rows = (tmp_path / "a.csv").read_text().splitlines()
    assert len(rows) == 1 + 2 * 4 and rows[5].split(",")[1] == "fred-d"
    status, _, said = fred(*STEP, "--network=fred-d", f"--timeline={tmp_path / 't'}")
    assert status == 2
    assert "--timeline: must be left out with more than one --network" in said


def test_congestion_is_no_faster(fred: Fred) -> None:
    ends = [
        fred.json(*STEP, "--network-model", model)["total_ns"]
        for model in ("unaware", "fluid", "aware")
    ]
    assert ends[0] < ends[1] < ends[2]


TWO_WAFERS = """
kind: wafers
wafer: wafer.yaml
wafers: 2
join: switch
bytes_per_s: {}
latency_s: 5e-7
"""
TWO_NPUS = """
kind: fred
l1: [{count: 2, npus: 1, io_controllers: 1, record: l1-11}]
l2_record: l2-10
l1_l2_bytes_per_s: 3e12
in_network: false
interpolate: true
"""


@pytest.mark.slow
def test_traces_over_two_wafers_share_ethernet_between_them(fred: Fred, tmp_path: Path) -> None:
    written(tmp_path / "wafer.yaml", TWO_NPUS)
    wide = written(tmp_path / "wide.yaml", TWO_WAFERS.format("128e9"))
    narrow = written(tmp_path / "narrow.yaml", TWO_WAFERS.format("64e9"))
    step = [one for one in STEP if not one.startswith("--network")]
    fluid = fred.json(*step, f"--network={wide}")
    roce, slower = (
        fred.json(*step, f"--network={one}", "--network-model", "roce") for one in (wide, narrow)
    )
    assert [one["compute_ns"] for one in roce["ranks"]] == [
        one["compute_ns"] for one in fluid["ranks"]
    ]
    # Headers take 4.6 % of each link, and switches store a train before they forward it.
    assert 1 < roce["total_ns"] / fluid["total_ns"] < 1.25
    between = [  # NPUs send to I/O controllers, and these to controllers of the other wafer.
        one for one in roce["congestion"]["flows"] if min(one["source"], one["target"]) > 3
    ]
    assert between and roce["congestion"]["drops"] == 0
    sent_bytes = {
        end: sum(one["bytes"] for one in between if one[end] == between[0][end])
        for end in ("source", "target")
    }
    assert sent_bytes["source"] == sent_bytes["target"] > 0
    # The narrow links need twice the time for what a controller sends.
    added_ns = slower["total_ns"] - roce["total_ns"]
    assert added_ns == pytest.approx(sent_bytes["source"] * 1.048 * (1 / 64 - 1 / 128), rel=0.2)


def test_how_much_faster_than_links_a_model_is_is_said(fred: Fred) -> None:
    line = [*STEP, "--network-model", "unaware"]
    said = fred.json(*line)["faster_than_links"]
    assert (said["collectives"], said["of"]) == (8, 8)
    worst = said["worst"]
    assert worst["times"] == worst["injection_bound_ns"] / worst["time_ns"] > 1
    # Two chunks at a time, each as if it were alone: 16 MiB of each of two NPUs at 50 GiB/s.
    assert worst["injection_bound_ns"] == 312_500
    _, out, _ = fred(*line)
    assert re.search(r"8 of 8 collectives are faster than links allow; most so node 8 ", out)


def test_several_networks_are_a_table_and_a_list(fred: Fred) -> None:
    names = [FILES[0].removeprefix("--network="), "fred-d", "mesh:5x4"]
    line = ["estimate", *FILES[1:], STEP[-1], *(f"--network={name}" for name in names)]
    said = fred.json(*line)
    assert [one["network"] for one in said] == names
    assert [len(one["ranks"]) for one in said] == [4, 4, 4]
    assert said[1]["provenance"]["records"] and not said[0]["provenance"]["records"]
    # Links of a wafer have thousands of times the rate, so compute and memory decide.
    assert max(one["total_ns"] for one in said[1:]) < said[0]["total_ns"]
    assert len({one["ranks"][0]["compute_ns"] for one in said}) == 1
    alone = fred.json(*line[:-3], "--network=fred-d")
    assert alone == said[1]
    _, out, _ = fred(*line)
    for one in said:
        ratio = one["total_ns"] / said[0]["total_ns"]
        assert re.search(rf"{one['network'][-9:]} +{one['total_ns']:,} +{ratio:.3f} ", out)


def test_symmetry_changes_nothing(fred: Fred) -> None:
    found = [fred.json(*STEP, *more) for more in ([], ["--no-symmetry"])]
    assert found[0] == found[1]


MEMORY = (NodeType.MEM_LOAD_NODE, NodeType.MEM_STORE_NODE)
JOBS = ["estimate", *FILES[1:2], *FILES[3:]]


def local(folder: Path) -> str:
    """Return the prefix of traces without remote memory."""
    for rank in range(4):
        nodes = read(EXAMPLES / f"astra-step/step.{rank}.json")
        own = [node for node in nodes if node.type not in MEMORY]
        numbers = {node.id for node in own}
        deps = {one.id: tuple(d for d in one.data_deps if d in numbers) for one in own}
        write(folder / f"w.{rank}.et", [replace(one, data_deps=deps[one.id]) for one in own])
    return str(folder / "w")


def test_jobs_slow_each_other_as_links_and_priorities_say(fred: Fred, tmp_path: Path) -> None:
    prefix = local(tmp_path)
    net = written(
        tmp_path / "net.yaml", "topology: [Ring]\nnpus_count: [8]\nbandwidth: [5]\nlatency: [500]\n"
    )
    line = [*JOBS, f"--network={net}"]
    mixed = [f"--job={prefix}:0,2,4,6", f"--job={prefix}:1,3,5,7"]
    said = fred.json(*line, *mixed)["jobs"]
    assert [job["npus"] for job in said] == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert all(job["total_ns"] > job["alone_ns"] and job["slowdown"] > 1 for job in said)
    assert all(max(r["total_ns"] for r in job["ranks"]) == job["total_ns"] for job in said)
    first = [f"{mixed[0]}:2", f"{mixed[1]}:1"]
    urgent = fred.json(*line, *first)["jobs"]
    assert urgent[1]["slowdown"] == 1 < urgent[0]["slowdown"]
    out = fred.out(*line, f"--job={prefix}:0-3", f"--job={prefix}:4-7")
    assert re.search(r"w +4-7 +0 +([\d,]+) +\1 +1\.000", out)


JOB_REFUSED = {
    "--job w": r"fred estimate: --job: must be like traces/step:0-15 or step:0-3:1, not 'w'",
    "--job w:0-3 --workload w": r"fred estimate: --workload: must be left out with --job",
    "--job w:0-2": r"--job: must be an NPU for each of the 4 ranks of w, not 3",
    "--job w:3-6": r"--job: must be on NPUs 0 to 3 of the network, not 4",
    "--job w:0-3 --job w:3-0": r"--job: must be NPU numbers like 0,1,4-7, not '3-0'",
    "--job w:0-3 --job w:0,1,2,3": r"--job: must have NPUs of its own, not 0 again",
    "--job w:0,1,2,2": r"--job: must have NPUs of its own, not 2 again",
    "--job w:0-3:1 --network-model aware": (
        r"--job: must have no priority with network model aware, whose links know none"
    ),
}


@pytest.mark.parametrize("line", JOB_REFUSED)
def test_bad_jobs_are_refused(line: str, refused: Callable[..., str], place: Path) -> None:
    local(place)
    said = refused(*JOBS, FILES[0], *line.split())
    assert re.fullmatch(f"error: {JOB_REFUSED[line]}", said)


def test_traces_are_read_in_each_format(fred: Fred, tmp_path: Path) -> None:
    for rank in range(4):
        write(tmp_path / f"w.{rank}.et", read(EXAMPLES / f"astra-step/step.{rank}.json"))
    line = [*STEP, "--network-model", "unaware", "--json"]
    found = [fred.json(*line, *more) for more in ([], ["--workload", str(tmp_path / "w")])]
    assert found[0]["ranks"] == found[1]["ranks"]


def with_process_groups(folder: Path, *groups: dict[str, Any], ranks: int = 4) -> list[str]:
    """Write traces whose metadata nodes list process groups, and return how they are run."""
    inputs = InOut(json.dumps([json.dumps(groups)]))
    listed = Node(0, "## process_group:init ##", NodeType.METADATA_NODE, inputs=inputs)
    for rank in range(ranks):
        own = "low" if rank < 2 else "high"
        write(folder / f"w.{rank}.et", [listed, _coll(1, pg_name=own), _coll(2, (1,), pg_name="7")])
    return [
        "estimate",
        f"--workload={folder}/w",
        f"--system={written(folder / 's.json', {'all-reduce-implementation': ['ring']})}",
        f"--network={written(folder / 'n.yaml', NET.replace('2', '4'))}",
    ]


LISTED = (
    {"pg_name": "7", "ranks": [], "group_size": 4},
    {"pg_name": "low", "ranks": [0, 1]},
    {"pg_name": "high", "ranks": [2, 3]},
)


@pytest.mark.parametrize("model", ["fluid", "unaware", "aware"])
def test_process_groups_of_traces_are_those_of_a_groups_file(
    model: str, fred: Fred, tmp_path: Path
) -> None:
    line = [*with_process_groups(tmp_path, *LISTED), "--network-model", model]
    found = fred.json(*line)["ranks"]
    for rank in range(4):
        own = "8" if rank < 2 else "9"
        write(tmp_path / f"w.{rank}.et", [_coll(1, pg_name=own), _coll(2, (1,), pg_name="7")])
    groups = written(tmp_path / "g.json", {"7": [0, 1, 2, 3], "8": [0, 1], "9": [2, 3]})
    assert found == fred.json(*line, "--groups", str(groups))["ranks"]
    assert found[0]["communication_ns"] > 0


def test_groups_file_goes_before_process_groups(
    refused: Callable[..., str], tmp_path: Path
) -> None:
    line = with_process_groups(tmp_path, *LISTED)
    groups = written(tmp_path / "g.json", {"7": [0, 1, 2, 3]})
    said = refused(*line, "--groups", str(groups))
    assert said.endswith(f"pg_name: must be one of the groups of {groups}, not 'low'")


def test_process_groups_of_jobs_are_of_ranks(fred: Fred, tmp_path: Path) -> None:
    line = with_process_groups(tmp_path, *LISTED)
    del line[1]
    said = fred.json(*line, f"--job={tmp_path}/w:3,2,1,0")
    assert [row["communication_ns"] for row in said["jobs"][0]["ranks"]] == [said["total_ns"]] * 4


def test_process_group_with_a_rank_that_is_not_there_is_refused(
    refused: Callable[..., str], tmp_path: Path
) -> None:
    line = with_process_groups(tmp_path, *LISTED[:2], {"pg_name": "high", "ranks": [2, 4]})
    assert refused(*line) == (
        f"error: {tmp_path}/w.0.et: node 0: inputs: process group 'high': ranks: must be ranks 0 "
        "to 3 of the traces, not 4"
    )


def test_key_without_effect_is_a_warning_whatever_the_networks(fred: Fred, tmp_path: Path) -> None:
    system = {"all-reduce-implementation": ["ring"], "track-local-mem": 1}
    write(tmp_path / "w.0.et", [Node(0, "c", NodeType.COMP_NODE)])
    line = [f"--workload={tmp_path}/w", f"--system={written(tmp_path / 's.json', system)}"]
    status, out, err = fred("estimate", *line, "--network=fred-d", "--network=mesh:5x4")
    assert (status, err) == (0, f"warning: {tmp_path}/s.json: track-local-mem: has no effect\n")
    assert "fred-d" in out


def test_ranks_that_are_alike_are_one_row() -> None:
    assert spans([3]) == "3"
    assert spans([0, 1, 2, 5, 7, 8]) == "0-2, 5, 7-8"
    assert spans([*range(0, 20, 2)]) == "0, 2, 4, 6, 8, 10 and 4 more"


GIVEN = " ".join(FILES[:2])
REFUSED = {
    "--workload gpt-3": r"fred estimate: --topology: must be given without --network",
    GIVEN: r"fred estimate: --workload: must be given",
    f"{FILES[0]} --workload w": r"fred estimate: --system: must be given with --network",
    f"{GIVEN} --workload w --network-model no": r"--network-model: must be one of fluid, .*",
    f"{GIVEN} --workload w --network-model aware --protocol ideal": (
        r"fred estimate: --protocol: must be left out with network model aware"
    ),
    f"--network fred-d {FILES[1]} --workload w --network-model aware": (
        r"fred-d: must be a network of ASTRA-sim alone with network model aware, not one with .*"
    ),
    f"--network fred-x {FILES[1]} --workload w": r"fred-x: must be an existing file.*",
    f"--network fred-d {FILES[1]} --workload w --algorithm no": (
        r"--algorithm: must be one of the \d+ names that 'fred collective --help' lists, not 'no'"
    ),
    f"{GIVEN} --network-model aware --workload w --topology fred-d": (
        r"fred estimate: --topology: must be left out with --network"
    ),
    f"{GIVEN} --network-model aware --workload w --samples 2": (
        r"fred estimate: --samples: must be left out with --network"
    ),
    f"{GIVEN} --network-model aware --workload w --npu hbm_bytes=1": (
        r"fred estimate: --npu: must be left out with --network"
    ),
    "--topology fred-d --workload gpt-3 --network-model aware": (
        r"--network-model: must be one of fluid, packet, roce, not 'aware', which simulates all "
        r"messages of traces together \(fred estimate --network\)"
    ),
    f"{GIVEN} --network-model aware --workload w": r"w: must be the prefix of traces such as .*",
    f"{GIVEN} --network-model aware --workload {EXAMPLES}/astra-step/step": (
        r".*step\.0\.json: node 2: pg_name: must be one of the groups of --groups, or .*, not '1'|"
        r".*step\.0\.json: node 0: tensor_loc: must be local memory, as the system has no .*"
    ),
    f"{GIVEN} --network-model aware --workload w --memory missing": r"missing: must be an exi.*",
}


@pytest.mark.parametrize("line", REFUSED)
def test_options_that_do_not_go_together_are_refused(
    line: str, refused: Callable[..., str], place: Path
) -> None:
    assert re.fullmatch(f"error: {REFUSED[line]}", refused("estimate", *line.split()))


def test_rank_that_lacks_a_collective_is_named(refused: Callable[..., str], tmp_path: Path) -> None:
    nodes = [[*read(EXAMPLES / f"astra-step/step.{rank}.json")] for rank in range(4)]
    for rank, one in enumerate(nodes):
        write(tmp_path / f"w.{rank}.et", [node for node in one if (rank, node.id) != (3, 8)])
    said = refused(*STEP[:-1], f"--workload={tmp_path / 'w'}", "--network-model=unaware")
    message = "must take part in 1 all_gather of 16777216 bytes in group 4, as rank 1 with node 8"
    message += " does, not in 0"
    assert said == f"error: {tmp_path}/w.3.et: {message}"


def test_more_ranks_than_npus_are_blamed_on_the_traces(
    refused: Callable[..., str], tmp_path: Path
) -> None:
    """The groups of 16 ranks are right; a mesh of 8 NPUs is too small."""
    for rank in range(16):
        write(tmp_path / f"w.{rank}.et", [])
    groups = written(tmp_path / "w.json", '{"1": [0, 15]}')
    system = written(tmp_path / "sys.json", "{}")
    files = [f"--workload={tmp_path}/w", f"--system={system}", f"--groups={groups}"]
    said = refused("estimate", *files, "--network=mesh:4x2")
    message = "must be traces of at most the 8 NPUs of the network, not of 16"
    assert said == f"error: {tmp_path}/w: {message}"


def _coll(number: int, deps: tuple[int, ...] = (), **attrs: Any) -> Node:
    given = {"is_cpu_op": False, "comm_type": 0, "comm_size": 1024, **attrs}
    kinds = {bool: "bool", int: "int64", str: "string"}
    found = [Attr(name, kinds[type(one)], one) for name, one in given.items()]
    return Node(number, "n", NodeType.COMM_COLL_NODE, data_deps=deps, attrs=tuple(found))


def _send(number: int) -> Node:
    ends = {"comm_src": 0, "comm_dst": 1, "comm_size": 8, "comm_tag": 3}
    attrs = tuple(Attr(name, "int64", one) for name, one in ends.items())
    return Node(number, "n", NodeType.COMM_SEND_NODE, attrs=attrs)


def _load(number: int) -> Node:
    attrs = (Attr("tensor_size", "int64", 8),)
    return Node(number, "n", NodeType.MEM_LOAD_NODE, attrs=attrs)


NET = "topology: [Ring]\nnpus_count: [2]\nbandwidth: [5]\nlatency: [5]\n"
BAD: dict[str, tuple[list[Node], dict[str, str], str]] = {
    "cycle": ([_coll(1, (2,)), _coll(2, (1,))], {}, r"w\.0\.et: node: .* itself: 1 -> 2 -> 1"),
    "truncated": ([_coll(1)], {"w.1.et": ""}, r"w\.1\.et: byte \d+: .*"),
    "missing": (
        [_coll(1)],
        {"w.3.et": "x"},
        r"w\.2\.et: must exist, as the trace of rank 3 exists",
    ),
    "unreceived": ([_send(4)], {}, r"w\.0\.et: node 4: must have its receive in rank 1; .*"),
    "outside": ([_coll(1)], {"groups": '{"1": [0, 2]}'}, r"groups: 1: must hold ranks 0 to 1 .*"),
    "unknown": ([_coll(1)], {"net.yaml": NET + "hops: [1]\n"}, r"net\.yaml: hops: unknown key; .*"),
    "unequal": (
        [_coll(1)],
        {"net.yaml": NET.replace("[2]", "[2, 2]")},
        r".*npus_count: must have as .*",
    ),
    "zero": (
        [_coll(1)],
        {"net.yaml": NET.replace("[2]", "[0]")},
        r".*npus_count\.0: must be .* not 0",
    ),
    "memory": ([_load(6)], {}, r"w\.0\.et: node 6: tensor_loc: must be local memory, .*"),
    "negative": ([_coll(5, comm_size=-1)], {}, r"w\.0\.et: node 5: comm_size: .*, not -1"),
}


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("model", ["fluid", "unaware", "aware"])
def test_bad_input_is_one_line(
    what: str, model: str, refused: Callable[..., str], place: Path
) -> None:
    nodes, files, line = BAD[what]
    (place / "net.yaml").write_text(NET)
    (place / "groups").write_text('{"1": [0, 1]}')
    ring = [f"{one}-implementation: [ring]\n" for one in ("all-reduce", "all-gather")]
    (place / "sys.yaml").write_text("".join(ring))
    write(place / "w.0.et", iter(nodes))
    write(place / "w.1.et", iter(nodes if what not in ("unreceived", "memory") else []))
    for name, text in files.items():
        (place / name).write_text(text)
    if what == "truncated":
        (place / "w.1.et").write_bytes((place / "w.0.et").read_bytes()[:-3])
    given = ["--network=net.yaml", "--system=sys.yaml", "--groups=groups", "--workload=w"]
    said = refused("estimate", *given, f"--network-model={model}")
    assert re.fullmatch(f"error: {line}", said), said


def test_iterations_that_repeat_are_run_in_full_if_asked(
    fred: Fred, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, prefix = EXAMPLES / "three-layers.txt", tmp_path / "layers"
    assert (
        fred("chakra", "convert", str(text), "--npus=4", "--passes=60", "-o", str(prefix))[0] == 0
    )
    left_out: list[int] = []

    def watched(*given: Any, **named: Any) -> Ran:
        ran = run_jobs(*given, **named)
        left_out.append(ran.left_out)
        return ran

    monkeypatch.setattr("tracemodel.astra.estimate.run_jobs", watched)
    line = ["estimate", "--network=mesh:2x2", f"--system={EXAMPLES / 'ring-system.yaml'}"]
    line += [f"--workload={prefix}", "--json"]
    said = [fred(*line, *more) for more in ([], ["--no-repeats"])]
    assert said[0] == said[1] and said[0][0] == 0
    assert left_out[0] > 30 and left_out[1] == 0
