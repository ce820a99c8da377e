"""Tests of tracemodel.chakra.workload_graph."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from fred_hw.errors import InputError
from tests.written import written
from tracemodel.chakra.files import read, read_tasks
from tracemodel.chakra.node import Attr, Node
from tracemodel.chakra.traces import find_traces

NODE = {"Id": 1, "Name": "k", "NodeType": 4, "data_deps": [], "runtime": 20, "is_cpu_op": False}
SEND = {
    "Id": 2,
    "Name": "s",
    "NodeType": 5,
    "ctrl_deps": [1],
    "data_deps": [1],
    "comm_size": 1 << 63,
    "comm_dst": 1,
    "involved_dim": [True, False],
    "note": "x",
    "share": 0.5,
}


def graph(*nodes: Any) -> dict[str, Any]:
    return {"workload_graph": [*nodes]}


def test_graph_is_read_as_a_trace(tmp_path: Path) -> None:
    path = written(tmp_path / "w.0.json", graph(NODE, SEND))
    flag = Attr("is_cpu_op", "bool", False)
    attrs = (
        Attr("comm_size", "uint64", 1 << 63),
        Attr("comm_dst", "int64", 1),
        Attr("involved_dim", "bool_list", (True, False)),
        Attr("note", "string", "x"),
        Attr("share", "double", 0.5),
    )
    with read(path) as nodes:
        assert [*nodes] == [
            Node(1, "k", 4, duration_us=20, attrs=(flag,)),
            Node(2, "s", 5, (1,), (1,), attrs=attrs),
        ]
    with read_tasks(path) as tasks:
        found = [(one.id, one.type, one.data_deps, one.duration_us, one.attrs) for one in tasks]
    assert found == [(1, 4, (), 20, (flag,)), (2, 5, (1,), 0, attrs)]


def test_time_between_microseconds_is_in_nanoseconds_too(tmp_path: Path) -> None:
    path = written(tmp_path / "w.json", graph({**NODE, "runtime": 2.5}, {**NODE, "Id": 2}))
    first, second = read(path)
    assert (first.duration_us, first.integer("duration_ns")) == (2, 2500)
    assert (second.duration_us, second.attr("duration_ns")) == (20, None)


def test_graph_may_be_compressed(tmp_path: Path) -> None:
    written(tmp_path / "w.0.json.gz", gzip.compress(json.dumps(graph(NODE)).encode()))
    (path,) = find_traces(tmp_path / "w")
    assert [node.name for node in read(path)] == ["k"]


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ({"workload_graph": {}}, "workload_graph: must be a list of nodes, not {}"),
        (graph(3), r"workload_graph\.0: must be a node, not 3"),
        (graph(NODE, {"Id": 2}), r"workload_graph\.1\.NodeType: is required and was not given"),
        (graph({**NODE, "Id": -1}), r"workload_graph\.0\.Id: must be an integer from 0 .*, not -1"),
        (graph({**NODE, "Id": True}), r".*\.Id: must be an integer from 0 .*, not True"),
        (graph({**NODE, "NodeType": 8}), r".*\.NodeType: must be an integer from 0 to 7, not 8"),
        (graph({**NODE, "NodeType": "COMP"}), r".*\.NodeType: must be .* 0 to 7, not 'COMP'"),
        (graph({**NODE, "Name": 1}), r".*\.Name: must be a text, not 1"),
        (graph({**NODE, "data_deps": 1}), r".*\.data_deps: must be a list of ids, not 1"),
        (graph({**NODE, "data_deps": ["a"]}), r".*\.data_deps: must be an integer .*, not 'a'"),
        (graph({**NODE, "runtime": -1}), r".*\.runtime: must be a number of micro.*, not -1"),
        (graph({**NODE, "runtime": 1e300}), r".*\.runtime: must be a number of .*, not 1e\+300"),
        (graph({**NODE, "x": None}), r".*\.x: must be a number, a text, true or false, not None"),
        (graph({**NODE, "x": 1 << 64}), r".*\.x: must be a number, a text, .*"),
        (graph({**NODE, "x": [1, True]}), r".*\.x: must be values of one kind, not \[1, True\]"),
        ('{"workload_graph": [', "must be JSON, not text with an error at line 1: .*"),
        (b'{"workload_graph": "\xff"}', "must be a text file in UTF-8, not binary data"),
    ],
)
def test_bad_graph_is_refused(said: Any, line: str, tmp_path: Path) -> None:
    path = written(tmp_path / "w.json", said)
    with pytest.raises(InputError, match=rf"w\.json: {line}$"):
        list(read(path))
