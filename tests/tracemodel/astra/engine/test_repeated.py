"""Tests of tracemodel.astra.engine.repeated: periods that repeat are left out, to the same end."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fred_hw.errors import InputError
from perfmodel.memory.file import MemoryFile
from tests.examples import examples
from tracemodel.astra.engine.job import Job
from tracemodel.astra.engine.periods import find_periods, without
from tracemodel.astra.engine.repeated import Ran, run_jobs
from tracemodel.astra.engine.setup import Setup
from tracemodel.astra.engine.trace import trace_of
from tracemodel.astra.network import Dimension, Network
from tracemodel.astra.transport import NETWORK_MODELS
from tracemodel.chakra.node import Node

from .nodes import collective, compute, memory, message, setup

RANKS = 4
STEP = 100
"""Numbers of nodes that an iteration has room for."""


def both(one: Setup, traces: Sequence[Sequence[Node]], model: str) -> tuple[Ran, Ran]:
    """Return what runs come to with periods left out, and with all."""
    found = [trace_of(iter(nodes), one.system, f"w.{i}.et") for i, nodes in enumerate(traces)]
    job = Job(found, tuple(range(len(found))), one.groups)
    return run_jobs([job], one, model), run_jobs([job], one, model, repeats=False)


def square(**others: object) -> Setup:
    """Return two rows of two NPUs, with a group for each row and each column, and a pool."""
    network = Network([Dimension("switch", 2, 5, 20), Dimension("ring", 2, 3, 50)])
    groups = {"1": (0, 1), "2": (2, 3), "3": (0, 2), "4": (1, 3)}
    pool = MemoryFile.model_validate({"memory-type": "MEMORY_POOL", "remote-mem-bw": 2})
    system = {"all_reduce_implementation": ["ring", "ring"]} | others
    return setup(RANKS, pool, groups, network, **system)  # type: ignore[arg-type]


Op = tuple[str, int, int, int]
"""What a node is, its rank, its size, and how many nodes of its rank it looks back."""

OPS = st.lists(
    st.tuples(
        st.sampled_from(["compute", "cpu", "row", "column", "all", "send", "free", "memory"]),
        st.integers(0, RANKS - 1),
        st.integers(0, 40),
        st.integers(1, 4),
    ),
    min_size=2,
    max_size=9,
)


def iterations(ops: Sequence[Op], count: int, tag_step: int = 0) -> list[list[Node]]:
    """Return traces of so many iterations, before which and behind which is a node."""
    traces = [[compute(0, 3)] for _ in range(RANKS)]
    for turn in range(count):
        for place, (what, rank, size, back) in enumerate(ops):
            number = 1 + STEP * turn + place
            for one in range(RANKS):
                last = [node.id for node in traces[one]]
                deps = last[-back : len(last) - back + 1] or last[-1:]
                tag = {"comm_tag": place + tag_step * turn}
                size_bytes = 700 * size + 10
                if what in ("compute", "cpu") and rank in (one, 0):
                    traces[one].append(compute(number, size, deps, cpu=what == "cpu"))
                elif what in ("row", "column"):
                    group = 1 + one // 2 if what == "row" else 3 + one % 2
                    traces[one].append(collective(number, size_bytes, deps, pg_name=str(group)))
                elif what == "all":
                    traces[one].append(collective(number, size_bytes, deps))
                elif what == "memory" and one == rank:
                    traces[one].append(memory(number, size_bytes, deps))
                elif what in ("send", "free"):
                    target = (rank + back) % RANKS
                    if target == rank or one not in (rank, target):
                        continue
                    waits = [] if what == "free" and one == target else deps
                    pair = message(number, rank, target, size_bytes, waits, **tag)
                    traces[one].append(pair[one == target])
    for nodes in traces:
        nodes.append(compute(STEP * (count + 1), 5, [nodes[-1].id]))
    return traces


@pytest.mark.slow_after_first
@pytest.mark.parametrize("model", NETWORK_MODELS)
def test_times_are_those_of_all_periods(model: str) -> None:
    one = square()

    @examples(20)
    @given(OPS, st.integers(30, 60), st.sampled_from([0, 1, 50]), st.booleans())
    def check(ops: list[Op], count: int, tag_step: int, together: bool) -> None:
        if together:  # or ranks get ahead of others, ever more
            ops = [*ops, ("all", 0, 5, 1)]
        traces = iterations(ops, count, tag_step)
        try:
            found, whole = both(one, traces, model)
        except InputError:
            assume(False)
            return
        assert replace(found, left_out=0) == whole

    check()


def pipeline(count: int, tag_step: int, slow: int = 0) -> list[list[Node]]:
    """Return two stages of a pipeline: forward, backward, and the sum of all gradients.

    Receives wait for nothing, so all are there from the begin on.
    """
    first, second = [compute(0, 1)], [compute(0, 2)]
    given, taken = list[int](), list[int]()
    for turn in range(count):
        base, tag = 1 + STEP * turn, {"comm_tag": tag_step * turn}
        back = {"comm_tag": 7 + tag_step * turn}
        first.append(compute(base, 4, [first[-1].id] if turn < 2 else [base - STEP, given[-2]]))
        sent, got = message(base + 1, 0, 1, 900, [base], **tag)
        first.append(sent)
        second.append(replace(got, data_deps=()))
        second.append(compute(base + 2, 6 + slow, [base + 1, 0 if turn == 0 else taken[-1]]))
        sent, got = message(base + 3, 1, 0, 700, [base + 2], **back)
        second.append(sent)
        first.append(replace(got, data_deps=()))
        first.append(compute(base + 4, 5, [base + 3]))
        given.append(base + 4)
        taken.append(base + 2)
    end = STEP * (count + 1)
    first.append(collective(end, 5000, given))
    second.append(collective(end, 5000, taken))
    first.append(compute(end + 1, 3, [end]))
    return [first, second]


@pytest.mark.parametrize("model", NETWORK_MODELS)
@pytest.mark.parametrize("tag_step", [0, 20])
def test_microbatches_of_a_pipeline_are_left_out(model: str, tag_step: int) -> None:
    found, whole = both(setup(), pipeline(64, tag_step), model)
    assert found.left_out >= 36
    assert replace(found, left_out=0) == whole


@pytest.mark.parametrize("model", NETWORK_MODELS)
def test_iterations_with_collectives_are_left_out(model: str) -> None:
    ops: list[Op] = [("compute", 0, 9, 1), ("row", 0, 20, 1), ("compute", 0, 3, 1)]
    ops += [("column", 0, 30, 2), ("send", 1, 5, 1), ("all", 0, 8, 1)]
    if model == "aware":  # where nothing may be on its way when it is looked at
        ops = [("all", 0, 30, 1), ("compute", 0, 9, 1), ("compute", 0, 3, 1)]
    given = square(preferred_dataset_splits=2, all_reduce_implementation=["ring", "direct"])
    found, whole = both(given, iterations(ops, 80), model)
    assert found.left_out >= 48
    assert replace(found, left_out=0) == whole


def test_a_period_of_several_iterations_is_found() -> None:
    # Each third iteration has more to do.
    nodes = [compute(i, 7 if i % 3 == 0 else 2, [i - 1] if i else []) for i in range(300)]
    found, whole = both(setup(), [nodes, nodes], "fluid")
    assert found.left_out and replace(found, left_out=0) == whole
    assert found.times[0].total_ns == 1000 * 100 * (7 + 2 + 2)


def test_what_gets_ahead_is_run_in_full() -> None:
    # The second stage is slow, so the first one gets ahead of it for as long as there is one more.
    ahead = [compute(i, 1, [i - 1] if i else []) for i in range(60)]
    late = [compute(i, 5, [i - 1] if i else []) for i in range(60)]
    found, whole = both(setup(), [ahead, late], "fluid")
    assert not found.left_out and found == whole


def test_what_follows_the_periods_must_wait_for_the_last_of_them() -> None:
    nodes = [compute(i, 1, [i - 1] if i else []) for i in range(60)]
    last = trace_of(iter([*nodes, compute(90, 4, [59, 3])]), setup().system, "w")
    periods = find_periods(last)
    assert periods and periods.count == 59
    short = without(last, periods, 24)
    assert short and short.nodes[-1].data_deps == (35,)
    # Node 90 may begin before the periods end, and where it does depends on how many there are.
    early = trace_of(iter([*nodes, compute(90, 4, [3])]), setup().system, "w")
    periods = find_periods(early)
    assert periods and without(early, periods, 24) is None


def test_an_error_is_that_of_all_periods() -> None:
    first, second = pipeline(64, 20)
    with pytest.raises(InputError) as error:
        both(setup(), [first, [one for one in second if one.id != 1 + STEP * 60 + 3]], "fluid")
    assert "w.0.et: node 6004: must have its send in rank 1; of 700 bytes" in str(error.value)
