"""Traces that cannot end: the line that refuses them names the cause."""

from pathlib import Path

import pytest

from fred_hw.errors import InputError
from tracemodel.astra.engine.graph_engine import GraphEngine
from tracemodel.astra.engine.trace import load_traces
from tracemodel.astra.transport import NETWORK_MODELS
from tracemodel.chakra.files import write
from tracemodel.chakra.kinds import NodeType

from .nodes import collective, compute, memory, message, node, run, setup

WAITS = {
    "receive": (
        [message(4, 1, 0, 8)[1]],
        [],
        r"^w\.0\.et: node 4: must have its send in rank 1; of 8 bytes with tag 5 there are 0 ",
    ),
    "send": (
        [message(4, 0, 1, 8)[0]],
        [],
        r"^w\.0\.et: node 4: must have its receive in rank 1; of 8 bytes with tag 5 there are 1 s",
    ),
    "alone": (
        [collective(2, 8)],
        [],
        r"^w\.1\.et: must take part in 1 all_reduce of 8 bytes of all ranks, as rank 0 with ",
    ),
    "tag": (
        [message(4, 0, 1, 8)[0]],
        [message(7, 0, 1, 8, comm_tag=6)[1]],
        (
            r"^w\.1\.et: node 7: must receive 8 bytes with tag 5, which node 4 of rank 0 sends to "
            r"rank 1, not 8 bytes with tag 6$"
        ),
    ),
    "size": (
        [message(4, 0, 1, 8)[0]],
        [message(7, 0, 1, 9)[1]],
        r"^w\.1\.et: node 7: must receive 8 bytes with tag 5, which .*, not 9 bytes with tag 5$",
    ),
    "each other": (
        [message(1, 1, 0, 8)[1], message(2, 0, 1, 8, [1])[0]],
        [message(1, 0, 1, 8)[1], message(2, 1, 0, 8, [1])[0]],
        (
            r"^workload: must end, but never does: node 1 of rank 0 \(comm_recv, waits for "
            r"rank 1\), node 1 of rank 1 \(comm_recv, waits for rank 0\)$"
        ),
    ),
    "cycle": (
        [compute(1, 1, [2]), compute(2, 1, [1])],
        [],
        "node: must not depend on itself: 1 ->",
    ),
    "gone": ([compute(1, 1, [9])], [], "node 1: must depend on nodes of the trace, not on 9"),
    "sizes": (
        [collective(2, 8)],
        [collective(3, 9)],
        r"w\.1\.et: node 3: comm_type: must be all_reduce of 8 bytes, as node 2 of rank 0, not",
    ),
    "group": (
        [collective(2, 8, pg_name="7")],
        [],
        r"pg_name: must be one of the groups .*, not '7'",
    ),
    "stranger": (
        [collective(2, 8, pg_name="3")],
        [],
        "pg_name: must name a group that rank 0 is in, not group 3",
    ),
    "outside": ([message(2, 0, 5, 8)[0]], [], "comm_dst: must be another NPU from 0 to 1, not 5"),
    "itself": ([message(2, 0, 0, 8)[0]], [], "comm_dst: must be another NPU from 0 to 1, not 0"),
    "other": ([message(2, 1, 0, 8)[0]], [], "comm_src: must be 0, whose trace it is, not 1"),
    "memory": ([memory(2, 8)], [], "tensor_loc: must be local memory, as the system has no rem"),
    "nobody": (
        [node(1, NodeType.COMM_SEND_NODE, comm_size=1)],
        [],
        "comm_dst: is required and was not given",
    ),
}


@pytest.mark.parametrize("what", WAITS)
@pytest.mark.parametrize("model", NETWORK_MODELS)
def test_what_cannot_end_is_a_line(what: str, model: str) -> None:
    first, second, line = WAITS[what]
    with pytest.raises(InputError, match=line):
        run(setup(groups={"3": (1,)}), first, second, model=model)


def test_a_collective_lacks_a_rank_of_the_group_in_its_own_trace(tmp_path: Path) -> None:
    given = setup(4, groups={"1": (0, 1), "2": (2, 3)})
    # Three files differ only in the name of the group, so their operations are read once.
    for rank, group in enumerate("112"):
        write(tmp_path / f"w.{rank}.et", iter([collective(4, 8, pg_name=group)]))
    write(tmp_path / "w.3.et", iter([compute(4, 1)]))
    traces = load_traces(tmp_path / "w", 4, given.system)
    line = r"w\.3\.et: must take part in 1 all_reduce of 8 bytes in group 2, as rank 2 with node 4 "
    with pytest.raises(InputError, match=line):
        GraphEngine(traces, given).run()
