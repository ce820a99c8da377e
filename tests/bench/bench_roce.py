"""Print how fast RoCE networks are simulated: events per second, time and memory.

The all-to-all is of 128 GPUs with 1 MB per pair on the published Clos network, which is 2:1
oversubscribed; the all-reduce is a ring of 1,024 GPUs with 100 MB. The flows begin one after the
other, each between two other GPUs of the Clos network, so that each adds a path. The last line is
of the interpreted event core, with ``NUMBA_DISABLE_JIT=1``, on a smaller network. Returns 1 if one
of them takes more than 60 s of processor time, or all of it more than 2 GB.
"""

import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Sequence

from perfmodel.collectives.select import build_schedule
from perfmodel.network.roce.ns3_flows import Flow
from perfmodel.network.roce.parameters import RoceFile
from perfmodel.network.roce.simulate import Found, simulate, simulate_flows
from perfmodel.network.roce.workload import workload_of
from perfmodel.topology.clos import Clos, clos_file

MOST_S, MOST_BYTES = 60, 2 << 30

PUBLISHED = Clos(gpus_per_leaf=16, pods=(8,), widths=(8,), gbps=(200, 200), latency_us=(5, 12.5))
SMALL = Clos(gpus_per_leaf=8, pods=(2,), widths=(4,), gbps=(200, 200), latency_us=(5, 12.5))
LARGE = Clos(
    gpus_per_leaf=16, pods=(8, 8), widths=(8, 16), gbps=(200, 200, 200), latency_us=(5, 5, 5)
)

RUNS = (
    ("all-to-all of 128 GPUs", PUBLISHED, "all_to_all", "direct", 128e6, "pfc", 16),
    ("all-to-all of 128 GPUs, HPCC", PUBLISHED, "all_to_all", "direct", 128e6, "hpcc", 16),
    ("ring all-reduce of 1,024 GPUs", LARGE, "all_reduce", "ring", 100e6, "pfc", 128),
)
INTERPRETED = (
    ("all-to-all of 16 GPUs, interpreted", SMALL, "all_to_all", "direct", 1.6e6, "pfc", 16),
)

FLOWS = 1000


def main() -> int:
    """Run all, print a line for each, and say whether all are fast enough."""
    if "NUMBA_DISABLE_JIT" in os.environ:
        return int(not _collectives(INTERPRETED))
    good = _collectives(RUNS)
    topology = clos_file(PUBLISHED).build("flows")
    pairs = [divmod(one, topology.npus) for one in range(topology.npus**2)]
    chosen = random.Random(1).sample([one for one in pairs if one[0] != one[1]], FLOWS)
    flows = [Flow(*pair, 50_000, 1e-7 * place) for place, pair in enumerate(chosen)]
    begin_s = time.process_time()
    found = simulate_flows(topology, flows, RoceFile())
    good = _fast(f"{FLOWS:,} flows of different pairs", found, begin_s) and good
    sys.stdout.flush()
    interpreted = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    return int(subprocess.run([sys.executable, __file__], env=interpreted).returncode or not good)


def _collectives(runs: Sequence[tuple[str, Clos, str, str, float, str, int]]) -> bool:
    """Print a line for each collective, and return whether all are fast enough."""
    good = True
    for name, clos, pattern, algorithm, size, scheme, train in runs:
        topology = clos_file(clos).build(name)
        begin_s = time.process_time()
        group = [list(range(topology.npus))]
        schedule = build_schedule(topology, pattern, group, 1.0, algorithm, lockstep=True)
        given = RoceFile(congestion_control=scheme, train_packets=train)
        found = simulate(topology, workload_of(schedule, size), given)
        good = _fast(name, found, begin_s) and good
    return good


def _fast(name: str, found: Found, begin_s: float) -> bool:
    """Print the line of a simulation, and return whether it was fast enough."""
    spent_s = time.process_time() - begin_s
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    sys.stdout.write(
        f"{name}: {found.time_s * 1e3:.3f} ms simulated in {spent_s:.1f} s, "
        f"{found.events:,} events, {found.events / spent_s:,.0f} per second, "
        f"{most / 1e6:,.0f} MB, {found.pauses:,} pauses\n"
    )
    return spent_s < MOST_S and most < MOST_BYTES


if __name__ == "__main__":
    sys.exit(main())
