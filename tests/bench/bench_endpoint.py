"""Measure rings of endpoints on a switch: rate against state machines, messages, slots, replay."""

import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fred_hw.ace.operations import Buffer, Descriptor, FlowId, Ring
from fred_hw.endpoint.flow_sender import replay_packets
from fred_hw.endpoint_spec import EndpointSpec
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from testbench.collectives.fabric import ADDRESSES, Fabric, Program, Sizes, build_fabric, run_fabric
from testbench.models.arithmetic import combine

Words = NDArray[np.uint8]

LINK = 8
"""Cycles of each link."""

SLOTS, CHUNK = 16, 64
LINK_RATE = 0.95
"""Of a flit per cycle: what a ring must reach at its knee. Acks and credits take the rest."""


@dataclass(frozen=True)
class Point:
    """What is measured: members of the ring, machines, flits of a message, slots, replay."""

    fsms: int
    message: int = 16
    slots: int = SLOTS
    replays: int = 0
    members: int = 2


POINTS = (
    *(Point(fsms) for fsms in (1, 2, 4, 8)),
    *(Point(8, message=message) for message in (4, 8)),
    *(Point(8, slots=slots) for slots in (8, 12)),
    *(Point(8, replays=replays) for replays in (16, 8)),
    Point(8, members=4),
)


def spec_of(point: Point) -> SwitchSpec:
    """Return ports with flits of a byte, as the rate does not depend on their width."""
    engine = EndpointSpec(
        fsms=8, slots=point.slots, chunk_flits=CHUNK, memory_reads=32, replay_packets=point.replays
    )
    return SwitchSpec(
        ports=point.members,
        format="int8",
        lanes=1,
        protocol=ProtocolSpec(phases=4),
        endpoint=engine,
    )


def programs(spec: SwitchSpec, point: Point, flits: int) -> list[Program]:
    """Return the part of each endpoint in an all-reduce."""
    made, members = [], point.members
    for k in range(members):
        program = Program(spec)
        program.begin(ADDRESSES[k])
        program.wait(100)
        program.write("CONTROL", 2)
        program.queue(
            Descriptor(
                operation="all_reduce",
                circuit="dp",
                source=Buffer(0, flits),
                destination=Buffer(flits, flits),
                send=FlowId(ADDRESSES[(k + 1) % members], unicast=True),
                receive=FlowId(ADDRESSES[(k - 1) % members], unicast=True),
                ring=Ring(members=members, rank=k, message_bytes=point.message, fsms=point.fsms),
            )
        )
        program.finish("dp")
        for name in ("CYCLES", "FLITS_SENT", "MEMORY_READS", "MEMORY_WRITES", "REWINDS"):
            program.show(name)
        made.append(program)
    return made


def check(spec: SwitchSpec, before: list[Words], after: list[Words], flits: int) -> None:
    """End the bench if results are not those of a ring, bit for bit."""
    members = len(before)
    want, block = np.zeros(flits, np.uint8), flits // members
    for owner in range(members):
        part = slice(owner * block, (owner + 1) * block)
        value = before[(owner + 1) % members][part, 0]
        for turn in range(2, members + 1):
            other = before[(owner + turn) % members][part, 0]
            value = combine(value, other, spec.number_format, spec.operation, spec.overflow)
        want[part] = value
    for k, memory in enumerate(after):
        if (memory[flits : 2 * flits, 0] != want).any():
            sys.exit(f"error: endpoint {k}: its sums are wrong")


def run(spec: SwitchSpec, point: Point, model: Path, flits: int, room: int) -> tuple[int, int]:
    """Return the cycles of an all-reduce, start and end included, and the flits that each sends."""
    rng = np.random.default_rng(1)
    memories = [rng.integers(0, 256, (room, 1), dtype=np.uint8) for _ in range(point.members)]
    fabric = Fabric(
        spec=spec, memories=memories, programs=programs(spec, point, flits), limit=40_000, spread=1
    )
    with tempfile.TemporaryDirectory() as folder:
        found = run_fabric(model, fabric, Path(folder))
    check(spec, memories, found.memories, flits)
    first = found.reads[0]
    if first["MEMORY_READS"][0] != flits or first["MEMORY_WRITES"][0] != flits:
        sys.exit("error: memory is not read and written once per flit")
    return max(one["CYCLES"][0] for one in found.reads), first["FLITS_SENT"][0]


def measure(point: Point) -> float:
    """Print a line; return the flits per cycle that each endpoint sends in the middle of a run.

    That is what a longer buffer sends more in how many cycles more: start and end are alike.
    """
    begin, spec = time.perf_counter(), spec_of(point)
    turn = point.members * point.fsms * point.message  # chunks that go through their steps together
    room = 2 * 4 * point.members * 8 * 16
    model = build_fabric(spec, Sizes(flits=room, link_cycles=LINK))
    short, long = (run(spec, point, model, turns * turn, room) for turns in (2, 4))
    rate = (long[1] - short[1]) / (long[0] - short[0])
    sys.stdout.write(
        f"ring of {point.members}: {point.fsms} state machines, messages of {point.message}, "
        f"{point.slots} slots, replay of {replay_packets(spec)} packets: {rate:.3f} flits per "
        f"cycle, {long[0]} cycles for {long[1]} flits, {time.perf_counter() - begin:.0f} s\n"
    )
    sys.stdout.flush()
    return rate


def main() -> int:
    """Print rates; return 1 if more machines are slower, or the most below the link's rate."""
    rates = {point: measure(point) for point in POINTS}
    swept = [rates[point] for point in POINTS[:4]]
    enough = next(p for p in POINTS[:4] if rates[p] >= LINK_RATE * max(swept))
    sys.stdout.write(
        f"knee: {enough.fsms} state machines with messages of {enough.message} reach "
        f"{LINK_RATE:.0%} of the best rate, {max(swept):.3f}\n"
    )
    slow = max(swept) < LINK_RATE or rates[POINTS[-1]] < LINK_RATE
    return int(slow or any(b < a - 0.005 for a, b in pairwise(swept)))


if __name__ == "__main__":
    sys.exit(main())
