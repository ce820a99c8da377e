"""Tests of tracemodel.astra.engine.alike: NPUs that do the same are run once, to the same end."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.memory.file import MemoryFile
from tests.examples import examples
from tracemodel.astra.engine.alike import Alike, alike
from tracemodel.astra.engine.graph_engine import GraphEngine
from tracemodel.astra.engine.job import Job
from tracemodel.astra.engine.setup import Setup
from tracemodel.astra.engine.trace import Trace, load_traces, trace_of
from tracemodel.astra.network import Dimension, Network
from tracemodel.chakra.files import write
from tracemodel.chakra.kinds import CollectiveType
from tracemodel.chakra.node import Node

from .nodes import collective, compute, memory, message, setup

ROWS, COLUMNS = 3, 4


def square(kind: str = "switch", **others: object) -> Setup:
    """Return rows of NPUs 0 up, with a group for each row and each column."""
    network = Network([Dimension(kind, COLUMNS, 50, 20), Dimension(kind, ROWS, 25, 50)])  # type: ignore[arg-type]
    groups = {str(1 + i): tuple(COLUMNS * i + k for k in range(COLUMNS)) for i in range(ROWS)}
    for k in range(COLUMNS):
        groups[str(8 + k)] = tuple(COLUMNS * i + k for i in range(ROWS))
    names = {f"{one}_implementation": ["ring", "ring"] for one in ("all-reduce", "all-gather")}
    return setup(network=network, groups=groups, **names, **others)  # type: ignore[arg-type]


Step = tuple[str, int, int]


def nodes(rank: int, steps: Sequence[Step], late_us: int = 0) -> list[Node]:
    """Return a trace of computes and collectives of its row, its column or all."""
    found: list[Node] = []
    for number, (what, size, back) in enumerate(steps):
        deps = [number - back] if 0 < back <= number else []
        groups = {"row": str(1 + rank // COLUMNS), "column": str(8 + rank % COLUMNS)}
        if what == "compute":
            found.append(compute(number, size + late_us, deps))
        else:
            named = {"pg_name": groups[what]} if what in groups else {}
            kind = CollectiveType.ALL_GATHER if size % 2 else CollectiveType.ALL_REDUCE
            found.append(collective(number, 1000 * size, deps, kind, **named))
    return found


def stand_ins(given: Setup, traces: Sequence[Trace], model: str = "fluid") -> Alike | None:
    return alike(Job(traces, tuple(range(len(traces))), given.groups), given, model)


def read(given: Setup, traces: Sequence[Sequence[Node]], folder: Path) -> list[Trace]:
    for rank, one in enumerate(traces):
        write(folder / f"w.{rank}.et", iter(one))
    return load_traces(folder / "w", len(traces), given.system)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["compute", "row", "column", "all"]), st.integers(1, 60), st.integers(0, 3)
    ),
    min_size=1,
    max_size=9,
)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("model", ["fluid", "unaware"])
@pytest.mark.parametrize("kind", ["switch", "ring", "fully_connected"])
def test_times_are_those_of_all(kind: str, model: str, tmp_path: Path) -> None:
    one = square(kind)

    @examples(12)
    @given(STEPS, st.sets(st.integers(0, ROWS * COLUMNS - 1), max_size=4), st.booleans())
    def check(steps: list[Step], late: set[int], whole_row: bool) -> None:
        if whole_row:
            late = {npu for npu in range(ROWS * COLUMNS) if npu // COLUMNS == 1}
        traces = [nodes(rank, steps, 7 * (rank in late)) for rank in range(ROWS * COLUMNS)]
        found = read(one, traces, tmp_path)
        assert GraphEngine(found, one, model).run() == (
            GraphEngine(found, one, model, symmetry=False).run()
        )

    check()


STEP: list[Step] = [("compute", 5, 0), ("row", 8, 1), ("compute", 3, 2), ("column", 9, 1)]


def test_one_stands_for_all_and_for_all_groups(tmp_path: Path) -> None:
    given = square()
    found = read(given, [nodes(rank, STEP) for rank in range(12)], tmp_path)
    # Groups 1 to 3 and 8, 9 have another length in the file than 10 and 11: read by themselves.
    assert len({id(one.operations) for one in found}) == 2
    same = stand_ins(given, found)
    assert same and same.first == (0,) * 12
    assert same.group == {**dict.fromkeys("123", "1"), "8": "8", "9": "8", "10": "8", "11": "8"}
    assert same.count == {"1": 3, "8": 4}


def test_a_late_row_is_run_beside_the_others(tmp_path: Path) -> None:
    given = square()
    traces = [nodes(rank, STEP, 9 * (rank // COLUMNS == 1)) for rank in range(12)]
    same = stand_ins(given, read(given, traces, tmp_path))
    # Columns are rings of three rows, each at another distance from the late one.
    assert same and same.first == (0,) * 4 + (4,) * 4 + (8,) * 4


def memory_file(kind: str) -> MemoryFile:
    data = {"memory-type": kind, "remote-mem-bw": 2, "num-nodes": 6, "num-npus-per-node": 2}
    return MemoryFile.model_validate(data)


def test_what_couples_npus_has_each_run(tmp_path: Path) -> None:
    given = square()
    same = [trace_of(iter([compute(0, 1)]), given.system, "w")] * 12
    assert stand_ins(given, same)
    pool = square(remote=memory_file("MEMORY_POOL"))
    own = square(remote=memory_file("PER_NPU_MEMORY_EXPANSION"))
    loads = [trace_of(iter([memory(0, 9)]), given.system, "w")] * 12
    assert stand_ins(own, loads) and not stand_ins(pool, loads)
    pair = message(0, 0, 1, 9)
    sends = [
        trace_of(iter([pair[rank == 1]] if rank < 2 else []), given.system, "w")
        for rank in range(12)
    ]
    assert not stand_ins(given, sends)
    # Rings over every other NPU go through those between, which have one too.
    network = Network([Dimension("ring", 8, 50, 20)])
    ring = setup(network=network, groups={"1": (0, 2, 4, 6), "2": (1, 3, 5, 7)})
    traces = [[collective(0, 9, pg_name=str(1 + rank % 2))] for rank in range(8)]
    found = read(ring, traces, tmp_path)
    assert not stand_ins(ring, found) and stand_ins(ring, found, "unaware")


def test_names_are_read_where_files_differ_in_nothing_else(tmp_path: Path) -> None:
    given = square()
    twice = [("row", 8, 0), ("row", 8, 1)]
    mixed = [collective(0, 8000, pg_name="1"), collective(1, 8000, [0], pg_name="8")]
    other = [collective(0, 8000, pg_name="2"), collective(1, 8000, [0], pg_name="2")]
    for rank, one in enumerate([nodes(0, twice), nodes(4, twice), mixed, other]):
        write(tmp_path / f"v.{rank}.et", iter(one))
    traces = load_traces(tmp_path / "v", 4, given.system)
    called = [
        [trace.names.get(one.what.group, one.what.group) for one in trace.operations.values()]
        for trace in traces
    ]
    assert called == [["1", "1"], ["2", "2"], ["1", "8"], ["2", "2"]]
