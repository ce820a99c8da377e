"""Tests of perfmodel.collectives.msccl: what is exported is executed step by step, at random."""

from collections import deque
from random import Random
from typing import Any
from xml.etree import ElementTree

import pytest

from fred_hw.errors import InputError
from perfmodel.collectives.algorithm import ALGORITHMS
from perfmodel.collectives.msccl import msccl_xml
from perfmodel.collectives.schedule import PATTERNS
from perfmodel.collectives.select import build_schedule
from perfmodel.topology.parse import parse_topology, shared_topology

State = dict[tuple[int, str, int], frozenset[Any]]


def execute(root: ElementTree.Element, state: State, rng: Random) -> None:
    """Execute thread blocks in random order; connections hold any number of messages."""
    blocks = [(int(gpu.attrib["id"]), block.attrib, list(block)) for gpu in root for block in gpu]
    done = {(gpu, int(attrs["id"])): 0 for gpu, attrs, _ in blocks}
    wires: dict[tuple[int, int], deque[frozenset[Any]]] = {}
    while waiting := [one for one in blocks if done[one[0], int(one[1]["id"])] < len(one[2])]:
        rng.shuffle(waiting)
        moved = False
        for gpu, attrs, steps in waiting:
            key = gpu, int(attrs["id"])
            step = steps[done[key]].attrib
            assert int(step["s"]) == done[key]
            if int(step["depid"]) >= 0:
                other = gpu, int(step["depid"])
                if done[other] <= int(step["deps"]):
                    continue
                target = next(b for b in blocks if (b[0], int(b[1]["id"])) == other)[2]
                assert target[int(step["deps"])].attrib["hasdep"] == "1"
            here = gpu, step["srcbuf"], int(step["srcoff"])
            there = gpu, step["dstbuf"], int(step["dstoff"])
            if step["type"] == "s":
                wires.setdefault((gpu, int(attrs["send"])), deque()).append(state[here])
            elif step["type"] in ("r", "rrc"):
                wire = wires.get((int(attrs["recv"]), gpu))
                if not wire:
                    continue
                came = wire.popleft()
                if step["type"] == "rrc":
                    assert not came & state[there]
                    came |= state[there]
                state[there] = came
            elif step["type"] == "cpy":
                state[there] = state[here]
            done[key] += 1
            moved = True
        assert moved, "thread blocks wait for each other"


@pytest.mark.parametrize(
    ("algorithm", "pattern"),
    [
        (name, pattern)
        for name in ("ring", "multitree", "synthesized", "direct")
        for pattern in PATTERNS
        if pattern in ALGORITHMS[name].patterns
    ],
)
@pytest.mark.parametrize(("name", "group"), [("mesh:3x2", range(6)), ("torus:3x3", [8, 1, 3, 5])])
def test_the_steps_do_what_the_pattern_promises(
    name: str, group: list[int], pattern: str, algorithm: str
) -> None:
    schedule = build_schedule(parse_topology(name), pattern, [group], 1e6, algorithm)
    root = ElementTree.fromstring(msccl_xml(schedule))
    gpus, chunks = len(group), int(root.attrib["nchunksperloop"])
    first = sorted(group).index(group[0])
    every = frozenset(range(gpus))
    share = chunks // gpus
    state: State = {}
    for gpu in range(gpus):
        for place in range(chunks):
            if pattern == "all_to_all":
                state[gpu, "i", place] = frozenset([(gpu, place // share)])
            elif pattern == "all_gather":
                owns = place // share == gpu
                state[gpu, "o", place] = frozenset([gpu]) if owns else frozenset()
            elif pattern == "broadcast":
                state[gpu, "o", place] = frozenset([gpu]) if gpu == first else frozenset()
            else:
                state[gpu, "i", place] = frozenset([gpu])
    execute(root, state, Random(1))
    for gpu in range(gpus):
        for place in range(chunks):
            owner = place // share if pattern == "reduce_scatter" else first
            if pattern == "all_to_all":
                assert state[gpu, "o", place] == {(place // share, gpu)}
            elif pattern == "all_gather":
                assert state[gpu, "o", place] == {place // share}
            elif pattern == "broadcast":
                assert state[gpu, "o", place] == {first}
            elif pattern == "all_reduce" or gpu == owner:
                assert state[gpu, "i", place] == every


def test_collectives_of_switches_are_refused() -> None:
    schedule = build_schedule(parse_topology("fred-d"), "all_reduce", [range(20)], 1e6)
    message = "^algorithm: must be one with messages between two NPUs each, to export its schedule"
    with pytest.raises(InputError, match=message):
        msccl_xml(schedule)


def test_unequal_parts_are_refused() -> None:
    schedule = build_schedule(parse_topology("mesh:5x4"), "all_reduce", [range(20)], 1e6)
    with pytest.raises(InputError, match=r"^algorithm: must be one that cuts the data into equal"):
        msccl_xml(schedule)


def test_a_sequence_of_patterns_is_refused() -> None:
    schedule = build_schedule(
        shared_topology("fred-c"), "all_reduce", [range(4)], 4.0, "reduce:ring+broadcast:ring"
    )
    message = (
        "algorithm: must be one of a single stage, to export MSCCL, "
        "not reduce by chain, then broadcast by chain"
    )
    with pytest.raises(InputError, match=f"^{message}$"):
        msccl_xml(schedule)
