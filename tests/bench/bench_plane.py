"""Co-simulate a plane of twenty NPUs on two levels: phases of strategies alone and all at once.

Prints the cycles of each run, and how fast they are simulated. The goal is that all phases of a
strategy, build included, take at most 5 minutes on two cores: returns 1 if they take longer.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fred_hw.ace.operations import Buffer, Descriptor, FlowId, exchange
from fred_hw.compiler.placement import Strategy
from fred_hw.wafer.load import load_wafer
from fred_hw.wafer.phase import Phase
from fred_hw.wafer.program import WaferProgram, compile_strategy
from fred_hw.wafer.spec import WaferSpec
from testbench.collectives.compiled import build_compiled
from testbench.collectives.fabric import Finished, Sizes
from testbench.collectives.joined import run_joined
from testbench.collectives.phase_cycles import phase_cycles
from testbench.collectives.plane import PlaneRun, npu_steps, preempted
from testbench.models.golden_plane import walk_phase

Bytes = NDArray[np.uint8]

WAFER = Path(__file__).parents[2] / "examples/wafer-20.yaml"
STRATEGIES = ("MP2-DP5-PP2", "MP3-DP3-PP2", "MP20-DP1-PP1")
READY = 1200  # cycles until all routes and phases are written
SIZES = Sizes(link_cycles=24, memory_cycles=40)
MOST_S = 300.0


def small(wafer: WaferSpec) -> WaferSpec:
    """Return a plane of the wafer without I/O controllers."""
    names = [f"l1_{k}" for k in range(wafer.npus // 4)]
    l1s = [
        {
            "name": name,
            "above": "l2",
            "chiplets": 1,
            "ports": 8,
            "uplinks": 4,
            "npus": list(range(4 * k, 4 * k + 4)),
        }
        for k, name in enumerate(names)
    ]
    return wafer.with_changes(
        planes=1, switches=[{"name": "l2", "chiplets": 2, "ports": 2 * len(names)}, *l1s]
    )


def memories(made: WaferProgram, seed: int) -> list[Bytes]:
    """Return random bytes: FP16 numbers of all kinds, infinities and NaNs among them."""
    flit = made.plane.wafer.link.data_width // 8
    flits = (2 * len(made.phases) + 2) * made.size // flit
    rng = np.random.default_rng(seed)
    ends = range(made.endpoints)
    return [rng.integers(0, 256, (flits, flit), dtype=np.uint8) for _ in ends]


def numbers(memory: Bytes, buffer: Buffer) -> NDArray[np.uint16]:
    return memory.reshape(-1)[buffer.address : buffer.address + buffer.size].view("<u2")


def check(made: WaferProgram, did: Sequence[Phase], before: list[Bytes], found: Finished) -> None:
    """End the bench if a result is not the golden model's, bit for bit."""
    for phase in did:
        source, destination = made.buffers(phase)
        sent = {npu: numbers(before[npu], source) for f in phase.flows for npu in f.inputs}
        wanted = walk_phase(made.plane, phase.paths, sent)
        for npu, want in wanted.items():
            if (numbers(found.memories[npu], destination) != want).any():
                sys.exit(f"error: {phase.name}: NPU {npu} has a wrong result")
    if any(one["ERROR"] != [0] for one in found.reads):
        sys.exit("error: an endpoint has refused a descriptor")


def unicast(made: WaferProgram, npu: int) -> Descriptor:
    """Return an exchange with the NPU half the wafer away; behind the buffers of all phases."""
    count = made.plane.wafer.npus
    first = 2 * len(made.phases) * made.size
    to, of = ((npu + turn * count // 2) % count for turn in (1, -1))
    return exchange(
        "pp",
        (Buffer(first, made.size), FlowId(to, unicast=True)),
        (Buffer(first + made.size, made.size), FlowId(of, unicast=True)),
    )


def alone(model: Path, made: WaferProgram, phase: Phase) -> int:
    """Return the cycles of a phase alone, from the first COMMAND to the last result."""
    return phase_cycles(made, phase, lambda one: run(model, one)).cycles


def at_once(model: Path, made: WaferProgram, seed: int, faults: int) -> int:
    """Return the cycles of all phases at once, begun at random times, with unicasts beside.

    Where MP is beside DP, the run ends when each switch that has NPUs has counted a preemption.
    """
    before, rng, steps = memories(made, seed), random.Random(seed), []
    for npu in range(made.endpoints):
        jobs = []
        # DP first, so that the more urgent ones preempt it.
        for phase in sorted(made.phases, key=lambda one: one.circuit != "dp"):
            for descriptor in made.descriptors(npu, phase):
                jobs.append((rng.randrange(100), descriptor))
                jobs += [(0, descriptor)] * 2 * (phase.circuit == "mp")
        if npu < made.npus:
            jobs.append((0, unicast(made, npu)))
        steps.append(npu_steps(made, npu, jobs, READY))
    one = PlaneRun(program=made, steps=steps, memories=before, seed=seed, limit=400_000)
    if {"mp", "dp"} <= {phase.circuit for phase in made.phases}:
        l1s = [(n, chip.spec) for n, chip in enumerate(made.plane.units) if chip.name[:2] == "l1"]
        one = replace(one, behind={number: [preempted(spec)] for number, spec in l1s})
    found = run(model, replace(one, faults=faults, memory_stalls=5 if faults else 0))
    if (found.faults > 0) != (faults > 0):
        sys.exit(
            f"error: faults: {found.faults} flits were lost or changed, of {faults} in a million"
        )
    check(made, made.phases, before, found)
    count, size = made.plane.wafer.npus, made.size
    first = 2 * len(made.phases) * size
    for npu in range(count):
        got = numbers(found.memories[npu], Buffer(first + size, size))
        if (got != numbers(before[(npu - count // 2) % count], Buffer(first, size))).any():
            sys.exit(f"error: unicasts: NPU {npu} has a wrong result")
    return found.cycles


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


TOTAL = {"cycles": 0, "simulated_s": 0.0, "cpu_s": 0.0, "threads": 1}


def run(model: Path, one: PlaneRun) -> Finished:
    before = os.times()
    with tempfile.TemporaryDirectory() as folder:
        found = run_joined(model, one, Path(folder), threads=int(TOTAL["threads"]))
    TOTAL["simulated_s"] += found.simulated_s
    TOTAL["cpu_s"] += os.times().children_user - before.children_user
    TOTAL["cycles"] += found.cycles
    return found


def main() -> int:
    """Print a line per run; return 1 if the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flits", type=int, default=128, help="of each phase; 128 are 64 KiB")
    parser.add_argument("--faults", type=int, default=200, help="in a million flits of a link")
    text = "that simulate, all cores by default"
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help=text)
    text = "the published chiplets, of 12, 11 and 10 ports, not of 8 and 10"
    parser.add_argument("--published", action="store_true", help=text)
    text = "endpoints at I/O controllers too, loads and stores; with --published"
    parser.add_argument("--controllers", action="store_true", help=text)
    arguments = parser.parse_args()
    sizes = {"lanes": 1, "protocol": {"phases": 8}, "endpoint": {"fsms": 1, "slots": 2}}
    if arguments.controllers:
        if not arguments.published:
            parser.error("--controllers must be given with --published")
        sizes["controllers"] = "endpoints"
    wafer = load_wafer(str(WAFER), sizes)
    wafer = wafer if arguments.published else small(wafer)
    TOTAL["threads"] = arguments.threads
    begun = time.perf_counter()
    model = build_compiled(wafer, SIZES)
    ports = sorted({one.ports for one in wafer.switches})
    say(f"switches of {ports} ports: ready in {time.perf_counter() - begun:.0f} s")
    first_s = 0.0  # until all phases of the first strategy are done, build included
    for name in STRATEGIES:
        made = compile_strategy(wafer, Strategy.parse(name), 2 * arguments.flits)
        for phase in made.phases:
            cycles = alone(model, made, phase)
            say(f"{name} {phase.name}: {cycles} cycles for {arguments.flits} flits")
        first_s = first_s or time.perf_counter() - begun
        for faults in (0, arguments.faults):
            cycles = at_once(model, made, 2, faults)
            say(f"{name} all at once, {faults} faults in a million: {cycles} cycles in all")
    cycles, cpu_s, seconds = TOTAL["cycles"], TOTAL["cpu_s"], TOTAL["simulated_s"]
    say(
        f"{cycles:,} cycles in {seconds:.1f} s on {arguments.threads} threads, {cpu_s:.1f} s of CPU"
    )
    say(f"{cycles / seconds:,.0f} per second, {cycles / cpu_s:,.0f} per second of CPU time")
    right = first_s <= MOST_S
    told = "meets" if right else "MISSES"
    say(f"{STRATEGIES[0]}, build included: {first_s:.0f} s, {told} {MOST_S:g} s")
    return int(not right)


if __name__ == "__main__":
    sys.exit(main())
