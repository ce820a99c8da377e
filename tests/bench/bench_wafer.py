"""Measure the wafer model: seconds of collectives, their growth, and of whole iterations.

All are seconds of processor time. Returns 1 if one takes more than ``SLOWER`` times what
docs/explanation/wafer-model.md says of its kind, on whatever machine.
"""

import cProfile
import pstats
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from perfmodel.network import prepared
from perfmodel.network.run import CollectiveResult, run_collective
from perfmodel.published import SPEEDUP_C
from perfmodel.topology.block import Block
from perfmodel.topology.blocks import BlocksTopology
from perfmodel.topology.files import build_topology
from perfmodel.topology.fred_file import FredFile, L1Entry
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import FABRICS, parse_topology
from perfmodel.training.compute_models.calibrated import calibrate
from perfmodel.training.estimate import estimate
from perfmodel.training.request import Request
from perfmodel.workloads.workload import WORKLOADS, load_workload

GIB = 2.0**30
SLOWER = 3.0
PUBLISHED_S = {20: (1.3e-3, 1.3e-3), 1024: (65e-3, 45e-3), 4096: (160e-3, 45e-3)}
"""By NPUs: with the schedule to be built, and at hand, of the algorithm ``published``."""

HALVING_S, DIRECT_S, AUTO_S, ESTIMATE_S = 0.4, 2.9, 5.0, 0.5
AUTO_FRED_S, AUTO_BLOCKS_S, PACKETS_S = 0.2, 2.5, 7.0
"""Of ``auto`` on 4,096 NPUs, and of packets of rings, whatever the bytes."""
T = TypeVar("T")
missed: list[str] = []
"""What took longer than it may."""


def hold(what: str, seconds: float, said_s: float) -> str:
    """Return the end of a line that says so if it takes too long, and keep that in mind."""
    if seconds <= SLOWER * said_s:
        return ""
    missed.append(what)
    return f", MISSES {SLOWER * said_s:g} s"


def say(text: str) -> None:
    """Print a line."""
    sys.stdout.write(text + "\n")


def timed(function: Callable[[], T]) -> tuple[T, float]:
    """Return what a function returns, and the processor time that it took [s]."""
    begin = time.process_time()
    found = function()
    return found, time.process_time() - begin


def fred(switches: int, npus: int, *, in_network: bool) -> Topology:
    """Return a FRED fabric of so many L1 switches, each with so many NPUs."""
    return FredFile(
        kind="fred",
        l1=[L1Entry(count=switches, npus=npus, io_controllers=4, record="l1-12")],
        l2_record="l2-10",
        l1_l2_bytes_per_s=3e12 * npus,
        in_network=in_network,
        interpolate=True,
    ).build(f"fred {switches}x{npus}")


def stacked(rings: int, pairs: int, switches: int) -> Topology:
    """Return stacked blocks: a ring, NPUs that are fully connected, and a switch."""
    return BlocksTopology(
        name="blocks",
        blocks=[
            Block("ring", rings, 200e9, 50e-9),
            Block("fully_connected", pairs, 100e9, 500e-9),
            Block("switch", switches, 50e9, 2e-6),
        ],
    )


def collectives(
    topology: Topology,
    algorithm: str = "published",
    pattern: str = "all_reduce",
    size_bytes: float = GIB,
    said_s: float | None = None,
) -> None:
    """Print the time of a collective: with its schedule to be built, and with it at hand.

    The first is compared with ``said_s``, or both against ``PUBLISHED_S``.
    """
    # The first call in a process loads numpy and fills the processor's caches.
    run_collective(parse_topology("mesh:2x2"), "all_reduce", GIB)

    def once() -> CollectiveResult:
        return run_collective(topology, pattern, size_bytes, algorithm=algorithm)

    prepared._prepared.clear()  # pyright: ignore[reportPrivateUsage]
    result, cold_s = timed(once)
    _, warm_s = timed(once)
    what, verdicts = f"{pattern} by {algorithm} on {topology.name}", ""
    limits: tuple[float, ...] = (said_s,) if said_s else ()
    if algorithm == "published":
        limits = PUBLISHED_S.get(topology.npus, ())
    for seconds, limit in zip((cold_s, warm_s), limits, strict=False):
        verdicts += hold(what, seconds, limit)
    say(
        f"{topology.name:12} {result.algorithm:16} {topology.npus:5} "
        f"{result.bus_bandwidth_bytes_per_s / 1e12:8.3f} {cold_s:9.4f} {warm_s:9.4f}{verdicts}"
    )


def estimate_cpu_s() -> float:
    """Return the processor time of a calibrated estimate, from the start of the command [s]."""
    arguments = ("estimate", "--topology", "mesh:5x4", "--workload", "gpt-3")
    begun = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = "from fred_cli.main import main; main()"
    subprocess.run(
        [sys.executable, "-c", start, *arguments, "--compute", "calibrated", "--json"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime


def fabrics() -> None:
    """Print collectives, their growth, and the slowest."""
    say("All-reduce of 1 GiB: first call, and with the schedule at hand")
    say(f"{'fabric':12} {'algorithm':16} {'NPUs':>5} {'TB/s':>8} {'first [s]':>9} {'then [s]':>9}")
    for name in FABRICS:
        collectives(parse_topology(name))
    say("Growth")
    for side in (8, 16, 32, 64):
        collectives(parse_topology(f"mesh:{side}x{side}"))
    for side in (32, 64):
        collectives(parse_topology(f"mesh:{side}x{side}"), "ring")
    for switches in (16, 32, 64):
        for in_network in (False, True):
            collectives(fred(switches, switches, in_network=in_network))
    say("The fastest algorithm, all tried")
    for name in (*FABRICS, "mesh:32x32", "mesh:64x64"):
        collectives(parse_topology(name), "auto", said_s=AUTO_S)
    collectives(fred(32, 32, in_network=True), "auto")
    collectives(fred(64, 64, in_network=True), "auto", said_s=AUTO_FRED_S)
    collectives(stacked(16, 16, 16), "auto", said_s=AUTO_BLOCKS_S)
    say("Most messages: halving-doubling; direct all-to-all; auto, all-gather of 1 kB")
    collectives(parse_topology("mesh:32x32"), "halving_doubling", said_s=HALVING_S)
    collectives(parse_topology("mesh:16x16"), "direct", "all_to_all", said_s=DIRECT_S)
    collectives(parse_topology("mesh:16x16"), "auto", "all_gather", 1e3)
    say("1 GiB over wafers of 20 NPUs, fred-d, joined by FRED and by a switch")
    for count in (2, 16, 128):
        for join in ("fred", "switch"):
            file = {"kind": "wafers", "wafer": "fred-d", "wafers": count, "join": join}
            collectives(build_topology(file, f"{count} wafers, {join}"))


def packets() -> None:
    """Print the time that packets of rings of 20 endpoints take to simulate, by bytes."""
    say("Packets of a ring of 20 endpoints, by size")
    for size in (1, 16, 64, 256):
        topology = parse_topology("examples/mesh-5x4-endpoints.yaml")
        how = ("all_reduce", size * 2.0**20, None, None, "ring", "packet")
        found, seconds = timed(lambda t=topology, h=how: run_collective(t, *h))
        verdict = hold(f"packets of {size} MiB", seconds, PACKETS_S)
        say(f"{size:4} MiB: {found.time_s * 1e6:10.1f} us in {seconds:.2f} s{verdict}")


def iterations() -> None:
    """Print estimates and calibrations."""
    say("Iterations, first principles")
    for workload in map(load_workload, WORKLOADS):
        for name in ("mesh:5x4", "fred-d"):
            topology = parse_topology(name)
            _, seconds = timed(lambda t=topology, w=workload: estimate(Request.of(t, w)))
            say(f"{workload.name:16} {name:10} {seconds:.3f} s")
    for name in SPEEDUP_C:
        say(f"calibration of {name:16} {timed(lambda n=name: calibrate(n))[1]:.2f} s")
    taken, what = estimate_cpu_s(), "fred estimate gpt-3 on the mesh, calibrated"
    say(f"{what}: {taken:.2f} s of CPU{hold(what, taken, ESTIMATE_S)}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    say(f"peak memory: {peak:.0f} MiB")


def profiled() -> None:
    """Print where the time of a large mesh goes."""
    say("Where the time of mesh:32x32 goes, schedule to be built [s, cumulative]")
    prepared._prepared.clear()  # pyright: ignore[reportPrivateUsage]
    profile = cProfile.Profile()
    topology = parse_topology("mesh:32x32")
    profile.runcall(run_collective, topology, "all_reduce", GIB, algorithm="published")
    stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    rows = sorted(((row[3], key) for key, row in stats.items()), reverse=True)
    for seconds, (path, _, function) in rows[:14]:
        if "perfmodel" in path:
            say(f"{seconds:8.4f} {path.rpartition('perfmodel/')[2]}: {function}")


def main() -> int:
    """Print all measurements; return 1 if one is too slow."""
    fabrics()
    packets()
    iterations()
    profiled()
    say(f"times: {'MISSED by ' + '; '.join(missed) if missed else 'met'}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
