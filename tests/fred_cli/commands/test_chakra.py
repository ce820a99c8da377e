"""Tests of fred_cli.commands.chakra."""

import gzip
import json
import math
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from docs.generate.reference import EXAMPLES
from tests.fred_cli.fred import Fred
from tests.tracemodel.chakra.golden import ALL_REDUCE, LLAMA, LLAMA_SHA256
from tests.tracemodel.chakra.pytorch_traces import execution_trace, kineto_trace
from tests.written import written
from tracemodel.astra.files.groups import load_groups
from tracemodel.chakra.files import encode, read, write
from tracemodel.chakra.kinds import NodeType
from tracemodel.chakra.node import Attr, InOut, Metadata, Node

GOAL = """num_ranks 2
rank 0 {
a: calc 2000
b: send 8b to 1 tag 4
b requires a
}
rank 1 {
a: recv 8b from 0 tag 4
}
"""
NETWORK = {"topology": ["Ring"], "npus_count": [4], "bandwidth": [50], "latency": [500]}
TEXT = "DATA\n1\na -1 10 NONE 0 20 NONE 0 30 ALLREDUCE 300 7\n"


@pytest.fixture
def traces(place: Path) -> Path:
    (place / "golden.et").write_bytes(ALL_REDUCE)
    (place / "ring.goal").write_text(GOAL)
    (place / "work.txt").write_text(TEXT)
    return place


def test_show_shows_nodes(fred: Fred, traces: Path) -> None:
    out = fred.out("chakra", "show", "golden.et")
    assert "golden.et: schema version 0.0.4\n" in out
    assert re.search(
        r"0 +all_reduce_8npus_1MB +COMM_COLL_NODE +- +0 +comm_type=0, comm_size=1048576", out
    )
    found = fred.json("chakra", "show", "golden.et")
    assert (found["metadata"]["version"], found["nodes_total"]) == ("0.0.4", 1)
    assert found["nodes"][0]["attrs"][2] == {"name": "comm_size", "kind": "int64", "value": 1048576}
    few = fred.json("chakra", "show", "golden.et", "--limit", "0")
    assert (few["nodes"], few["nodes_total"]) == ([], 1)
    assert "0 of 1 nodes" in fred.out("chakra", "show", "golden.et", "--limit", "0")


def test_show_has_what_is_no_number_as_protobuf_has_it_in_json(fred: Fred, traces: Path) -> None:
    values = (math.nan, math.inf, -math.inf, 1.5)
    write(traces / "n.et", [Node(1, attrs=(Attr("x", "double_list", values),))])

    def refuse(text: str) -> None:
        raise AssertionError(text)

    said = json.loads(fred.out("chakra", "show", "n.et", "--json"), parse_constant=refuse)
    assert said["nodes"][0]["attrs"][0]["value"] == ["NaN", "Infinity", "-Infinity", 1.5]


def test_show_has_bytes_and_lists(fred: Fred, traces: Path) -> None:
    attrs = (Attr("b", "bytes_list", (b"\xff", b"")), Attr("n"), Attr("s", "bytes", b"\1"))
    write(traces / "a.et", [Node(1, attrs=attrs, type=99)])
    (node,) = fred.json("chakra", "show", "a.et")["nodes"]
    assert [one["value"] for one in node["attrs"]] == [["ff", ""], None, "01"]
    assert node["type"] == "99"
    assert "not said" not in fred.out("chakra", "show", "a.et")


def test_what_a_file_says_does_not_reach_the_terminal_raw(fred: Fred, traces: Path) -> None:
    attrs = (Attr("\x1b[2J", "string", "\x1b[2J"),)
    write(traces / "a.et", [Node(1, "\x1b[2J\n", 4, attrs=attrs)], metadata=Metadata("\x1b", attrs))
    assert "\x1b" not in fred.out("chakra", "show", "a.et")


def test_stats_counts(fred: Fred, traces: Path) -> None:
    (found,) = fred.json("chakra", "stats", "golden.et")["traces"]
    assert found["collectives"] == {"all_reduce": [1, 1048576]}
    out = fred.out("chakra", "stats", "golden.et")
    assert re.search(r"golden\.et +all_reduce +1 +1,048,576", out)


def test_goal_becomes_a_set_that_is_valid(fred: Fred, traces: Path) -> None:
    out = fred.out("chakra", "convert", "ring.goal", "-o", "sets/ring", "--json")
    assert [one["file"] for one in json.loads(out)["files"]] == [
        *("sets/ring.0.et", "sets/ring.1.et")
    ]
    said = fred.out("chakra", "validate", "sets/ring")
    assert said == (
        "sets/ring.0.et: 2 nodes can run, in 2 levels\n"
        "sets/ring.1.et: 1 nodes can run, in 1 levels\n"
        "2 ranks: 1 messages match\n"
    )
    found = fred.json("chakra", "validate", "sets/ring")
    assert (found["valid"], found["messages"]) == (True, 1)
    assert re.search(r"ring\.0\.et +send +1 +8", fred.out("chakra", "stats", "sets/ring"))


def test_collectives_of_groups_are_checked(fred: Fred, traces: Path) -> None:
    """Rank 2 of group 1 has no all-reduce of 8 bytes; without the groups nobody knows it."""
    values = (("comm_type", "int64", 0), ("comm_size", "int64", 8), ("pg_name", "string", "1"))
    attrs = tuple(Attr(*one) for one in values)
    for rank in range(3):
        nodes = [Node(1, type=NodeType.COMM_COLL_NODE, attrs=attrs)] if rank == 0 else []
        write(traces / f"g.{rank}.et", nodes)
    (traces / "groups.json").write_text('{"1": [0, 2]}')
    assert fred.json("chakra", "validate", "g")["valid"]
    status, _, said = fred("chakra", "validate", "g", "--groups=groups.json")
    line = "must take part in 1 all_reduce of 8 bytes in group 1, as rank 0 with node 1 does"
    assert (status, said) == (2, f"error: g.2.et: {line}, not in 0\n")
    said = fred("chakra", "validate", "g.0.et", "--groups=groups.json")[2]
    assert "--groups: must be left out with a single trace" in said


def test_text_becomes_a_trace_for_each_npu(fred: Fred, traces: Path) -> None:
    out = fred.out("chakra", "convert", "work.txt", "-o", "w.et", "--npus", "3", "--passes", "2")
    assert len(out.splitlines()) == 3
    assert len(list(read(traces / "w.2.et"))) == 2 * 3
    assert (traces / "w.0.et").read_bytes() == (traces / "w.2.et").read_bytes()
    assert not (traces / "w.et").exists()


def test_transformer_text_becomes_a_set_with_its_groups(fred: Fred, traces: Path) -> None:
    head = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 checkpoints: 1 0"
    layer = "a -1 10 ALLREDUCE 4096 20 ALLREDUCE 4096 30 ALLREDUCE 4096 1\n"
    written(traces / "gpt.txt", f"{head} checkpoint_initiates: 1 1\n2\n{layer * 2}")
    fred.out("chakra", "convert", "gpt.txt", "-o", "gpt", "--npus", "4")
    groups = {"1": (0, 1), "2": (2, 3), "3": (0, 2), "4": (1, 3)}
    assert load_groups(traces / "gpt.groups.json") == groups
    written(traces / "sys.json", {"all-reduce-implementation": ["ring"]})
    written(traces / "net.json", NETWORK)
    line = ["--system=sys.json", "--network=net.json", "--groups=gpt.groups.json"]
    found = fred.json("estimate", "--workload=gpt", *line)
    # Two layers of 60 us, and the forward pass of the first again.
    assert [row["compute_ns"] for row in found["ranks"]] == [130_000] * 4
    assert found["ranks"][0]["communication_ns"] > 0


def test_trace_becomes_json_and_comes_back(fred: Fred, traces: Path) -> None:
    fred.out("chakra", "convert", "golden.et", "-o", "a.json")
    assert json.loads((traces / "a.json").read_text().splitlines()[0]) == {"version": "0.0.4"}
    (traces / "b.json").write_bytes(gzip.compress((traces / "a.json").read_bytes()))
    fred.out("chakra", "convert", "b.json", "-o", "b.et")
    assert (traces / "b.et").read_bytes() == ALL_REDUCE


@pytest.mark.parametrize("ending", [".et.gz", ".json", ".json.gz"])
@pytest.mark.parametrize("source", ["golden.et", "ring.goal", "work.txt", "gpt.txt", "iteration"])
def test_conversion_writes_what_the_name_says(
    fred: Fred, traces: Path, source: str, ending: str
) -> None:
    head = "HYBRID_TRANSFORMER model_parallel_NPU_group: 2"
    written(traces / "gpt.txt", f"{head}\n1\na -1 10 ALLREDUCE 8 20 ALLREDUCE 8 30 ALLREDUCE 8 1\n")
    words = {
        "work.txt": ["work.txt", "--npus=2"],
        "gpt.txt": ["gpt.txt", "--npus=4"],
        "iteration": ["--workload=own.yaml", "--topology=mesh:2x2", "--strategy=MP2-DP2-PP1"],
    }.get(source, [source])
    ranks = {"golden.et": None, "ring.goal": 2, "work.txt": 2}.get(source, 4)

    def convert(folder: str, ending: str) -> list[Path]:
        files = fred.json("chakra", "convert", *words, "-o", f"{folder}/w{ending}")["files"]
        assert all((traces / one["file"]).stat().st_size == one["bytes"] for one in files)
        names = ["w"] if ranks is None else [f"w.{rank}" for rank in range(ranks)]
        groups = ["w.groups.json"] if ranks == 4 else []
        paths = [f"{folder}/{name}{ending}" for name in names]
        assert [one["file"] for one in files] == [*paths, *(f"{folder}/{one}" for one in groups)]
        return [traces / path for path in paths]

    for plain, path in zip(convert("plain", ".et"), convert("other", ending), strict=True):
        assert list(read(path)) == list(read(plain))
        data = path.read_bytes()
        assert data.startswith(b"\x1f\x8b") == ending.endswith(".gz")
        text = gzip.decompress(data) if ending.endswith(".gz") else data
        assert text.startswith(b"{") == (".json" in ending)


def test_iteration_of_a_workload_becomes_a_set_with_its_groups(fred: Fred, traces: Path) -> None:
    options = ("--workload", "own.yaml", "--topology", "mesh:2x2", "--strategy", "MP2-DP2-PP1")
    out = fred.json("chakra", "convert", *options, "-o", "w")
    assert [one["file"] for one in out["files"]] == [
        *(f"w.{n}.et" for n in range(4)),
        "w.groups.json",
    ]
    assert fred.json("chakra", "validate", "w")["valid"]
    groups = json.loads((traces / "w.groups.json").read_text())
    assert sorted(map(len, groups.values())) == [2, 2, 2, 2]


@pytest.mark.parametrize("topology", ["mesh:2x2", "wafers:2xmesh:2x1"])
@pytest.mark.parametrize("strategy", ["MP2-DP2-PP1", "MP1-DP2-PP2"])
def test_exported_iteration_ends_where_it_does_itself(
    fred: Fred, traces: Path, strategy: str, topology: str
) -> None:
    options = ("--workload", "own.yaml", "--topology", topology, "--strategy", strategy)
    fred.out("chakra", "convert", *options, "-o", "w")
    (traces / "system.yaml").write_text("all-reduce-implementation: [ring]\n")
    inputs = ("--network", topology, "--system", "system.yaml", "--groups", "w.groups.json")
    _, traced, _ = fred("estimate", *inputs, "--workload", "w", "--json")
    _, direct, _ = fred("estimate", *options, "--json")
    end_ns = round(1e9 * json.loads(direct)["iteration_time_s"])
    assert json.loads(traced)["total_ns"] == end_ns > 0


def test_exported_iteration_runs_with_compute_by_the_roofline_of_a_system(fred: Fred) -> None:
    fred.out("chakra", "convert", "--workload", "own.yaml", "--topology", "mesh:2x2", "-o", "w")
    system = str(EXAMPLES / "astra-system.yaml")
    inputs = ("--network", "mesh:2x2", "--system", system, "--groups", "w.groups.json")
    found = fred.json("estimate", *inputs, "--workload", "w")
    assert found["total_ns"] > 0 and all(row["compute_ns"] > 0 for row in found["ranks"])


def test_real_set_is_valid_and_comes_back(fred: Fred, traces: Path) -> None:
    found = fred.json("chakra", "validate", str(LLAMA))
    assert [one["nodes"] for one in found["traces"]] == [184] * 4
    fred.out("chakra", "convert", f"{LLAMA}.3.et.gz", "-o", "a.json")
    fred.out("chakra", "convert", "a.json", "-o", "a.et")
    assert sha256((traces / "a.et").read_bytes()).hexdigest() == LLAMA_SHA256[3]


@pytest.mark.parametrize(
    ("line", "folder", "work"),
    [
        ("ring.goal -o w", "w.1.et", "tracemodel.chakra.convert.to_traces"),
        ("work.txt -o w.et --npus 3", "w.2.et", "tracemodel.chakra.convert.load_text"),
        ("golden.et -o w.json", "w.json", "tracemodel.chakra.convert.read"),
        (
            "--workload own.yaml --topology mesh:2x2 -o w",
            "w.groups.json",
            "perfmodel.training.estimate.simulate",
        ),
        (
            "--workload own.yaml --topology mesh:2x2 -o w.et",
            "w.3.et",
            "perfmodel.training.estimate.simulate",
        ),
    ],
)
def test_files_that_a_conversion_makes_are_checked_before_the_work(
    refused: Callable[..., str],
    traces: Path,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    folder: str,
    work: str,
) -> None:
    def begun(*_: object, **__: object) -> None:
        raise AssertionError("the work has begun")

    monkeypatch.setattr(work, begun)
    (traces / folder).mkdir()
    said = refused("chakra", "convert", *line.split())
    assert said == f"error: {folder}: must be a file, not a directory"


def test_folder_may_have_the_name_of_a_prefix(fred: Fred, traces: Path) -> None:
    (traces / "w").mkdir()
    fred.out("chakra", "convert", "ring.goal", "-o", "w")
    assert list((traces / "w").iterdir()) == []
    assert (traces / "w.0.et").exists() and (traces / "w.1.et").exists()


@pytest.mark.parametrize("prefix", [".", "..", "sets/", "sets/.", "/"])
def test_prefix_that_ends_in_a_folder_is_refused(refused: Callable[..., str], prefix: str) -> None:
    said = refused("chakra", "convert", "none.goal", "-o", prefix)
    assert said == f"error: {prefix}: must end with the beginning of a file name, not with a folder"


def listing(number: int, *groups: dict[str, object]) -> Node:
    """Return a metadata node that lists process groups, as PyTorch writes it."""
    inputs = InOut(json.dumps([json.dumps(groups)]))
    return Node(number, "## process_group:init ##", NodeType.METADATA_NODE, inputs=inputs)


def test_process_groups_become_a_groups_file(fred: Fred, traces: Path) -> None:
    every: dict[str, object] = {"pg_name": "7", "ranks": [], "group_size": 2}
    write(traces / "w.0.et", [listing(0, every, {"pg_name": "8", "ranks": [0]})])
    write(traces / "w.1.et", [listing(4, {"pg_name": "9", "ranks": [1]}), listing(5, every)])
    assert fred.out("chakra", "groups", "w", "-o", "g.json") == (
        "  g.json: 3 groups, besides the group of all ranks\n"
    )
    groups = {"7": (0, 1), "8": (0,), "9": (1,)}
    assert load_groups(traces / "g.json") == groups
    said = fred.json("chakra", "groups", "w.1.et", "-o", "one.json")
    assert said == {"file": "one.json", "groups": {"9": [1], "7": [0, 1]}}


def test_pytorch_traces_become_a_trace_that_runs(fred: Fred, traces: Path) -> None:
    system = written(traces / "sys.json", {"all-reduce-implementation": ["ring"]})
    network = "topology: [Ring]\nnpus_count: [2]\nbandwidth: [50]\nlatency: [500]\n"
    written(traces / "net.yaml", network)
    for rank in range(2):
        written(traces / f"et.{rank}.json", execution_trace())
        written(traces / f"kineto.{rank}.json.gz", gzip.compress(dumped(kineto_trace())))
        line = [f"et.{rank}.json", f"--kineto=kineto.{rank}.json.gz", f"--output=w.{rank}.et"]
        fred.out("chakra", "convert", *line)
    found = fred.json("estimate", "--workload=w", f"--system={system}", "--network=net.yaml")
    # Kernels of 80.25 us and 10 us, and before the first 50 us and a thread of no time on the host.
    assert [row["compute_ns"] for row in found["ranks"]] == [90_250] * 2
    assert found["total_ns"] == 90_250 + 50_001
    assert found["ranks"][0]["communication_ns"] > 1000
    fred.out("chakra", "convert", "et.0.json", "--kineto=kineto.0.json.gz", "--output=w.0.json")
    assert [*read(traces / "w.0.json")] == [*read(traces / "w.0.et")]


def dumped(data: object) -> bytes:
    return json.dumps(data).encode()


def test_json_that_is_no_trace_is_named(refused: Callable[..., str], traces: Path) -> None:
    files = {
        "et.json": execution_trace(),
        "kineto.json": kineto_trace(),
        "et.json.gz": gzip.compress(dumped(execution_trace())),
        "json.et": {"version": "0.0.4"},
        "other.json": {"nodes": []},
        "extra.json": '{"version": "0.0.4"}{"id": 1, "kind": 4}',
        "list.json": "[]",
        "deep.json": '{"version": "0.0.4"}{"id": ' + "[" * 500 + "]" * 500 + "}",
        "graph.json": '{"workload_graph": [{"Id": 1}]}',
        "half.json": '{"workload_graph": [{"Id"',
    }
    for name, content in files.items():
        written(traces / name, content)
    how = "fred chakra convert FILE --kineto KINETO -o TRACE.et"
    is_host = f"must be a Chakra trace, not a PyTorch execution trace, which becomes one by: {how}"
    lines = {
        "show et.json": f"et.json: {is_host}",
        "show et.json.gz": f"et.json.gz: {is_host}",
        "stats kineto.json": "kineto.json: must be a Chakra trace, not a Kineto trace, which goes "
        f"with a PyTorch execution trace of the same run: {how}",
        "convert kineto.json -o a.et": "kineto.json: must be a Chakra trace, not a Kineto trace, "
        f"which goes with a PyTorch execution trace of the same run: {how}",
        "show json.et": "json.et: must be a trace in protobuf, not JSON, whose name ends in .json",
        "show other.json": "other.json: must be a Chakra trace, not another JSON object: its first "
        "object must be the metadata, with version or attr",
        "show extra.json": "extra.json: byte 20: must be a node, not a message with the unknown "
        "key 'kind'",
        "show list.json": "list.json: byte 0: must be a JSON object, not other text",
        "show deep.json": "deep.json: byte 20: must be a node, not a message with an error: values "
        "may be nested at most 32 deep",
        "show graph.json": "graph.json: workload_graph.0.NodeType: is required and was not given",
        "show half.json": "half.json: must be JSON, not text with an error at line 1: Expecting "
        "':' delimiter",
        "convert et.json -o a.et": "--kineto: must be given for a PyTorch execution trace: the "
        "Kineto trace of the run",
        "convert golden.et --kineto kineto.json -o a.json": "--kineto: must be given only for a "
        "PyTorch execution trace",
        "convert et.json --kineto et.json -o a.et": "et.json: must be a Kineto trace, with "
        "a list traceEvents",
        "convert et.json --kineto no.json -o a.et": "no.json: must be an existing file, not a "
        "missing one",
        "convert --workload gpt-3 --topology fred-d --kineto kineto.json -o a": "fred chakra "
        "convert: --kineto: must be left out with --workload",
    }
    before = sorted(traces.iterdir())
    for arguments, line in lines.items():
        assert refused("chakra", *arguments.split()) == f"error: {line}"
    assert sorted(traces.iterdir()) == before


@pytest.mark.parametrize("command", ["validate", "stats", "show", "groups -o g.json"])
@pytest.mark.parametrize("name", ["work.txt", "ring.goal"])
def test_files_that_become_traces_name_the_command(
    refused: Callable[..., str], traces: Path, command: str, name: str
) -> None:
    line = refused("chakra", *command.split(), name)
    assert re.match(
        rf"error: {name}: must be (a Chakra trace|the prefix of .*), not a (text|sch)", line
    )
    assert line.endswith("which becomes a set of traces by: fred chakra convert FILE -o PREFIX")


def bad(folder: Path, name: str, *nodes: Node) -> None:
    (folder / name).write_bytes(b"".join(encode(nodes, Metadata("0.0.4"))))


def test_what_is_wrong_is_a_line(refused: Callable[..., str], traces: Path) -> None:
    bad(traces, "circle.et", Node(1, type=4, data_deps=(2,)), Node(2, type=4, data_deps=(1,)))
    bad(traces, "lost.et", Node(1, type=4, data_deps=(7,)))
    bad(traces, "typeless.et", Node(1))
    bad(traces, "named.et", listing(0, {"pg_name": "tp", "ranks": [0]}))
    tag = Attr("comm_tag", "string", "x")
    size, to = Attr("comm_size", "int64", 1), Attr("comm_dst", "int64", 0)
    bad(traces, "set.0.et", Node(1, type=5, attrs=(tag, size, to)))
    (traces / "half.et").write_bytes(ALL_REDUCE[:50])
    (traces / "cut.et").write_bytes(gzip.compress(ALL_REDUCE)[:-4])
    (traces / "junk.et").write_bytes(gzip.compress(ALL_REDUCE) + b"junk")
    lines = {
        "validate circle.et": "circle.et: node: must not depend on itself: 1 -> 2 -> 1",
        "stats lost.et": "lost.et: node 1: must depend on nodes of the trace, not on 7",
        "validate typeless.et": "typeless.et: node 1: type: must be from 1 to 7, not 0",
        "validate set": "set.0.et: node 1: comm_tag: must be an integer, not 'x' of kind string",
        "show half.et": "half.et: byte 8: must be a message of 72 bytes, as its length says, not "
        "of 41",
        "stats cut.et": "cut.et: byte 81: must be whole, as gzip compressed it",
        "validate junk.et": "junk.et: byte 81: must be whole, as gzip compressed it",
        "stats missing": "missing: must be the prefix of traces such as missing.0.et, of which "
        "there are none",
        "convert golden.et -o a.et --npus 2": "--npus: must be given only for a text workload",
        "convert small.yaml -o a.et": "small.yaml: must end in .et (a trace), .json (a trace as "
        "JSON, or of PyTorch), .txt (a text workload of ASTRA-sim 1.0), .goal (a schedule in GOAL)",
        "convert -o a.et": "fred chakra convert: SOURCE: must be given, or --workload, but not "
        "both",
        "convert work.txt --workload gpt-3 -o a.et": "fred chakra convert: SOURCE: must be given, "
        "or --workload, but not both",
        "convert --workload gpt-3 -o a": "fred chakra convert: --topology: must be given with "
        "--workload",
        "convert work.txt --strategy MP1-DP1-PP1 -o a": "fred chakra convert: --strategy: must be "
        "left out with SOURCE",
        "convert work.txt --topology fred-d -o a": "fred chakra convert: --topology: must be left "
        "out with SOURCE",
        "convert --workload gpt-3 --topology fred-d --npus 2 -o a": "fred chakra convert: --npus: "
        "must be left out with --workload",
        "convert work.txt -o w --npus 0": "--npus: must be an integer from 1 to 65536, not 0",
        "convert work.txt -o w --npus 99999999999": "--npus: must be an integer from 1 to 65536, "
        "not 99999999999",
        "groups golden.et -o g.json": "golden.et: must have metadata nodes named "
        "process_group:init",
        "groups half.et -o g.json": "half.et: byte 8: must be a message of 72 bytes, as its length "
        "says, not of 41",
        "groups named.et -o g.json": "named.et: pg_name: must be a number of 1 or more in a group "
        "file, not 'tp'",
        "convert half.et -o a.json": "half.et: byte 8: must be a message of 72 bytes, as its "
        "length says, not of 41",
    }
    before = sorted(traces.iterdir())
    for arguments, line in lines.items():
        assert refused("chakra", *arguments.split()) == f"error: {line}"
    assert sorted(traces.iterdir()) == before


def test_group_needs_a_command(refused: Callable[..., str]) -> None:
    assert refused("chakra") == "error: fred chakra: Missing command."
    assert refused("chakra", "dot") == "error: fred chakra: No such command 'dot'."


def test_schedule_of_short_computations_runs_to_the_nanosecond(fred: Fred, tmp_path: Path) -> None:
    lines = [f"c{k}: calc 400" for k in range(100)]
    lines += [f"c{k} requires c{k - 1}" for k in range(1, 100)]
    path = written(tmp_path / "chain.goal", "\n".join(["num_ranks 1", "rank 0 {", *lines, "}"]))
    fred.out("chakra", "convert", str(path), "-o", str(tmp_path / "chain"))
    system = written(tmp_path / "system.json", "{}")
    given = ["--network=mesh:2x1", f"--system={system}", f"--workload={tmp_path / 'chain'}"]
    status, out, _ = fred("estimate", *given, "--json")
    assert (status, json.loads(out)["total_ns"]) == (0, 40_000)
