"""Tests of tracemodel.chakra.pytorch."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from fred_hw.errors import InputError, InputWarning
from tests.tracemodel.chakra.pytorch_traces import event, execution_trace, kineto_trace, operator
from tests.written import written
from tracemodel.chakra.kinds import NodeType
from tracemodel.chakra.node import Metadata, Node
from tracemodel.chakra.process_groups import ProcessGroups
from tracemodel.chakra.pytorch import from_pytorch

SCHEMA = "1.1.1-chakra.0.0.4"


def converted(folder: Path, host: Any = None, device: Any = None) -> tuple[list[Node], Metadata]:
    path = written(folder / "et.json", host or execution_trace())
    return from_pytorch(path, written(folder / "kineto.json", device or kineto_trace()))


def by_name(nodes: list[Node]) -> dict[str, Node]:
    return {node.name.split("(")[0]: node for node in nodes}


def values(node: Node) -> dict[str, Any]:
    return {attr.name: attr.value for attr in node.attrs}


def test_host_and_device_are_one_graph(tmp_path: Path) -> None:
    nodes, metadata = converted(tmp_path)
    names = {node.id: node.name.split("(")[0] for node in nodes}
    assert [*names] == list(range(11))
    graph = {
        (node.id, names[node.id]): sorted(names[dep] for dep in node.data_deps) for node in nodes
    }
    thread, nccl = (
        "[pytorch|profiler|execution_trace|thread]",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
    )
    assert graph == {
        (0, thread): [],
        (1, "## process_group:init ##"): [thread],
        (2, "aten::matmul"): ["## process_group:init ##"],
        (3, "aten::mm"): ["aten::matmul"],
        (4, "gemm"): ["aten::mm"],
        (5, "nccl:all_reduce"): ["aten::mm"],
        (6, "record_param_comms"): ["nccl:all_reduce"],
        (7, nccl): ["record_param_comms"],
        (8, thread): [],
        # The thread begins after the others paused; its kernel was made to wait for the all-reduce.
        (9, "aten::add"): sorted([thread, "record_param_comms"]),
        (10, "add"): ["aten::add", "gemm", nccl],
    }
    assert {attr.name: attr.value for attr in metadata.attrs} == {
        "schema": "1.1.1-chakra.0.0.4",
        "pid": 17,
        "time": "2025-01-01 00:00:00",
    }


def test_times_of_operators_are_without_those_of_what_they_call(tmp_path: Path) -> None:
    nodes = by_name(converted(tmp_path)[0])
    found = {
        name: (nodes[name].duration_us, values(nodes[name]).get("duration_ns"))
        for name in ("aten::matmul", "aten::mm", "nccl:all_reduce", "gemm", "add")
    }
    assert found == {
        "aten::matmul": (19, 19_500),
        "aten::mm": (30, 30_500),
        "nccl:all_reduce": (10, None),
        "gemm": (80, 80_250),
        "add": (10, None),
    }
    assert nodes["aten::mm"].start_us == 110


def test_collective_has_its_bytes_and_group(tmp_path: Path) -> None:
    nodes = by_name(converted(tmp_path)[0])
    reduce = nodes["ncclDevKernel_AllReduce_Sum_f32_RING_LL"]
    wanted = {"is_cpu_op": False, "comm_type": 0, "comm_size": 4096, "pg_name": "7", "stream": 20}
    assert (reduce.type, values(reduce)) == (NodeType.COMM_COLL_NODE, wanted)
    listed = nodes["## process_group:init ##"]
    groups = ProcessGroups(2)
    groups.add(listed.groups, "", 0)
    assert groups.groups == {"7": (0, 1)}


def kernel(folder: Path, name: str, operator_name: str, **args: Any) -> Node:
    """Return the node of a kernel that the operator 5 launches."""
    host, device = execution_trace(), kineto_trace()
    host["nodes"][4]["name"] = operator_name
    launched = event("kernel", name, 300, 1, correlation=101, stream=7, **args)
    device["traceEvents"][12] = launched
    return next(node for node in converted(folder, host, device)[0] if node.name == name)


@pytest.mark.parametrize(
    ("name", "operator_name", "args", "wanted"),
    [
        ("ncclKernel_ReduceScatter_RING_LL", "x", {}, {"comm_type": 7}),
        ("ncclDevKernel_AllGather_RING_LL", "x", {}, {"comm_type": 2}),
        ("ncclDevKernel_Reduce_Sum", "x", {}, {"comm_type": 1}),
        ("ncclDevKernel_Broadcast_RING_LL", "x", {}, {"comm_type": 5}),
        ("ncclDevKernel_SendRecv", "nccl:all_to_all", {}, {"comm_type": 6}),
        ("ncclDevKernel_SendRecv", "x", {}, {"comm_type": 6}),
        ("ncclDevKernel_SendRecv", "nccl:send 0->1", {"Dst_Rank": 1}, {"comm_dst": 1}),
        ("ncclDevKernel_SendRecv", "c10d::recv_", {"Src_Rank": 3}, {"comm_src": 3}),
        (
            "ncclDevKernel_Generic",
            "x",
            {"Collective_name": "_allgather_base", "In_msg_nelems": 6, "dtype": "BFloat16"},
            {"comm_type": 2, "comm_size": 12},
        ),
        (
            "ncclDevKernel_AllReduce",
            "x",
            {"Process_Group_Name": "9"},
            {"comm_type": 0, "pg_name": "9"},
        ),
    ],
)
def test_kernel_of_nccl_is_what_its_names_say(
    name: str, operator_name: str, args: dict[str, Any], wanted: dict[str, Any], tmp_path: Path
) -> None:
    node = kernel(tmp_path, name, operator_name, **args)
    said = {"comm_size": 0, **wanted, "is_cpu_op": False, "stream": 7}
    assert values(node) == said
    kinds = {"comm_dst": NodeType.COMM_SEND_NODE, "comm_src": NodeType.COMM_RECV_NODE}
    ends = [kind for key, kind in kinds.items() if key in wanted]
    assert node.type == (ends[0] if ends else NodeType.COMM_COLL_NODE)


def test_collectives_of_a_group_follow_each_other_in_any_stream(tmp_path: Path) -> None:
    device = kineto_trace()
    name = "ncclDevKernel_AllGather_RING_LL"
    args = {"correlation": 105, "stream": 21, "Process_Group_Name": "7"}
    device["traceEvents"][14] = event("kernel", name, 900, 10, **args)
    nodes, _ = converted(tmp_path, device=device)
    first = next(node for node in nodes if "AllReduce" in node.name)
    second = next(node for node in nodes if node.name == name)
    assert first.id in second.data_deps


def test_kernel_goes_to_the_operator_that_was_under_way(tmp_path: Path) -> None:
    device = kineto_trace()
    # After aten::mm, but before the operator that called it ends.
    device["traceEvents"][4] = event("cuda_runtime", "cudaLaunchKernel", 145, 2, correlation=101)
    nodes = by_name(converted(tmp_path, device=device)[0])
    assert nodes["gemm"].data_deps == (nodes["aten::matmul"].id,)


def test_kernel_launched_between_operators_goes_to_the_last_one(tmp_path: Path) -> None:
    device = kineto_trace()
    device["traceEvents"][4] = event("cuda_runtime", "cudaLaunchKernel", 190, 2, correlation=101)
    nodes = by_name(converted(tmp_path, device=device)[0])
    assert nodes["gemm"].data_deps == (nodes["aten::mm"].id,)


def test_kernel_of_an_unknown_call_is_left_out(tmp_path: Path) -> None:
    device = kineto_trace()
    del device["traceEvents"][4]
    line = r"kineto\.json: 1 of 3 operations on the device are left out, .*"
    with pytest.warns(InputWarning, match=line):
        nodes, _ = converted(tmp_path, device=device)
    assert "gemm" not in by_name(nodes)


def test_compressed_traces_are_read(tmp_path: Path) -> None:
    paths = [
        written(tmp_path / name, gzip.compress(json.dumps(said).encode()))
        for name, said in (("e.json.gz", execution_trace()), ("k.json.gz", kineto_trace()))
    ]
    assert from_pytorch(paths[0], paths[1]) == converted(tmp_path)


def changed(key: str, value: Any) -> dict[str, Any]:
    """Return the execution trace with something else in its fourth node."""
    said = execution_trace()
    said["nodes"][3] = {**said["nodes"][3], key: value}
    return said


@pytest.mark.parametrize(
    ("host", "device", "line"),
    [
        ({"nodes": []}, None, "et.json: must be a PyTorch execution trace, .*"),
        ([], None, r"et.json: must be a JSON object, not \[\]"),
        ({"schema": "1", "nodes": {}}, None, "et.json: must be a PyTorch execution trace, .*"),
        ({"schema": "1.0.1", "nodes": []}, None, "et.json: schema: .* for Chakra, .*, not '1.0.1'"),
        ({"schema": SCHEMA, "nodes": [1]}, None, r"et.json: nodes\.0: must be a node, not 1"),
        (
            {"schema": SCHEMA, "nodes": []},
            None,
            r"et.json: nodes: must have a node named .*thread.*",
        ),
        (changed("id", -1), None, r"et.json: nodes\.3\.id: must be an integer from 0 .*, not -1"),
        (changed("id", 5), None, r"et.json: nodes\.4\.id: must occur once, not 5 again"),
        (changed("ctrl_deps", [2]), None, r"et.json: nodes\.3\.ctrl_deps: .*, not \[2\]"),
        (changed("name", 7), None, r"et.json: nodes\.3\.name: must be a text, not 7"),
        (changed("attrs", 7), None, r"et.json: nodes\.3\.attrs: must be objects .*, not 7"),
        (changed("cat", "kernel"), None, r"et.json: nodes\.3: .* that trace_link has linked"),
        (None, {"schema": 1}, "kineto.json: must be a Kineto trace, .*"),
        (None, {"traceEvents": []}, "kineto.json: must be of the same run as .*et.json: .*"),
        (
            None,
            {"traceEvents": [event("cpu_op", "a", -1, 0)]},
            r"kineto.json: traceEvents\.0\.ts: must be a time in us, not -1",
        ),
        ("{", None, "et.json: must be JSON, not text with an error at line 1: .*"),
        (b"\xff{", None, "et.json: must be a text file in UTF-8, not binary data"),
        (b"\x1f\x8b\x08", None, "et.json: must be whole, as gzip compressed it"),
        ("[" * 500 + "]" * 500, None, "et.json: must be JSON, .* nested at most .*"),
    ],
)
def test_bad_traces_are_refused(host: Any, device: Any, line: str, tmp_path: Path) -> None:
    path = written(tmp_path / "et.json", execution_trace() if host is None else host)
    said = kineto_trace() if device is None else device
    kineto = written(tmp_path / "kineto.json", said)
    with pytest.raises(InputError, match=rf"^{tmp_path}/{line}$"):
        from_pytorch(path, kineto)


def test_unknown_kernel_of_nccl_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"node 5: must launch a known .*, not 'ncclDevKernel_X'"):
        kernel(tmp_path, "ncclDevKernel_X", "x")


def test_operators_without_caller_are_left_out(tmp_path: Path) -> None:
    host = execution_trace()
    host["nodes"].append(operator(99, "aten::lost", 98, 7))
    assert "aten::lost" not in by_name(converted(tmp_path, host)[0])
