"""Crossing activations of one layer in RTL, on a plane of twenty NPUs: bit for bit."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import Strategy
from fred_hw.reading import read_data
from fred_hw.wafer.flows import NoPathError
from fred_hw.wafer.phase import Phase
from fred_hw.wafer.plane import Plane
from fred_hw.wafer.program import WaferProgram
from fred_hw.wafer.rounds import find_rounds
from fred_hw.wafer.spec import WaferSpec
from perfmodel.repurpose.calibrated import calibrate
from perfmodel.repurpose.crossings import Multicast, crossings
from perfmodel.repurpose.network import INPUT, Network
from perfmodel.repurpose.operations import Linear
from perfmodel.repurpose.pruning import Penalties
from perfmodel.repurpose.restructure import Options, Restructured, restructure
from perfmodel.repurpose.traffic import joined
from testbench.collectives.compiled import build_compiled
from testbench.collectives.fabric import Sizes
from testbench.collectives.joined import run_joined
from testbench.collectives.plane import PlaneRun, npu_steps

ROOT = Path(__file__).parents[3]
NPUS, CHANNELS, FLIT, READY = 20, 160, 2, 2500  # a flit is one FP16 number


def wafer() -> WaferSpec:
    """Return the published fabric without controllers, and with one activation in a flit."""
    data = dict(read_data(ROOT / "examples/wafer-20.yaml"))
    small = read_data(ROOT / "examples/wafer-4.yaml")
    links = {name: small[name] for name in ("lanes", "protocol", "endpoint")}
    without = [
        {**one, "ports": one["ports"] - one.get("controllers", 0), "controllers": 0}
        for one in data["switches"]
    ]
    return WaferSpec.model_validate({**data, **links, "switches": without})


def layer() -> tuple[Restructured, np.ndarray]:
    """Return a layer placed on twenty workers, and a sample of its inputs in FP16."""
    rng = np.random.default_rng(1)
    block = rng.permutation(CHANNELS) % NPUS
    inside = block[:, None] == (np.arange(CHANNELS) * NPUS // CHANNELS)[None, :]
    weights = rng.normal(size=(CHANNELS, CHANNELS)) * np.where(inside, 1.0, 0.1)
    network = Network("layer", (Linear("fc", (INPUT,), weights),))
    calibrated = calibrate(network, rng.normal(size=(200, CHANNELS)))
    made = restructure(calibrated, Options(NPUS, Penalties(0.0, 0.09)))
    return made, rng.normal(size=CHANNELS).astype("<f2")


def phases_of(plane: Plane, casts: Sequence[Multicast]) -> list[list[Multicast]]:
    """Return multicasts in phases: nobody sends or receives twice, and the switches have paths."""
    found: list[list[Multicast]] = []
    for one in casts:
        for own in found:
            ends = {end for other in own for end in other.targets}
            sources = {other.source for other in own}
            if (
                not ends & set(one.targets)
                and one.source not in sources
                and _fit(plane, [*own, one])
            ):
                own.append(one)
                break
        else:
            found.append([one])
    return found


def _flows(casts: Sequence[Multicast]) -> list[Flow]:
    return [Flow((one.source,), one.targets) for one in casts]


def _fit(plane: Plane, casts: Sequence[Multicast]) -> bool:
    try:
        return len(find_rounds(plane, _flows(casts), {}).rounds) == 1
    except NoPathError:
        return False


@pytest.mark.sim
@pytest.mark.slow(90)
@pytest.mark.xdist_group("wafer")
def test_activations_of_a_layer_arrive_bit_for_bit(tmp_path: Path) -> None:
    made, sample = layer()
    (crossing,) = crossings(made)
    casts = joined(crossing.multicasts, 2)
    assert (crossing.activations, len(casts)) == (63, 33)
    plane = Plane(wafer())
    sets = phases_of(plane, casts)
    assert len(sets) == 6
    size = max(len(one.channels) for one in casts)
    phases = tuple(
        Phase(f"mp_{k}", "mp", k, tuple(_flows(own)), find_rounds(plane, _flows(own), {}))
        for k, own in enumerate(sets)
    )
    strategy = Strategy.parse(f"MP{NPUS}-DP1-PP1")
    program = WaferProgram(plane, strategy, phases, FLIT * size)
    depth = 2 * len(phases) * size
    rng = np.random.default_rng(2)
    memories = [rng.integers(0, 256, (depth, FLIT), dtype=np.uint8) for _ in range(NPUS)]
    for phase, own in zip(phases, sets, strict=True):
        source, _ = program.buffers(phase)
        for one in own:
            sent = np.zeros(size, dtype="<f2")
            sent[: len(one.channels)] = sample[list(one.channels)]
            place = source.address // FLIT
            memories[one.source][place : place + size] = sent.view(np.uint8).reshape(size, FLIT)
    jobs = [
        [(0, d) for phase in phases for d in program.descriptors(n, phase)] for n in range(NPUS)
    ]
    run = PlaneRun(
        program=program,
        steps=[npu_steps(program, npu, own, READY) for npu, own in enumerate(jobs)],
        memories=memories,
        limit=60_000,
    )
    found = run_joined(
        build_compiled(wafer(), Sizes(flits=1 << (depth - 1).bit_length())), run, tmp_path
    )
    assert [one["ERROR"] for one in found.reads] == [[0]] * NPUS
    # What each worker now has is enough for its rows: the products are those of the whole layer.
    known = np.full((NPUS, CHANNELS), np.nan)
    owner = made.owners(INPUT)
    known[owner, np.arange(CHANNELS)] = sample
    for phase, own in zip(phases, sets, strict=True):
        _, target = program.buffers(phase)
        place = target.address // FLIT
        for one in own:
            for npu in one.targets:
                got = found.memories[npu][place : place + len(one.channels)].reshape(-1).view("<f2")
                assert (got == sample[list(one.channels)]).all()
                known[npu, list(one.channels)] = got
    (product,) = made.network.products
    weights, rows = product.weight, made.owners("fc")
    for row, worker in enumerate(rows):
        used = weights[row] != 0
        assert not np.isnan(known[worker, used]).any()
        mine = weights[row, used] @ known[worker, used]
        assert mine == weights[row, used] @ sample[used].astype(float)
