"""Tests of tracemodel.chakra.stats."""

import pytest

from fred_hw.errors import InputError
from tracemodel.chakra.files import read
from tracemodel.chakra.kinds import NodeType
from tracemodel.chakra.node import Attr, Node
from tracemodel.chakra.partners import Partners
from tracemodel.chakra.stats import add_partners, check_node, measure

from .golden import LLAMA


def comm(number: int, kind: NodeType, **attrs: int) -> Node:
    said = tuple(Attr(name, "int64", value) for name, value in attrs.items())
    return Node(number, f"n{number}", kind, attrs=said)


def test_trace_of_four_nodes_by_hand() -> None:
    ops = (Attr("num_ops", "uint64", 6),)
    nodes = [
        Node(0, type=NodeType.COMP_NODE, duration_us=5, attrs=ops),
        Node(1, type=NodeType.COMP_NODE, data_deps=(0,), duration_us=7, attrs=ops),
        Node(2, type=NodeType.MEM_LOAD_NODE, ctrl_deps=(1,), duration_us=4),
        comm(3, NodeType.COMM_COLL_NODE, comm_type=0, comm_size=8),
        comm(4, NodeType.COMM_COLL_NODE, comm_type=0, comm_size=9),
        comm(5, NodeType.COMM_SEND_NODE, comm_size=10),
        comm(6, NodeType.COMM_RECV_NODE, comm_size=11),
        Node(7, type=12),
    ]
    stats = measure(nodes, control=False)
    assert (stats.nodes, stats.dependencies, stats.levels) == (8, 1, 2)
    assert (stats.compute_us, stats.path_us, stats.operations) == (12, 12, 12)
    assert stats.collectives == {"all_reduce": (2, 17)}
    assert (stats.sent, stats.received) == ((1, 10), (1, 11))
    assert (stats.types["COMP_NODE"], stats.types["type 12"]) == (2, 1)
    with_control = measure(nodes)
    assert (with_control.path_us, with_control.levels, with_control.dependencies) == (16, 3, 2)


def test_real_traces_have_the_collectives_of_their_groups() -> None:
    found = set[tuple[int, tuple[tuple[str, tuple[int, int]], ...]]]()
    for rank in range(4):
        stats = measure(read(f"{LLAMA}.{rank}.et.gz"))
        assert stats.types == {"COMP_NODE": 136, "COMM_COLL_NODE": 48}
        found.add((stats.operations, tuple(sorted(stats.collectives.items()))))
    assert len(found) == 1  # all NPUs do as much


@pytest.mark.parametrize(
    ("node", "line"),
    [
        (Node(1), r"node 1: type: must be from 1 to 7, not 0"),
        (Node(1, type=12), r"node 1: type: must be from 1 to 7, not 12"),
        (
            comm(1, NodeType.COMM_COLL_NODE, comm_size=1),
            r"node 1: comm_type: must be from 0 to 9, not missing",
        ),
        (
            comm(1, NodeType.COMM_COLL_NODE, comm_type=10, comm_size=1),
            r"node 1: comm_type: must be from 0 to 9, not 10",
        ),
        (
            comm(1, NodeType.COMM_COLL_NODE, comm_type=0),
            r"node 1: comm_size: must be there and 0 or more",
        ),
        (
            comm(1, NodeType.COMM_SEND_NODE, comm_size=1, comm_src=0),
            r"node 1: comm_dst: must be there and 0 or more",
        ),
        (
            comm(1, NodeType.COMM_RECV_NODE, comm_size=1, comm_src=-1),
            r"node 1: comm_src: must be there and 0 or more",
        ),
    ],
)
def test_node_that_says_too_little_is_refused(node: Node, line: str) -> None:
    with pytest.raises(InputError, match=f"^a: {line}$"):
        check_node(node, "a")


def test_sound_nodes_pass() -> None:
    check_node(Node(1, type=NodeType.COMP_NODE))
    check_node(comm(1, NodeType.COMM_COLL_NODE, comm_type=9))
    check_node(comm(1, NodeType.COMM_COLL_NODE, comm_type=0, comm_size=1))
    check_node(comm(1, NodeType.COMM_SEND_NODE, comm_size=1, comm_dst=0))
    check_node(comm(1, NodeType.COMM_RECV_NODE, comm_size=1, comm_src=0))
    for rank in range(4):
        for node in read(f"{LLAMA}.{rank}.et.gz"):
            check_node(node)


def test_message_of_another_rank_is_refused() -> None:
    other = comm(1, NodeType.COMM_SEND_NODE, comm_size=8, comm_src=1, comm_dst=0)
    with pytest.raises(InputError, match=r"^node 1: comm_src: must be 0, the rank of the trace"):
        add_partners(Partners(), other, 0)


def test_number_that_is_none_is_named() -> None:
    node = Node(4, type=NodeType.COMP_NODE, attrs=(Attr("num_ops", "string", "6"),))
    with pytest.raises(InputError, match=r"^a: node 4: num_ops: must be an integer, not '6' of"):
        measure([node], "a")
