"""Tests of tracemodel.chakra.schedules."""

from dataclasses import replace
from pathlib import Path

import pytest

from fred_hw.errors import InputError
from tests.written import written
from tracemodel.chakra.files import write
from tracemodel.chakra.goal import read_goal, to_traces
from tracemodel.chakra.kinds import NodeType
from tracemodel.chakra.loggops import LogGops, simulate
from tracemodel.chakra.node import Attr, Node
from tracemodel.chakra.schedules import from_nodes, read_schedule

TEXT = """num_ranks 2
rank 0 {
c: calc 1234
a: send 1000b to 1 tag 3 nic 1
b: send 1000b to 1 tag 4 nic 1
a requires c
b requires c
}
rank 1 {
a: recv 1000b from 0 tag 4 cpu 1
b: recv 1000b from 0 tag 3
c: calc 77
c requires a
c requires b
}
"""
MODEL = LogGops(20, o_ns=100, g_ns=300, G_ns_per_byte=0.5)


def test_traces_of_a_schedule_take_as_long_as_its_text(tmp_path: Path) -> None:
    path = written(tmp_path / "s.goal", TEXT)
    for rank, nodes in enumerate(to_traces(read_goal(path))):
        write(tmp_path / f"s.{rank}.et", nodes)
    texts, traces = (read_schedule(str(tmp_path / name)) for name in ("s.goal", "s"))
    assert [[replace(one, label="") for one in rank] for rank in texts] == [
        [replace(one, label="") for one in rank] for rank in traces
    ]
    # The second message leaves 300 + 499 after the first; 100 at either end, 20, 499 of bytes.
    assert simulate(traces, MODEL) == [1234 + 799 + 100, 1234 + 799 + 100 + 20 + 499 + 100 + 77]


def attributes(**values: int) -> tuple[Attr, ...]:
    return tuple(Attr(name, "int64", value) for name, value in values.items())


def send(**changes: int) -> Node:
    said = {"comm_src": 0, "comm_dst": 1, "comm_size": 8, **changes}
    return Node(4, type=NodeType.COMM_SEND_NODE, attrs=attributes(**said))


def test_compute_without_nanoseconds_takes_its_microseconds() -> None:
    (one,) = from_nodes([Node(7, type=NodeType.COMP_NODE, duration_us=3)], 0, 1, "f")
    assert (one.kind, one.size) == ("calc", 3000)


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ([send(comm_dst=2)], "node 4: comm_dst: must be a rank from 0 to 1"),
        ([replace(send(), attrs=())], "node 4: comm_dst: must be a rank from 0 to 1"),
        ([send(comm_src=1)], "node 4: comm_src: must be 0, whose trace it is"),
        ([send(comm_size=0)], "node 4: comm_size: must be 1 byte or more, not 0"),
        ([send(nic=-1)], "node 4: nic: must be an integer from 0 to 9007199254740991, not -1"),
        ([send(), send()], "node 4: must occur once, not again"),
        ([replace(send(), data_deps=(9,))], "node 4: must wait for nodes of its trace, not for 9"),
        (
            [Node(5, type=NodeType.COMM_COLL_NODE)],
            "node 5: must be compute, a send or a receive in LogGOPS, not of type 7",
        ),
    ],
)
def test_what_is_no_schedule_is_refused(nodes: list[Node], said: str) -> None:
    with pytest.raises(InputError) as found:
        from_nodes(nodes, 0, 2, "f.et")
    assert str(found.value) == f"f.et: {said}"
