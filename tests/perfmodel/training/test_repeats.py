"""Tests of iterations whose microbatches repeat: nothing but the cost differs from all of them."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fred_hw.errors import InputError
from perfmodel.memory.file import MemoryFile
from perfmodel.network.fluid.task import PATIENT
from perfmodel.topology.parse import shared_topology
from perfmodel.training.compute import Npu
from perfmodel.training.estimate import simulate, summarize
from perfmodel.training.iteration import Iteration, Plan
from perfmodel.training.operations import Operations
from perfmodel.training.parts import PARTS, WAITS
from perfmodel.training.placement.place import place
from perfmodel.training.request import Request
from perfmodel.workloads.layers import Network
from perfmodel.workloads.transformer import transformer
from perfmodel.workloads.workload import load_workload, parse_strategy, with_batch

FABRICS = ("fred-d", "fred-a", "mesh:5x4")
STRATEGIES = ("MP1-DP20-PP1", "MP2-DP5-PP2", "MP1-DP5-PP4", "MP4-DP1-PP5", "MP3-DP3-PP2-SP")


@lru_cache
def network(layers: int, hidden: int) -> Network:
    return transformer(layers, hidden, 28, 256, 50257)


def iterations(
    fabric: str,
    strategy: str,
    microbatches: int,
    layers: int = 6,
    hidden: int = 2128,
    scale: float = 1.0,
    memory: MemoryFile | None = None,
    **changes: Any,
) -> tuple[Iteration, Iteration]:
    """Return an iteration with microbatches left out if they repeat, and with all."""
    job = replace(
        load_workload("transformer-17b"),
        network=network(layers, hidden),
        microbatches=microbatches,
        samples_per_replica=2 * microbatches,
        **changes,
    )
    topology = shared_topology(fabric)
    placed = place(topology, parse_strategy(strategy))
    operations = Operations(topology, placed, memory=memory)
    few, every = (
        Plan(topology, job, placed, Npu(), operations, repeats=one).iteration(scale)
        for one in (True, False)
    )
    return few, every


def check_same(few: Iteration, every: Iteration) -> None:
    rounding = 1e-11 * every.time_s
    assert few.time_s == pytest.approx(every.time_s, abs=rounding)
    assert few.busy_s == pytest.approx(every.busy_s, abs=rounding)
    assert few.memory == every.memory
    for part in PARTS:
        assert few.critical_path_s[part] == pytest.approx(
            every.critical_path_s[part], abs=rounding
        ), part
    assert few.stage == every.stage
    assert few.compute_s == pytest.approx(every.compute_s, abs=rounding)
    for part in WAITS:
        left_s, all_s = getattr(few.exposed_s, part), getattr(every.exposed_s, part)
        assert left_s == pytest.approx(all_s, abs=rounding), part
    for kind, all_s in every.communication_s.items():
        assert few.communication_s[kind] == pytest.approx(all_s, abs=rounding), kind


@pytest.mark.parametrize(
    ("fabric", "strategy", "overlap"),
    [
        *(("fred-d", strategy, overlap) for strategy in STRATEGIES for overlap in (False, True)),
        *((fabric, STRATEGIES[1], False) for fabric in FABRICS[1:]),
    ],
)
def test_microbatches_of_a_pipeline_repeat(fabric: str, strategy: str, overlap: bool) -> None:
    count = 197 if "PP5" in strategy else 97  # times of five stages come again after ten
    few, every = iterations(fabric, strategy, count, overlap=overlap)
    check_same(few, every)
    assert len(few.run.jumps) == 1 and 2 * len(few.tasks) < len(every.tasks)


@pytest.mark.parametrize("strategy", ["MP1-DP20-PP1", "MP4-DP5-PP1"])
@pytest.mark.parametrize("mode", ["gpipe", "streaming", "remote"])
def test_microbatches_of_a_stage_repeat(mode: str, strategy: str) -> None:
    changes: dict[str, Any] = {"schedule": "gpipe"} if mode == "gpipe" else {"mode": "streaming"}
    memory = None
    if mode == "remote":
        data = {"memory-type": "MEMORY_POOL", "remote-mem-bw": 300, "remote-mem-latency": 500}
        memory = MemoryFile.model_validate(data)
    few, every = iterations("fred-d", strategy, 97, memory=memory, **changes)
    check_same(few, every)
    stretches = 2 if mode == "gpipe" else 2 * 8  # forward and backward, of each layer
    assert len(few.run.jumps) == stretches and 2 * len(few.tasks) < len(every.tasks)


@pytest.mark.parametrize("changes", [{"schedule": "gpipe"}, {"mode": "streaming"}])
def test_what_is_not_sure_is_simulated(changes: dict[str, Any]) -> None:
    """Without back pressure a quick stage gets ahead of a slow one, ever more."""
    few, every = iterations("fred-d", "MP1-DP5-PP4", 70, **changes)
    assert few.run == every.run and few.critical_path_s == every.critical_path_s


@pytest.mark.slow
@settings(max_examples=12)
@given(
    st.sampled_from(FABRICS),
    st.sampled_from(STRATEGIES),
    st.integers(65, 90),
    st.integers(5, 7),
    st.sampled_from([28, 2128]),
    st.sampled_from([1e-6, 1e-3, 0.05, 1.0]),
    st.sampled_from([{}, {"overlap": True}, {"schedule": "gpipe"}, {"mode": "streaming"}]),
)
def test_nothing_but_the_cost_differs(
    fabric: str,
    strategy: str,
    microbatches: int,
    layers: int,
    hidden: int,
    scale: float,
    changes: dict[str, Any],
) -> None:
    """Also where messages take longer than compute, and links are what is waited for."""
    given = (fabric, strategy, microbatches, layers, hidden, scale)
    check_same(*iterations(*given, **changes))


@pytest.mark.parametrize(
    "name", [pytest.param("transformer-17b", marks=pytest.mark.slow), "mixtral-8x7b"]
)
def test_a_million_microbatches_cost_what_64_cost(name: str) -> None:
    topology, job = shared_topology("fred-d"), load_workload(name)
    tasks, found = dict[int, int](), dict[int, float]()
    for count in (64, 1 << 20, 1 << 19):
        simulated = simulate(Request.of(topology, with_batch(job, count, count)))
        tasks[count] = len(simulated.iteration.tasks)
        result = summarize(simulated)
        found[count] = result.time_per_sample_s
        assert result.minibatch == count * parse_strategy(result.strategy).dp
    assert max(tasks.values()) == tasks[64]
    assert found[1 << 20] == pytest.approx(found[1 << 19], rel=1e-4)
    assert found[1 << 20] <= found[64]


def test_all_are_simulated_if_asked_for_and_refused_if_too_many() -> None:
    topology, job = shared_topology("fred-d"), load_workload("transformer-17b")
    job = replace(job, network=network(6, 28))
    batch = with_batch(job, 70, 70)
    assert not simulate(Request.of(topology, batch), repeats=False).iteration.run.jumps
    assert simulate(Request.of(topology, batch)).iteration.run.jumps
    line = "transformer-17b: microbatches: must be at most 8192 with 8 layers where none is left"
    with pytest.raises(InputError, match=f"^{line} out, not 8193$"):
        simulate(Request.of(topology, with_batch(job, 8193, 8193)), repeats=False)


def test_periods_have_no_transfer_that_is_not_urgent() -> None:
    few, _ = iterations("fred-d", "MP2-DP5-PP2", 97, overlap=True)
    for jump in few.run.jumps:
        assert all(few.tasks[i].priority < PATIENT for i in jump.tasks)
        assert (
            jump.times * jump.occurrences
            + max(one.occurrence.number for one in few.tasks if one.occurrence)
            == 96
        )
