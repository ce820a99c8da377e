"""Measure the wafer model: seconds of collectives, their growth, and of whole iterations."""

import cProfile
import pstats
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from perfmodel.collectives import run
from perfmodel.collectives.run import CollectiveResult, run_collective
from perfmodel.topology.fred_file import FredFile, L1Entry
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import FABRICS, parse_topology
from perfmodel.training.compute_models.calibrated import calibrate
from perfmodel.training.estimate import estimate
from perfmodel.wafers import run_wafers
from perfmodel.workloads.workload import WORKLOADS, load_workload

GIB = 2.0**30
T = TypeVar("T")


def say(text: str) -> None:
    """Print a line."""
    sys.stdout.write(text + "\n")


def timed(function: Callable[[], T]) -> tuple[T, float]:
    """Return what a function returns, and how long it took [s]."""
    begin = time.perf_counter()
    found = function()
    return found, time.perf_counter() - begin


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


def collectives(
    topology: Topology,
    algorithm: str = "published",
    pattern: str = "all_reduce",
    size_bytes: float = GIB,
) -> None:
    """Print the time of a collective: with its schedule to be built, and with it at hand."""
    # The first call in a process loads numpy and fills the processor's caches.
    run_collective(parse_topology("mesh:2x2"), "all_reduce", GIB)

    def once() -> CollectiveResult:
        return run_collective(topology, pattern, size_bytes, algorithm=algorithm)

    run._prepared.clear()  # pyright: ignore[reportPrivateUsage]
    result, cold_s = timed(once)
    _, warm_s = timed(once)
    say(
        f"{topology.name:12} {result.algorithm:16} {topology.npus:5} "
        f"{result.npu_bandwidth_bytes_per_s / 1e12:8.3f} {cold_s:9.4f} {warm_s:9.4f}"
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


def main() -> None:
    """Print all measurements."""
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
        collectives(parse_topology(name), "auto")
    collectives(fred(32, 32, in_network=True), "auto")
    say("Most messages: halving-doubling; direct all-to-all; auto, all-gather of 1 kB")
    collectives(parse_topology("mesh:32x32"), "halving_doubling")
    collectives(parse_topology("mesh:16x16"), "direct", "all_to_all")
    collectives(parse_topology("mesh:16x16"), "auto", "all_gather", 1e3)
    say("1 GiB over wafers of 20 NPUs, fred-d, joined by FRED and by a switch")
    for count in (1, 16, 256, 1024):
        for join in ("fred", "switch"):
            topology = parse_topology("fred-d")
            result, seconds = timed(lambda t=topology, n=count, j=join: run_wafers(t, n, GIB, j))
            say(f"{count:5} wafers, {join:6}: {result.time_s * 1e6:10.1f} us in {seconds:.4f} s")
    say("Iterations, first principles")
    for workload in map(load_workload, WORKLOADS):
        for name in ("mesh:5x4", "fred-d"):
            topology = parse_topology(name)
            _, seconds = timed(lambda t=topology, w=workload: estimate(t, w))
            say(f"{workload.name:16} {name:10} {seconds:.3f} s")
    for name in WORKLOADS:
        say(f"calibration of {name:16} {timed(lambda n=name: calibrate(n))[1]:.2f} s")
    say(f"fred estimate gpt-3 on the mesh, calibrated: {estimate_cpu_s():.2f} s of CPU")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    say(f"peak memory: {peak:.0f} MiB")
    say("Where the time of mesh:32x32 goes, schedule to be built [s, cumulative]")
    run._prepared.clear()  # pyright: ignore[reportPrivateUsage]
    profile = cProfile.Profile()
    topology = parse_topology("mesh:32x32")
    profile.runcall(run_collective, topology, "all_reduce", GIB, algorithm="published")
    stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    rows = sorted(((row[3], key) for key, row in stats.items()), reverse=True)
    for seconds, (path, _, function) in rows[:14]:
        if "perfmodel" in path:
            say(f"{seconds:8.4f} {path.rpartition('perfmodel/')[2]}: {function}")


if __name__ == "__main__":
    main()
