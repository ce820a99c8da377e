"""Co-simulate a 5 x 4 mesh with an endpoint at each router: all-reduces against what links allow.

The bound of a phase is the data flits of its busiest link, those of NPUs too, over the data flits
that a link at full load carries per cycle, of the routers' timing record. All results are compared
with the golden model, bit for bit.
"""

import argparse
import random
import sys
import tempfile
import time
from dataclasses import replace
from itertools import product
from pathlib import Path

from fred_hw.compiler.placement import Strategy
from fred_hw.mesh.load import load_mesh
from fred_hw.mesh.program import MeshProgram, compile_for_mesh
from perfmodel.switch_timing.router import RouterTiming, load_link_record
from testbench.collectives.compiled import build_compiled
from testbench.collectives.fabric import Finished, Sizes
from testbench.collectives.joined import run_joined
from testbench.collectives.phase_cycles import phase_cycles, random_memories
from testbench.collectives.plane import PlaneRun, npu_steps
from testbench.models.golden_phase import wrong_npus

MESH = Path(__file__).parents[2] / "examples/mesh-5x4.yaml"
ENDPOINT = {"fsms": 4, "slots": 8, "chunk_flits": 1024}
SIZES = Sizes(link_cycles=24, memory_cycles=40)
ALGORITHMS = ("ring", "bidirectional_ring", "hierarchical_2d_halves")
WHOLE = 32_768  # flits that 64 KiB are at one lane
READ_PORTS = (1, 2)  # of an endpoint to its memory
# What they are to reach. With one port an endpoint reads 5 flits for 4 that it sends in a row.
GOALS = dict.fromkeys(ALGORITHMS, 0.95)
ONE_PORT = GOALS | {"hierarchical_2d_halves": 0.87}
ONE_ORDER = 1023  # flits that rows and columns have on one circuit, in blocks of 205 and 203
UNEVEN = (16, 33, 128)  # flits that five members share as 4, 4, 4, 4, 0 and 7, 7, 7, 7, 5, ...


def full_rate() -> float:
    """Return the data flits per cycle of a link at full load."""
    timing = load_link_record("mesh-5x4")
    assert isinstance(timing, RouterTiming)
    return timing.record.router.data_flits_per_cycle


def simulate(model: Path, one: PlaneRun) -> Finished:
    with tempfile.TemporaryDirectory() as folder:
        return run_joined(model, one, Path(folder))


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def report(model: Path, made: MeshProgram, label: str) -> list[float]:
    """Print what each phase takes alone, and return its share of what its busiest link allows."""
    shares: list[float] = []
    for phase in made.phases:
        cycles = phase_cycles(made, phase, lambda one: simulate(model, one)).cycles
        least = max(made.link_flits(phase.name).values()) / full_rate()
        shares.append(least / cycles)
        share = f"{shares[-1]:.3f} of what its busiest link allows"
        say(f"{label} {phase.name}: {cycles} cycles, {least:.0f} at least, {share}")
    return shares


def at_once(model: Path, made: MeshProgram, faults: int) -> int:
    """Return the cycles of all phases at once, begun at random times."""
    before, rng, steps = random_memories(made, 2), random.Random(2), []
    for npu in range(made.npus):
        jobs = [
            (rng.randrange(100) if number == 0 else 0, one)
            for phase in made.phases
            for number, one in enumerate(made.descriptors(npu, phase))
        ]
        steps.append(npu_steps(made, npu, jobs, 0))
    one = PlaneRun(program=made, steps=steps, memories=before, seed=2, limit=400_000)
    found = simulate(model, replace(one, faults=faults, memory_stalls=5 if faults else 0))
    for phase in made.phases:
        if wrong := wrong_npus(made, phase.name, before, found.memories):
            sys.exit(f"error: {phase.name}: what NPUs {wrong} have is wrong")
    if any(each["ERROR"] != [0] for each in found.reads):
        sys.exit("error: an endpoint has refused a descriptor")
    if (found.faults > 0) != (faults > 0):
        sys.exit(f"error: {found.faults} faults fell on links, of {faults} in a million")
    return found.cycles


def measure(ports: int, sizes: list[int], some_faults: int) -> None:
    """Print what all-reduces of endpoints with so many ports to read memory take."""
    endpoint = {**ENDPOINT, "read_ports": ports}
    mesh = load_mesh(str(MESH), {"lanes": 1, "endpoint": endpoint})
    begun = time.perf_counter()
    model = build_compiled(mesh, SIZES)
    ready = f"ready in {time.perf_counter() - begun:.0f} s"
    say(f"5 x 4 routers and endpoints with read_ports {ports}: {ready}")
    goals = ONE_PORT if ports == 1 else GOALS
    for flits, algorithm in product(sizes, ALGORITHMS):
        made = compile_for_mesh(mesh, Strategy(20, 1, 1), 2 * flits, algorithm=algorithm)
        (share,) = report(model, made, f"{flits} flits, {algorithm},")
        if flits == WHOLE and share < (goal := goals[algorithm]):
            sys.exit(
                f"error: {algorithm} of {flits} flits with read_ports {ports} reaches {share:.3f} "
                f"of what links allow, not {goal}"
            )
    made = compile_for_mesh(mesh, Strategy(2, 5, 2), 2 * 128)
    report(model, made, f"{made.strategy},")
    runs = [(Strategy(2, 5, 2), flits) for flits in UNEVEN] + [(Strategy(20, 1, 1), ONE_ORDER)]
    for (strategy, flits), faults in product(runs, (0, some_faults)):
        made = compile_for_mesh(mesh, strategy, 2 * flits)
        begun, cycles = time.perf_counter(), at_once(model, made, faults)
        rate = cycles / (time.perf_counter() - begun)
        text = f"{cycles} cycles in all, {rate:,.0f} per second"
        say(f"{made.strategy}, {flits} flits, all at once, {faults} faults in a million: {text}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flits", type=int, nargs="+", default=[128, 1024, 8192, WHOLE])
    parser.add_argument("--faults", type=int, default=200, help="in a million flits of a link")
    arguments = parser.parse_args()
    for ports in READ_PORTS:
        measure(ports, arguments.flits, arguments.faults)


if __name__ == "__main__":
    main()
