"""Tests of fred_hw.mesh.tree_program."""

import re
from dataclasses import replace
from typing import Any

import pytest

from fred_hw.ace.endpoint_map import endpoint_map
from fred_hw.ace.steps import Step
from fred_hw.endpoint_spec import EndpointSpec
from fred_hw.mesh.spec import MeshSpec
from fred_hw.mesh.tree_program import TreeEdge, TreeProgram
from tests.testbench.collectives.trees import (
    edges_of,
    synthesized_edges,
    tree_program,
    with_tables,
)

# Trees of a row of three NPUs, by root: the child, its parent and the step of the all-gather.
EDGES = (
    TreeEdge(0, 1, 0, 0),
    TreeEdge(0, 2, 1, 1),
    TreeEdge(1, 0, 1, 2),
    TreeEdge(1, 2, 1, 3),
    TreeEdge(2, 1, 2, 4),
    TreeEdge(2, 0, 1, 5),
)


def program(
    *edges: TreeEdge, entries: int = 16, size: int = 24, without: int | None = None
) -> TreeProgram:
    mesh = MeshSpec(
        width=3,
        height=1,
        controllers=False,
        lanes=1,
        endpoint=EndpointSpec(schedule_entries=entries),
    )
    kept = tuple(one for place, one in enumerate(EDGES) if place != without)
    return TreeProgram(mesh=mesh, edges=(*kept, *edges), size=size, step_cycles=9)


def said(entry: Any) -> tuple[Any, ...]:
    """Return step, operation, and of both halves address, peer, tree and dependency bits."""
    one, send, receive = entry.descriptor, entry.send, entry.receive
    sent = one.send and (one.source.address, one.send.number, send.tree, send.waits)
    came = one.receive and (one.destination.address, one.receive.number, receive.tree)
    bits = (receive.waits, receive.sets)
    return entry.step, one.operation, sent or (), (*came, *bits) if came else ()


@pytest.mark.parametrize(
    ("columns", "rows", "multitree", "synthesized"),
    [(3, 2, 16, 12), (4, 4, 42, 40), (5, 4, 52, 50)],
)
def test_steps_of_multitree_and_of_synthesized_schedules(
    columns: int, rows: int, multitree: int, synthesized: int
) -> None:
    mesh = with_tables(columns, rows, entries=128)
    found = [tree_program(mesh, 1, 9, edges).steps for edges in (edges_of, synthesized_edges)]
    assert found == [multitree, synthesized]


def test_tables_of_a_row_of_three() -> None:
    made = program()
    assert made.steps == 12
    assert [said(one) for one in made.entries(0)] == [
        (0, "exchange_reduce", (16, 1, 2, 0), ()),
        (3, "exchange_reduce", (8, 1, 1, 0), ()),
        (5, "exchange_reduce", (), (0, 1, 0, 0, 2)),
        (6, "exchange", (0, 1, 0, 2), ()),
        (8, "exchange", (), (8, 1, 1, 0, 1)),
        (11, "exchange", (), (16, 1, 2, 0, 1)),
    ]
    # NPU 1 adds what NPU 2 sends first, then what NPU 0 sends, and waits for both at the root.
    middle = [said(one) for one in made.entries(1)]
    assert middle[:5] == [
        (0, "exchange_reduce", (), (16, 0, 2, 0, 2)),
        (1, "exchange_reduce", (16, 2, 2, 2), ()),
        (2, "exchange_reduce", (), (8, 2, 1, 0, 2)),
        (3, "exchange_reduce", (), (8, 0, 1, 2, 4)),
        (4, "exchange_reduce", (), (0, 2, 0, 0, 2)),
    ]
    assert (8, "exchange", (8, 0, 1, 6), ()) in middle


def test_each_pair_has_one_virtual_channel_and_entries_are_in_order() -> None:
    made, found = program(), dict[tuple[int, int], set[str]]()
    for npu in range(3):
        entries = made.entries(npu)
        assert [one.step for one in entries] == sorted(one.step for one in entries)
        for one in (entry.descriptor for entry in entries):
            if one.send:
                found.setdefault((npu, one.send.number), set()).add(one.circuit)
            if one.receive:
                found.setdefault((one.receive.number, npu), set()).add(one.circuit)
    assert len(found) == 4 and all(len(names) == 1 for names in found.values())


@pytest.mark.parametrize("step_cycles", [-1, 1 << 24, 2.5, "9", True, None])
def test_time_of_a_step_that_no_register_holds_is_refused(step_cycles: Any) -> None:
    kind = ValueError if type(step_cycles) is int else TypeError
    allowed = "0 to 16777215" if kind is ValueError else "an integer"
    with pytest.raises(kind, match=f"^step_cycles must be {allowed}, not {step_cycles!r}$"):
        replace(program(), step_cycles=step_cycles)


@pytest.mark.parametrize("step_cycles", [0, (1 << 24) - 1])
def test_extreme_times_of_a_step_are_loaded(step_cycles: int) -> None:
    steps = replace(program(), step_cycles=step_cycles).load_steps(0)
    address = endpoint_map(program().link).register("STEP_CYCLES").address
    assert steps[0] == Step(address, step_cycles)


def test_tables_are_loaded_word_by_word_and_each_entry_is_waited_for() -> None:
    made = program()
    registers, flit_bytes = endpoint_map(made.link), made.link.data_width // 8
    status = registers.register("STATUS").address
    for npu in range(3):
        _, *steps = made.load_steps(npu)
        for entry in made.entries(npu):
            writes = entry.writes(flit_bytes)
            loaded, waited, steps = (
                steps[: len(writes)],
                steps[len(writes)],
                steps[len(writes) + 1 :],
            )
            assert [(one.address, one.value) for one in loaded] == [
                (registers.register(name).address + 4 * word, value) for name, word, value in writes
            ]
            assert {word for _, word, _ in writes} == {0, 1}
            assert (waited.address, waited.value) == (status, 0)
        assert steps == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": 20}, "size must be a multiple of 6 bytes, not 20"),
        ({"size": 0}, "size must be a multiple of 6 bytes, not 0"),
        ({"entries": 5}, "endpoint.schedule_entries must be 12 or more for these trees, not 5"),
        ({"without": 1}, "tree of 0 must reach all 3 NPUs"),
    ],
)
def test_program_that_does_not_fit_is_refused(arguments: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        program(**arguments)


@pytest.mark.parametrize(
    ("edge", "without", "said_of"),
    [
        (TreeEdge(0, 1, 2, 7), None, (0, 1, 2, 7)),
        (TreeEdge(0, 2, 1, 0), 1, (0, 2, 1, 0)),
        (TreeEdge(2, 0, 1, 3), 5, (2, 0, 1, 3)),
    ],
)
def test_edges_that_are_no_trees_are_refused(
    edge: TreeEdge, without: int | None, said_of: tuple[int, int, int, int]
) -> None:
    root, child, parent, step = said_of
    message = (
        f"tree of {root} must reach NPU {child} once, from an NPU that it reached in an earlier "
        f"step, not from {parent} in step {step}"
    )
    with pytest.raises(ValueError, match=f"^{message}$"):
        program(edge, without=without)


@pytest.mark.parametrize(
    ("edge", "without", "message"),
    [
        (TreeEdge(1, 0, 1, 3), 2, "NPU 1 must have at most one message in step 3, as it sends"),
        (TreeEdge(2, 1, 2, 0), 4, "NPU 1 must have at most one message in step 0, as it receives"),
    ],
)
def test_endpoint_has_one_link(edge: TreeEdge, without: int, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message} on one link$"):
        program(edge, without=without)
