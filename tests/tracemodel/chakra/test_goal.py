"""Tests of tracemodel.chakra.goal."""

import re
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fred_hw.errors import InputError
from tests.calls import calls
from tests.examples import examples
from tests.written import written
from tracemodel.chakra.goal import Goal, Operation, goal_text, read_goal, to_traces
from tracemodel.chakra.kinds import NodeType
from tracemodel.chakra.node import Attr, Node

KINDS: tuple[Literal["send", "recv", "calc"], ...] = ("send", "recv", "calc")
TEXT = """num_ranks 2

rank 0 {
a: send 1024b to 1 tag 3 cpu 0 nic 1
b: calc 1600
b requires a
}
rank 1 {
  l1 : recv 1024b from 0 tag 3
l2: calc 100 cpu 2
l3: calc 0
l2 requires l1
l3 irequires l2
}
"""
GOAL: Goal = (
    (Operation("a", "send", 1024, 1, 3, 0, 1), Operation("b", "calc", 1600, requires=(0,))),
    (
        Operation("l1", "recv", 1024, 0, 3),
        Operation("l2", "calc", 100, cpu=2, requires=(0,)),
        Operation("l3", "calc", 0, irequires=(1,)),
    ),
)


def test_text_is_what_it_says(tmp_path: Path) -> None:
    assert read_goal(written(tmp_path / "a.goal", TEXT)) == GOAL


@st.composite
def goals(draw: st.DrawFn) -> Goal:
    count = draw(st.integers(1, 3))
    ranks: list[tuple[Operation, ...]] = []
    for _ in range(count):
        kinds = draw(st.lists(st.sampled_from(KINDS), max_size=5))
        size = len(kinds)
        earlier = st.lists(st.integers(0, max(size - 1, 0)), max_size=3, unique=True).map(tuple)
        none: Any = st.just(())
        ranks.append(
            tuple(
                Operation(
                    f"x{place}",
                    kind,
                    draw(st.integers(1, 10**12)),
                    0 if kind == "calc" else draw(st.integers(0, count - 1)),
                    draw(st.integers(0, 9)),
                    draw(st.integers(0, 9)),
                    draw(st.integers(0, 9)),
                    draw(earlier),
                    draw(earlier if size else none),
                )
                for place, kind in enumerate(kinds)
            )
        )
    return tuple(ranks)


@examples(100)
@given(goal=goals())
def test_every_schedule_comes_back(tmp_path_factory: pytest.TempPathFactory, goal: Goal) -> None:
    assert read_goal(written(tmp_path_factory.getbasetemp() / "a.goal", goal_text(goal))) == goal


def test_label_may_be_left_out(tmp_path: Path) -> None:
    goal = read_goal(written(tmp_path / "a.goal", "num_ranks 1\nrank 0 {\ncalc 5\ncalc 6\n}\n"))
    assert goal == ((Operation("l0", "calc", 5), Operation("l1", "calc", 6)),)


@pytest.mark.parametrize("lines", [["l1: calc 5", "calc 6"], ["calc 6", "l0: calc 5"]])
def test_label_that_is_left_out_is_nobody_elses(tmp_path: Path, lines: list[str]) -> None:
    text = "\n".join(["num_ranks 1", "rank 0 {", *lines, "}"])
    goal = read_goal(written(tmp_path / "a.goal", text))
    assert {one.label: one.size for one in goal[0]} in ({"l1": 5, "l1_": 6}, {"l0": 5, "l0_": 6})
    with pytest.raises(InputError, match=r"line 5: must name labels of lines above it, not 'l1_'$"):
        read_goal(written(tmp_path / "a.goal", text.replace("}", "l1_ requires l1_\n}")))


def chain_of(count: int) -> Goal:
    """Return operations that each begin after the next one has begun."""
    chain = [Operation(f"a{k}", "calc", 1, irequires=(k + 1,)) for k in range(1, count)]
    return ((Operation("a", "calc", 1), *chain, Operation("z", "calc", 1, requires=(0,))),)


def test_work_for_a_chain_of_begins_grows_with_its_length_at_most() -> None:
    short, long = (calls(partial(to_traces, chain_of(count))) for count in (1_000, 2_000))
    assert long < 2.1 * short


def test_many_begins_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 20_000
    goal = chain_of(count)
    (nodes,) = to_traces(goal)
    assert nodes[0].data_deps == () and {one.data_deps for one in nodes[1:]} == {(0,)}
    last = Operation("b", "calc", 1, irequires=tuple(range(1, count)))
    (nodes,) = to_traces(((last, *[Operation("c", "calc", 1)] * count),))
    assert len(nodes) == count + 1
    monkeypatch.setattr("tracemodel.chakra.goal.MAX_BEGINS", count - 2)
    said = r"^x: rank 0: operations must wait for at most 19,998 others because of irequires, .*"
    with pytest.raises(InputError, match=said):
        to_traces(goal, "x")


def test_schedule_becomes_a_trace_for_each_rank() -> None:
    first, second = to_traces(GOAL)
    no_cpu = Attr("is_cpu_op", "bool", False)

    def message(size: int) -> tuple[Attr, ...]:
        said = {"comm_src": 0, "comm_dst": 1, "comm_tag": 3, "comm_size": size}
        return (no_cpu, *(Attr(name, "int64", value) for name, value in said.items()))

    def calc(ns: int) -> tuple[Attr, ...]:
        return no_cpu, Attr("duration_ns", "int64", ns)

    compute = NodeType.COMP_NODE
    assert first == [
        Node(0, "a", NodeType.COMM_SEND_NODE, attrs=(*message(1024), Attr("nic", "int64", 1))),
        Node(1, "b", compute, (), (0,), 0, 2, attrs=calc(1600)),
    ]
    assert second == [
        Node(0, "l1", NodeType.COMM_RECV_NODE, attrs=message(1024)),
        Node(1, "l2", compute, (), (0,), attrs=(*calc(100), Attr("cpu", "int64", 2))),
        Node(2, "l3", compute, (), (0,), attrs=calc(0)),
    ]


def test_what_waits_for_itself_to_begin_is_refused() -> None:
    goal = ((Operation("a", "calc", 1, irequires=(1,)), Operation("b", "calc", 1, irequires=(0,))),)
    said = r"^x\.goal: b: must not wait for itself to begin, in rank 0$"
    with pytest.raises(InputError, match=said):
        to_traces(goal, "x.goal")


RANK = "num_ranks 2\nrank 0 {\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: must be num_ranks and a number, not ''"),
        ("ranks 2", "line 1: must be num_ranks and a number, not 'ranks 2'"),
        ("num_ranks 0", "line 1: must be num_ranks from 1 to 65,536, not 0"),
        ("num_ranks 99999", "line 1: must be num_ranks from 1 to 65,536, not 99,999"),
        ("num_ranks 2\nrank 2 {", "line 2: must be a rank from 0 to 1, not 2"),
        (RANK + "}\nrank 0 {", "line 4: must be a rank from 0 to 1, not one twice"),
        (RANK + "}\n", "rank 1: must be in the file, as num_ranks counts it"),
        (RANK + "}\n}", "line 4: must be rank, its number and {, not '}'"),
        (RANK + "a: calc 5", "line 3: rank must end in } before the end of the file"),
        (RANK + "a: calc -5", "line 3: must be an operation "),
        (RANK + "a: send 5 to 1", "line 3: must be an operation "),
        (RANK + "a: send 0b to 1", "line 3: message must have 1 byte or more, not 0b"),
        (RANK + "a: send 5b from 1", "line 3: send must be followed by to, not from"),
        (RANK + "a: recv 5b to 1", "line 3: recv must be followed by from, not to"),
        (RANK + "a: send 5b to 2", "line 3: rank at the other end must be from 0 to 1, not 2"),
        (RANK + "a: calc 5 cpu 1 cpu 2", "line 3: tag, cpu and nic must occur at most once each"),
        (RANK + "a: calc 5\na: calc 6", "line 4: label must occur once in a rank, not again"),
        (RANK + "a: calc 5\na requires b", "line 4: must name labels of lines above it, not 'b'"),
    ],
)
def test_bad_text_is_refused_in_a_line(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path / "a.goal", text)
    with pytest.raises(InputError, match=f"^{re.escape(f'{path}: {message}')}[^\n]*$"):
        read_goal(path)
