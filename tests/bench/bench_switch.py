"""Measure the whole switch in RTL, with its links; all payload is checked.

Prints the latency of a lone flit, and the cycles until all packets come as early as without it
after a single lost data flit, and a lost ack, at half load. Then an all-reduce of four ports at
full load, on links of 24 cycles each way, for several ``buffer_packets``: data flits per port and
cycle, payload of 512 B flits as a share of the raw link, acks and all control flits as shares of
the flits of both directions. Then the same on switches of ``CROWDS`` ports, with the acks of
``ack_interval: auto``. Then unicasts of eight ports, data flits per port and cycle. Then two
runs of 10,000,000 flits of random phases and unicasts, with 20 % stalls, and with faults too:
flits, faults, packets sent again, flits per output and cycle, simulated cycles per second. Returns
1 if a flit was lost or wrong, a rule of docs/reference/protocol.md was broken, or unicasts go
slower than ``LEAST``, or all-reduces of many ports slower than ``CROWDS``.
"""

import random
import sys
import time
from dataclasses import replace
from itertools import chain
from pathlib import Path
from statistics import mean
from typing import Any

from fred_hw.compiler.flows import Flow
from fred_hw.datapath.interconnect import latency_cycles
from fred_hw.protocol import CRC_BITS, HEADER_BITS, ProtocolSpec
from fred_hw.published import FLIT_BYTES
from fred_hw.spec import SwitchSpec
from fred_hw.switch.switch import ADDED_CYCLES
from testbench.stimulus.phases import Phase, make_phase_run, phase_table
from testbench.stimulus.traffic import routed
from testbench.volume.loaded_switch import (
    LinkFault,
    SwitchConditions,
    build_switch,
    recovery_cycles,
    run_switch,
)
from testbench.volume.scenario import Burst, Unicast
from testbench.volume.traffic import Traffic, configure, random_traffic

ALL_TO_ALL = "all to all, the mean of eight orders"
LEAST = {
    ALL_TO_ALL: {8: 0.60, 4: 0.53, 2: 0.41, 1: 0.36},
    "a ring on three circuits": {8: 0.97, 4: 0.96, 2: 0.94, 1: 0.55},
    "a permutation on three circuits": {8: 0.97, 4: 0.96, 2: 0.94, 1: 0.55},
    "all to one": {8: 0.90, 4: 0.87, 2: 0.80, 1: 0.77},
}
"""Data flits per port and cycle that unicasts must reach, by flits of a packet: two to five per
cent less than in docs/explanation/switch.md."""

CROWDS = {(24, 8): 0.98, (32, 8): 0.98, (48, 8): 0.65, (48, 16): 0.98}
"""Data flits per port and cycle that an all-reduce must reach, by ports and flits of a packet."""

DEFAULT = ProtocolSpec().buffer_packets
PAYLOAD = 8 * FLIT_BYTES / (8 * FLIT_BYTES + HEADER_BITS + CRC_BITS)
DELAY = 24


def sized(buffer_packets: int = DEFAULT) -> SwitchSpec:
    """Return the switch, four ports with a small payload."""
    protocol = ProtocolSpec(phases=6, buffer_packets=buffer_packets)
    return SwitchSpec(ports=4, lanes=2, format="int16", overflow="wrap", protocol=protocol)


def report_volume(program: Path, spec: SwitchSpec) -> bool:
    """Print the long runs; return whether all was right."""
    table = phase_table(random.Random(1), spec, spec.protocol.phases)
    traffic = random_traffic(spec, table, flits=10_100_000)
    right = True
    for name, faults in {"20 % stalls": 0, "20 % stalls, faults": 1000}.items():
        begin = time.perf_counter()
        found = run_switch(
            program,
            spec,
            traffic,
            configure(spec, table),
            SwitchConditions(stall_percent=20, faults_per_million=faults),
        )
        seconds = time.perf_counter() - begin
        right &= found["right"]
        count = sum(
            sum(found[f"faults_{direction}"].values()) for direction in ("to_switch", "from_switch")
        )
        sys.stdout.write(
            f"{name}: {found['flits']:,} flits, {found['wrong']} wrong, "
            f"{found['violations']} rules broken, {count:,} faults, "
            f"{found['resent']:,} packets sent again, "
            f"{found['flits'] / spec.ports / found['cycles']:.3f} flits per output and cycle, "
            f"{found['cycles'] / seconds:,.0f} cycles per second\n"
        )
    return right


def all_reduce(spec: SwitchSpec, packets: int, flits: int) -> tuple[Traffic, list[Phase]]:
    """Return packets of an all-reduce of all ports."""
    rng = random.Random(1)
    flow = Flow(tuple(range(spec.ports)), tuple(range(spec.ports)))
    configuration = routed([flow], spec)
    assert configuration is not None
    phase = Phase(0, 0, (flow,), configuration)
    pools = {0: tuple(make_phase_run(rng, spec, phase, [flits]) for _ in range(67))}
    return Traffic((phase,), pools, (Burst(0, packets),), full=True), [phase]


def report_load(spec: SwitchSpec) -> bool:
    """Print a run at full load; return whether it was right."""
    traffic, phases = all_reduce(spec, 10_000, spec.protocol.packet_flits)
    conditions = SwitchConditions(delay=DELAY)
    found = run_switch(build_switch(spec), spec, traffic, configure(spec, phases), conditions)
    kinds = [found["to_switch"], found["from_switch"]]
    total = sum(sum(one.values()) for one in kinds)
    acks = sum(one["ack"] for one in kinds) / total
    control = 1 - sum(one["data"] for one in kinds) / total
    rate = min(one["rate"] for one in found["out"])
    sys.stdout.write(
        f"buffer_packets {spec.protocol.buffer_packets}: {rate:.4f} data flits per port and cycle, "
        f"payload {rate * PAYLOAD:.4f} of the link, acks {acks:.4f}, control {control:.4f}\n"
    )
    return found["right"]


def report_crowd(ports: int, flits: int, least: float) -> bool:
    """Print an all-reduce of many ports; return whether it was right and fast enough."""
    protocol = ProtocolSpec(phases=1, packet_flits=flits)
    spec = SwitchSpec(ports=ports, lanes=1, format="int8", overflow="wrap", protocol=protocol)
    traffic, phases = all_reduce(spec, 1000, flits)
    conditions = SwitchConditions(delay=DELAY)
    found = run_switch(build_switch(spec), spec, traffic, configure(spec, phases), conditions)
    rate = min(one["rate"] for one in found["out"])
    sys.stdout.write(
        f"{ports} ports, packets of {flits} flits, an ack every {spec.protocol.ack_interval}: "
        f"{rate:.3f} data flits per port and cycle"
        f"{'' if rate >= least else f', less than {least}'}\n"
    )
    sys.stdout.flush()
    return found["right"] and rate >= least


def report_times(program: Path, spec: SwitchSpec) -> bool:
    """Print latency and recovery; return whether all was right."""
    runs: list[dict[str, Any]] = []
    traffic, phases = all_reduce(spec, 1, 1)
    runs.append(run_switch(program, spec, traffic, configure(spec, phases)))
    runs.append(run_switch(program, spec, Traffic((), {}, (Unicast(0, 1, 0, 1),), full=True)))
    sys.stdout.write(
        f"lone flit: {runs[0]['latency_cycles']} cycles in a phase (interconnect "
        f"{latency_cycles(spec)} + {ADDED_CYCLES}), {runs[1]['latency_cycles']} as a "
        "unicast\n"
    )
    traffic = Traffic((), {}, (Unicast(0, 1, 0, 600),), full=True)
    half = SwitchConditions(delay=DELAY, interval_cycles=2 * spec.protocol.packet_flits, trace=True)
    clean = run_switch(program, spec, traffic, conditions=half)
    runs.append(clean)
    # One in 16 flits to the switch is an ack, so one of these is, the others tell credits.
    places = {"data flit": range(803, 811), "ack": range(200, 216)}
    for name, at in places.items():
        losses = [LinkFault(port=1, at=k, from_switch=name == "data flit") for k in at]
        found = [
            run_switch(program, spec, traffic, conditions=replace(half, fault=loss))
            for loss in losses
        ]
        runs += found
        recoveries = [recovery_cycles(clean, one) for one in found]
        sys.stdout.write(
            f"lost {name}: {max(recoveries)} cycles to recover in the worst of {len(found)} "
            f"places, {sum(recoveries) / len(found):.0f} in the mean, "
            f"{max(one['resent'] for one in found)} packets sent again at most\n"
        )
    return all(one["right"] for one in runs)


def unicasts(ports: int) -> dict[str, list[tuple[Unicast, ...]]]:
    """Return what the ports send, with enough on each circuit to wait for acks behind a burst.

    Bursts to everyone come in several orders, as who meets whom moves the rate by up to a tenth.
    """
    rng, packets = random.Random(1), 32
    ring = [(k + 1) % ports for k in range(ports)]
    permutation = rng.sample(range(ports), ports)
    turns = [
        [
            Unicast(k, (k + 1 + turn % (ports - 1)) % ports, (k + turn % (ports - 1)) % 3, packets)
            for k in range(ports)
        ]
        for turn in range(3 * (ports - 1))
    ]
    orders = [turns, *(rng.sample(turns, len(turns)) for _ in range(7))]
    return {
        ALL_TO_ALL: [tuple(chain(*order)) for order in orders],
        "a ring on three circuits": [
            tuple(Unicast(k, end, k % 3, 40 * packets) for k, end in enumerate(ring))
        ],
        "a permutation on three circuits": [
            tuple(Unicast(k, end, k % 3, 40 * packets) for k, end in enumerate(permutation))
        ],
        "all to one": [tuple(Unicast(k, 0, k % 3, 5 * packets) for k in range(ports))],
    }


def report_unicasts(program: Path, spec: SwitchSpec, flits: int) -> bool:
    """Print how many unicasts of so many flits all ports carry; return whether it is enough."""
    right = True
    for name, orders in unicasts(spec.ports).items():
        rates = []
        for bursts in orders:
            found = run_switch(program, spec, Traffic((), {}, bursts, unicast_flits=flits))
            busy = max(o["last"] for o in found["out"]) - min(o["first"] for o in found["out"])
            rates.append(found["flits"] / (1 if name == "all to one" else spec.ports) / busy)
            right &= found["right"]
        rate, least = mean(rates), LEAST[name][flits]
        between = f", {min(rates):.3f} to {max(rates):.3f}" if len(rates) > 1 else ""
        sys.stdout.write(
            f"unicasts of {flits} flits, {name}: {rate:.3f} data flits per port and cycle{between}"
            f"{'' if rate >= least else f', less than {least}'}\n"
        )
        right &= rate >= least
    return right


def main() -> int:
    """Print a line per run."""
    spec = sized()
    program = build_switch(spec)
    right = [report_times(program, spec)]
    right += [report_load(sized(packets)) for packets in range(6, DEFAULT + 1)]
    right += [report_crowd(*sizes, least) for sizes, least in CROWDS.items()]
    eight = spec.with_changes(ports=8)
    carries = build_switch(eight)
    right += [report_unicasts(carries, eight, flits) for flits in (8, 4, 2, 1)]
    right.append(report_volume(program, spec))
    return int(not all(right))


if __name__ == "__main__":
    sys.exit(main())
