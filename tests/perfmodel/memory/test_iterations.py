"""Tests of iterations whose weights and input come from remote memory."""

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.memory.file import MEMORY_TYPES, MemoryFile
from perfmodel.topology.parse import shared_topology
from perfmodel.training.compute import Npu
from perfmodel.training.iteration import Plan
from perfmodel.training.operations import Operations
from perfmodel.training.placement.place import place
from perfmodel.workloads.transformer import transformer
from perfmodel.workloads.workload import load_workload, parse_strategy

JOB = replace(load_workload("transformer-17b"), network=transformer(3, 280, 28, 256, 5000))
NODES = {"num-nodes": 10, "num-npus-per-node": 2}
RATES = ("remote-mem-bw", "out-node-bw", "in-node-bw")
LANES = ("num-remote-mem-groups", "num-out-node-switches")
SIZES = ("remote-mem-latency", "piece-size")


@settings(max_examples=60)
@given(
    st.sampled_from(MEMORY_TYPES[1:]),
    st.sampled_from(["fred-d", "fred-a", "mesh:5x4"]),
    st.sampled_from(["MP1-DP20-PP1", "MP2-DP5-PP2", "MP1-DP5-PP3", "MP4-DP1-PP5"]),
    st.fixed_dictionaries(
        {
            "mode": st.sampled_from(["stationary", "streaming"]),
            "microbatches": st.integers(1, 5),
            "overlap": st.booleans(),
        }
    ),
    st.fixed_dictionaries(
        {
            **{key: st.sampled_from([0.5, 10.0, 1000.0]) for key in RATES},
            **{key: st.sampled_from([2, 64]) for key in LANES},
            **{key: st.sampled_from([1, 100, 10**6]) for key in SIZES},
            "in-switch-collectives": st.sampled_from([0, 1]),
        }
    ),
    st.sampled_from([*RATES, *LANES, *SIZES]),
)
def test_no_iteration_is_faster_with_slower_memory(
    kind: str,
    fabric: str,
    strategy: str,
    changes: dict[str, Any],
    values: dict[str, Any],
    slower: str,
) -> None:
    if kind != MEMORY_TYPES[-1]:
        values = {key: one for key, one in values.items() if key.startswith("remote-")}
        slower = slower if slower in values else "remote-mem-bw"
    topology = shared_topology(fabric)
    job = replace(JOB, samples_per_replica=2 * changes["microbatches"], **changes)
    placed = place(topology, parse_strategy(strategy))

    def time_s(values: dict[str, Any]) -> float:
        memory = MemoryFile.model_validate({"memory-type": kind, **NODES, **values})
        operations = Operations(topology, placed, memory=memory)
        return Plan(topology, job, placed, Npu(), operations).iteration(1.0).time_s

    other = values[slower] * 3 if slower in SIZES else values[slower] / 2
    other = int(other) if slower in (*SIZES, *LANES) else other
    assert time_s(values | {slower: other}) >= time_s(values) * (1 - 1e-12)
