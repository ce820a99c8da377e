"""Tests of tracemodel.chakra.partners."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from fred_hw.errors import InputError
from tracemodel.chakra.kinds import CollectiveType, NodeType
from tracemodel.chakra.node import Attr, Node
from tracemodel.chakra.partners import Partners
from tracemodel.chakra.stats import add_partners

SEND = {"comm_size": 8, "comm_dst": 1, "comm_tag": 2}
RECEIVE = {"comm_size": 8, "comm_src": 0, "comm_tag": 2}
KINDS = {bool: "bool", int: "int64", str: "string", tuple: "bool_list"}


def comm(number: int, kind: NodeType, **attrs: Any) -> Node:
    found = tuple(Attr(name, KINDS[type(value)], value) for name, value in attrs.items())
    return Node(number, type=kind, attrs=found)


def send(number: int, **attrs: Any) -> Node:
    return comm(number, NodeType.COMM_SEND_NODE, **(SEND | attrs))


def receive(number: int, **attrs: Any) -> Node:
    return comm(number, NodeType.COMM_RECV_NODE, **(RECEIVE | attrs))


def collective(number: int, kind: CollectiveType = CollectiveType.ALL_REDUCE, **attrs: Any) -> Node:
    return comm(number, NodeType.COMM_COLL_NODE, comm_type=int(kind), **({"comm_size": 8} | attrs))


def check(*ranks: Sequence[Node], groups: Mapping[str, Sequence[int]] | None = None) -> None:
    partners = Partners()
    for rank, nodes in enumerate(ranks):
        for node in nodes:
            add_partners(partners, node, rank)
    partners.check([f"w.{rank}.et" for rank in range(len(ranks))], groups or {})


def test_whole_sets_pass() -> None:
    check([send(1), send(2)], [receive(1), receive(5)])
    check([send(1), send(2, comm_size=9)], [receive(1, comm_size=9), receive(2)])
    check([collective(1)], [collective(4)])
    group: dict[str, Any] = {"pg_name": "1"}
    check([collective(1, **group)], [], [collective(1, **group)], groups={"1": (0, 2)})
    check([collective(1, **group)], [])  # of a group that is not known
    check([collective(1, involved_dim=(True, False))], [])  # not of all ranks
    sizes = [[collective(1, CollectiveType.ALL_TO_ALL, comm_size=size)] for size in (4, 8)]
    check(*sizes)


REFUSED: dict[str, tuple[list[list[Node]], str]] = {
    "tag": (
        [[send(3)], [receive(4, comm_tag=7)]],
        (
            "w.1.et: node 4: must receive 8 bytes with tag 2, which node 3 of rank 0 sends to rank "
            "1, not 8 bytes with tag 7"
        ),
    ),
    "size": (
        [[send(3), send(5, comm_tag=9)], [receive(4, comm_size=7), receive(6, comm_tag=8)]],
        (
            "w.1.et: node 4: must receive 8 bytes with tag 2, which node 3 of rank 0 sends to rank "
            "1, not 7 bytes with tag 2"
        ),
    ),
    "no receive": (
        [[send(1), send(3)], [receive(2)]],
        (
            "w.0.et: node 3: must have its receive in rank 1; of 8 bytes with tag 2 there are 2 "
            "sends and 1 receives"
        ),
    ),
    "no send": (
        [[], [receive(2)]],
        (
            "w.1.et: node 2: must have its send in rank 0; of 8 bytes with tag 2 there are 0 sends "
            "and 1 receives"
        ),
    ),
    "no rank": (
        [[send(1, comm_dst=2)], []],
        "w.0.et: node 1: must be a message between ranks from 0 to 1, not 0 to 2 with tag 2",
    ),
    "absent": (
        [[collective(1)], [collective(1)], [], [collective(1), collective(7)], []],
        (
            "w.0.et: must take part in 2 all_reduce of 8 bytes of all ranks, as rank 3 with node 7 "
            "does, not in 1; so must rank 1, 2, 4"
        ),
    ),
    "absent from a group": (
        [[collective(1, pg_name="5")], [], []],
        (
            "w.2.et: must take part in 1 all_reduce of 8 bytes in group 5, as rank 0 with node 1 "
            "does, not in 0"
        ),
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_lacks_an_end_is_named(what: str) -> None:
    ranks, line = REFUSED[what]
    with pytest.raises(InputError, match=f"^{re.escape(line)}$"):
        check(*ranks, groups={"5": (0, 2)})
