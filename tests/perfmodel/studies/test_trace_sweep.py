"""Tests of perfmodel.studies.trace_sweep."""

from pathlib import Path

import pytest

from fred_hw.errors import InputError
from perfmodel.chakra.files import write
from perfmodel.chakra.kinds import NodeType
from perfmodel.chakra.node import Node
from perfmodel.studies.trace_sweep import load_trace_sweep, run_traces
from tests.perfmodel.astra.engine.nodes import collective, compute
from tests.written import written

SWEEP = """
traces: [one, two]
networks: [net.yaml, "mesh:2x1", "mesh:3x1"]
systems: [sys.yaml]
network_models: [fluid, unaware]
"""


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """Traces of 3 us of compute, and of an all-reduce of 2,000 bytes by two NPUs."""
    for rank in range(2):
        write(tmp_path / f"one.{rank}.et", [compute(1, 3)])
        write(tmp_path / f"two.{rank}.et", [collective(1, 2_000)])
    net = "{topology: [FullyConnected], npus_count: [2], bandwidth: [0.9313225746154785], "
    written(tmp_path / "net.yaml", net + "latency: [1000]}")
    written(tmp_path / "sys.yaml", "{all-reduce-implementation: [ring], endpoint-delay: 0}")
    return written(tmp_path / "sweep.yaml", SWEEP)


def test_all_traces_run_on_all_networks(sweep: Path) -> None:
    """A byte takes 1 ns there and a message 1,000 ns more: two steps take 4,000 ns."""
    rows = run_traces(load_trace_sweep(sweep))
    assert len(rows) == 2 * 3 * 2
    assert [(row.traces, row.network_model) for row in rows[::3]] == [
        (traces, model) for traces in ("one", "two") for model in ("fluid", "unaware")
    ]
    found = {(row.traces, row.network_model, row.network): row for row in rows}
    for model in ("fluid", "unaware"):
        ends = [found[one, model, "net.yaml"].last for one in ("one", "two")]
        assert [one and one.total_ns for one in ends] == [3_000, 4_000]
    mesh = found["two", "fluid", "mesh:2x1"]
    assert mesh.last and mesh.speedup == 4_000 / mesh.last.total_ns
    other = found["one", "unaware", "mesh:2x1"]
    assert other.last is None and other.speedup is None
    assert "must be a network of ASTRA-sim alone with network model unaware" in other.problem


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (("baseline: x", ""), "baseline: must be one of net.yaml, mesh:2x1, mesh:3x1, not 'x'"),
        (("", "fluid,"), "network_models.0: must be one of fluid, unaware, aware, not 'any'"),
        (("num_queues_per_dim: [0]", ""), "num_queues_per_dim.0: must be an integer from 1 to"),
    ],
)
def test_bad_files_are_refused(sweep: Path, change: tuple[str, str], line: str) -> None:
    added, removed = change
    text = SWEEP.replace(removed, "any,") if removed else SWEEP
    with pytest.raises(InputError, match=f"^{sweep}: {line}"):
        load_trace_sweep(written(sweep, text + added))


def test_a_sweep_of_which_nothing_runs_is_refused(sweep: Path) -> None:
    for name in ("one", "two"):
        nodes = [Node(1, type=NodeType.COMP_NODE, ctrl_deps=(7,))]
        write(sweep.parent / f"{name}.0.et", nodes)
    with pytest.raises(InputError, match=r"must have a run that ends well; .* not on 7$"):
        run_traces(load_trace_sweep(sweep))
