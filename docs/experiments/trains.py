"""Print how far trains of packets are from single packets, and how far more bytes take less time.

docs/explanation/congestion-control.md has the figures. Run as
``.venv/bin/python docs/experiments/trains.py``; it takes 80 s of processor time.
"""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from perfmodel.network.roce.parameters import SCHEMES, RoceFile
from perfmodel.network.roce.simulate import simulate
from perfmodel.network.roce.workload import Workload
from perfmodel.topology.clos import Clos, clos_file
from perfmodel.topology.graph import Topology
from studies.congestion import NETWORKS, WORKLOADS, compared

SEED, CASES, GROWTH = 1, 100, (1.02, 1.2)
TRAINS: tuple[int, ...] = (1, 16)
STUDIED = "Clos 2:1"

Flows = list[tuple[int, int, int]]


def random_case(chance: random.Random) -> tuple[Topology, Flows]:
    """Return a Clos network of 16 GPUs, and up to 40 flows of 10 kB to 1 MB to its first two."""
    late_us, gbps = chance.choice((0.5, 1.0, 5.0)), chance.choice((100.0, 200.0))
    rates, late = (200.0, gbps), (late_us, late_us)
    clos = Clos(gpus_per_leaf=8, pods=(2,), widths=(2,), gbps=rates, latency_us=late)
    topology = clos_file(clos).build("random")
    ends = [(a, b) for a in range(topology.npus) for b in range(2) if a != b]
    count = chance.randint(1, 40)
    return topology, [(*chance.choice(ends), int(10 ** chance.uniform(4, 6))) for _ in range(count)]


def time_s(topology: Topology, flows: Flows, scheme: str, train_packets: int) -> float:
    """Return the time until the last flow has arrived [s]."""
    work = Workload()
    for source, target, size in flows:
        links = [link for link, _ in topology.hops((source,), (target,))]
        work.add(work.path_number(links), size)
    options = RoceFile(congestion_control=scheme, train_packets=train_packets)
    return simulate(topology, work, options).time_s


def main() -> None:
    """Print a line for each scheme."""
    studied = clos_file(NETWORKS[STUDIED]).build(STUDIED)
    exact = {one.scheme: one.time_s for one in compared(STUDIED, "all-to-all")}
    work, pauses_s = WORKLOADS["all-to-all"](studied), 0.0
    for scheme in SCHEMES:
        options = RoceFile(congestion_control=scheme, train_packets=max(TRAINS))
        trains_s = simulate(studied, work, options).time_s
        pauses_s = pauses_s or trains_s
        chance, apart, less = random.Random(SEED), 1.0, dict.fromkeys(TRAINS, 0.0)
        for _ in range(CASES):
            topology, flows = random_case(chance)
            times = {one: time_s(topology, flows, scheme, one) for one in TRAINS}
            apart = max(apart, max(times.values()) / min(times.values()))
            for factor in GROWTH:
                more = [(a, b, int(factor * size) + 1) for a, b, size in flows]
                for one, before_s in times.items():
                    share = 1 - time_s(topology, more, scheme, one) / before_s
                    less[one] = max(less[one], share)
        sys.stdout.write(
            f"{scheme:9} all-to-all of the study: {trains_s / pauses_s - 1:+.1%} over pauses alone "
            f"with trains, {exact[scheme] / exact[SCHEMES[0]] - 1:+.1%} without; {CASES} random "
            f"cases: times with and without trains differ by a factor of up to {apart:.2f}; more "
            f"bytes take up to {less[16]:.1%} less time with trains, {less[1]:.1%} without\n"
        )


if __name__ == "__main__":
    main()
