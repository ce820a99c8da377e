"""Flows that share links: whatever is queued, and whoever is late, all of it ends, bit for bit."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from fred_hw.ace.operations import Buffer, Descriptor, FlowId, exchange
from fred_hw.ace.steps import EndpointProgram
from fred_hw.compiler.placement import Strategy
from fred_hw.mesh.program import compile_for_mesh
from fred_hw.mesh.spec import MeshSpec
from fred_hw.wafer.phase import switched_phases
from fred_hw.wafer.plane import Plane
from fred_hw.wafer.program import WaferProgram
from testbench.collectives.compiled import build_compiled
from testbench.collectives.fabric import Flits, Sizes
from testbench.collectives.joined import run_joined
from testbench.collectives.phase_cycles import random_memories
from testbench.collectives.plane import PlaneRun, npu_steps
from testbench.models.golden_phase import wrong_npus
from tests.testbench.cases import ENGINE, SHORT
from tests.testbench.collectives.test_rounds import compiled, wafer

FLIT, READY = 2, 400
"""Bytes of a flit, cycles until all is written."""
ROW = MeshSpec(width=6, height=1, controllers=False, lanes=1, protocol=SHORT, endpoint=ENGINE)
pytestmark = [pytest.mark.sim, pytest.mark.slow, pytest.mark.xdist_group("wafer")]

Jobs = Sequence[tuple[int | None, int | None, int]]
"""What an NPU does, one after the other: to whom it sends, from whom it receives, and flits."""


@cache
def row() -> Path:
    return build_compiled(ROW, Sizes())


def program(strategy: str, phase: str, flits: int) -> WaferProgram:
    """Return a phase of a strategy on three L1s with three NPUs and one link up each."""
    parsed, plane = Strategy.parse(strategy), Plane(wafer(3, 3))
    phases = switched_phases(plane, parsed)
    return WaferProgram(plane, parsed, phases, FLIT * flits).alone(phase)


def unicasts(
    model: Path,
    made: EndpointProgram,
    wanted: Mapping[int, Jobs],
    folder: Path,
    *,
    late: Sequence[int] = (),
    faults: int = 0,
    limit: int = 20_000,
    seed: int = 1,
) -> None:
    """Do exchanges of unicasts; each sends and receives behind what the one before did.

    NPUs that are ``late`` begin 3,000 cycles behind the others.
    """
    most = max(sum(flits for *_, flits in jobs) for jobs in wanted.values())
    rng = np.random.default_rng(1)
    before = [rng.integers(0, 256, (2 * most, FLIT), dtype=np.uint8) for _ in range(made.npus)]
    sent: dict[tuple[int, int], Flits] = {}  # what is on its way from one NPU to another, in order
    queued: dict[int, list[tuple[int, Descriptor]]] = {npu: [] for npu in range(made.npus)}
    for npu, jobs in wanted.items():
        source, destination = 0, most
        for to, come_from, flits in jobs:
            send = receive = None
            if to is not None:
                send = (Buffer(FLIT * source, FLIT * flits), FlowId(to, unicast=True))
                one = before[npu][source : source + flits]
                sent[npu, to] = np.concatenate([sent.get((npu, to), one[:0]), one])
                source += flits
            if come_from is not None:
                buffer = Buffer(FLIT * destination, FLIT * flits)
                receive = (buffer, FlowId(come_from, unicast=True))
                destination += flits
            wait = 3000 if npu in late and not queued[npu] else 0
            queued[npu].append((wait, exchange("pp", send, receive)))
    steps = [npu_steps(made, npu, jobs, READY) for npu, jobs in queued.items()]
    run = PlaneRun(
        program=made,
        steps=steps,
        memories=before,
        faults=faults,
        memory_stalls=20 if faults else 0,
        limit=limit,
        seed=seed,
    )
    found = run_joined(model, run, folder)
    assert [one["ERROR"] for one in found.reads] == [[0]] * made.npus
    for npu, jobs in wanted.items():
        place = most
        for _, come_from, flits in jobs:
            if come_from is not None:
                want = sent[come_from, npu]
                assert np.array_equal(found.memories[npu][place : place + flits], want[:flits]), npu
                sent[come_from, npu], place = want[flits:], place + flits
        assert np.array_equal(found.memories[npu][place:], before[npu][place:]), npu


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("faults", [0, 5000])
def test_unicasts_over_links_of_each_others_receivers(
    tmp_path: Path, faults: int, seed: int
) -> None:
    """0 -> 3 -> 7 and 1 -> 6 -> 4: 3 waits for 7, whose packets would stand behind those of 6."""
    wanted = {
        npu: [(*ends, 200)] * 2
        for npu, ends in {
            0: (3, None),
            1: (6, None),
            3: (7, 0),
            6: (4, 1),
            7: (None, 3),
            4: (None, 6),
        }.items()
    }
    made = program("MP3-DP3-PP1", "mp_all_reduce", 24)
    unicasts(
        compiled(3, 3),
        made,
        wanted,
        tmp_path,
        late=(4, 7),
        faults=faults,
        seed=seed,
        limit=60_000,
    )


def test_unicasts_over_links_of_each_others_receivers_in_a_row_of_a_mesh(tmp_path: Path) -> None:
    """0 -> 3 -> 1 and 5 -> 2 -> 4: each receives beyond the one that the other sends to."""
    wanted = {
        npu: [(*ends, 200)] * 2
        for npu, ends in {
            0: (3, None),
            5: (2, None),
            3: (1, 0),
            2: (4, 5),
            1: (None, 3),
            4: (None, 2),
        }.items()
    }
    made = compile_for_mesh(ROW, Strategy.parse("MP6-DP1-PP1"), 24 * FLIT, algorithm="ring")
    unicasts(row(), made, wanted, tmp_path, late=(1, 4))


@pytest.mark.parametrize("stalls", [0, 20])
def test_stages_forward_again_and_again_with_all_of_it_queued(tmp_path: Path, stalls: int) -> None:
    made = program("MP2-DP1-PP4", "pp_forward", 100)
    phase = made.phase("pp_forward")
    before = random_memories(made, 1)
    steps = [
        npu_steps(made, npu, [(0, one) for one in made.descriptors(npu, phase) * 8], READY)
        for npu in range(made.npus)
    ]
    run = PlaneRun(program=made, steps=steps, memories=before, limit=60_000, memory_stalls=stalls)
    found = run_joined(compiled(3, 3), run, tmp_path)
    assert [one["ERROR"] for one in found.reads] == [[0]] * made.npus
    assert wrong_npus(made, "pp_forward", before, found.memories) == []


@pytest.mark.parametrize("cut", range(1, 10))
def test_a_receive_may_end_at_any_flit_of_a_packet(tmp_path: Path, cut: int) -> None:
    """What is behind the cut comes into a later buffer, behind what another one sends."""
    wanted = {
        0: [(1, None, 10)],
        2: [(1, None, 4)],
        1: [(None, 0, cut), (None, 2, 4), (None, 0, 10 - cut)],
    }
    made = program("MP3-DP3-PP1", "mp_all_reduce", 24)
    unicasts(compiled(3, 3), made, wanted, tmp_path)
