"""Measure rings of four endpoints on a switch: rate against state machines, and replay memory."""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fred_hw.ace.operations import Buffer, Descriptor, Flow, Ring
from fred_hw.endpoint.flow_sender import replay_packets
from fred_hw.endpoint_spec import EndpointSpec
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from testbench.collectives.fabric import (
    ADDRESSES,
    Fabric,
    Program,
    Sizes,
    build_fabric,
    run_fabric,
)
from testbench.models.arithmetic import combine

Words = NDArray[np.uint8]

NODES, FLITS, MESSAGE, LINK = 4, 256, 8, 8
TRIED = (1, 2, 4, 8)  # state machines
PROTOCOL = ProtocolSpec(
    phases=4,
    packet_flits=4,
    buffer_packets=16,
    round_trip_cycles=47,
    ack_interval=4,
    window_packets=64,
    timeout_cycles=1024,
    idle_cycles=32,
)


def spec_of(replays: int) -> SwitchSpec:
    """Return four ports with flits of a byte, as the rate does not depend on their width."""
    engine = EndpointSpec(
        fsms=TRIED[-1], slots=16, chunk_flits=32, memory_reads=32, replay_packets=replays
    )
    return SwitchSpec(ports=NODES, format="int8", lanes=1, protocol=PROTOCOL, endpoint=engine)


def programs(spec: SwitchSpec, fsms: int) -> list[Program]:
    """Return the part of each endpoint in an all-reduce."""
    made = []
    for k in range(NODES):
        program = Program(spec)
        program.begin(ADDRESSES[k])
        program.wait(100)
        program.write("CONTROL", 2)
        program.queue(
            Descriptor(
                operation="all_reduce",
                circuit="dp",
                source=Buffer(0, FLITS),
                destination=Buffer(FLITS, FLITS),
                send=Flow(ADDRESSES[(k + 1) % NODES], unicast=True),
                receive=Flow(ADDRESSES[(k - 1) % NODES], unicast=True),
                ring=Ring(members=NODES, rank=k, message_bytes=MESSAGE, fsms=fsms),
            )
        )
        program.finish("dp")
        for name in ("CYCLES", "FLITS_SENT", "MEMORY_READS", "MEMORY_WRITES", "REWINDS"):
            program.show(name)
        made.append(program)
    return made


def check(spec: SwitchSpec, before: list[Words], after: list[Words]) -> None:
    """End the bench if results are not those of a ring, bit for bit."""
    want, block = np.zeros(FLITS, np.uint8), FLITS // NODES
    for owner in range(NODES):
        part = slice(owner * block, (owner + 1) * block)
        value = before[(owner + 1) % NODES][part, 0]
        for turn in range(2, NODES + 1):
            other = before[(owner + turn) % NODES][part, 0]
            value = combine(value, other, spec.number_format, spec.operation, spec.overflow)
        want[part] = value
    for k, memory in enumerate(after):
        if (memory[FLITS : 2 * FLITS, 0] != want).any():
            sys.exit(f"error: endpoint {k}: its sums are wrong")


def measure(spec: SwitchSpec, model: Path, fsms: int) -> float:
    """Print a line of a run; return the flits per cycle that each endpoint has sent."""
    rng, begin = np.random.default_rng(1), time.perf_counter()
    memories = [rng.integers(0, 256, (2 * FLITS, 1), dtype=np.uint8) for _ in range(NODES)]
    fabric = Fabric(
        spec=spec, memories=memories, programs=programs(spec, fsms), limit=20_000, spread=1
    )
    with tempfile.TemporaryDirectory() as folder:
        found = run_fabric(model, fabric, Path(folder))
    check(spec, memories, found.memories)
    cycles = max(one["CYCLES"][0] for one in found.reads)
    first = found.reads[0]
    rate = first["FLITS_SENT"][0] / cycles
    sys.stdout.write(
        f"{fsms} state machines, replay of {replay_packets(spec)} packets: {rate:.3f} flits per "
        f"cycle, {cycles} cycles, {first['MEMORY_READS'][0] / FLITS:.2f} reads and "
        f"{first['MEMORY_WRITES'][0] / FLITS:.2f} writes per byte, {first['REWINDS'][0]} rewinds, "
        f"{time.perf_counter() - begin:.0f} s\n"
    )
    sys.stdout.flush()
    return rate


def main() -> int:
    """Print rates and where they end to rise; return 1 if more state machines are slower."""
    spec = spec_of(0)
    size = Sizes(flits=2 * FLITS, link_cycles=LINK)
    model = build_fabric(spec, size)
    rates = {fsms: measure(spec, model, fsms) for fsms in TRIED}
    enough = min(fsms for fsms, rate in rates.items() if rate >= 0.95 * max(rates.values()))
    said = f"knee: {enough} state machines reach 95 % of the best rate"
    if enough == TRIED[-1]:  # nobody knows what more would do
        said = f"no knee: still rising at {enough} state machines"
    sys.stdout.write(said + "\n")
    for replays in (16, 8, 4):
        small = spec_of(replays)
        measure(small, build_fabric(small, size), TRIED[-1])
    return int(sorted(rates.values()) != list(rates.values()))


if __name__ == "__main__":
    sys.exit(main())
