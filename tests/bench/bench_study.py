"""Measure studies: screened points and simulated estimates per second, and where the time goes.

All rates are per second of processor time on one core. Returns 1 if a goal is missed:

* at least 20,000 screened points per second, below 2 GB, in spaces of 10^3 to 10^6 points;
* at 10^6 points at least half the rate of 10^4 points, so that the cost of a point is flat;
* at least 2 estimates per second for Llama 3 8B on 1,024 NPUs, with routes and schedules at hand.

The goal of 100 estimates per second for the published workloads has not been reached. Their rate
must be at least a third of the one in docs/explanation/study-speed.md.
"""

import cProfile
import json
import pstats
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
import yaml

from perfmodel.topology.parse import shared_topology
from perfmodel.training.estimate import simulate, summarize
from perfmodel.training.request import Request
from perfmodel.training.strategies import batch_of, feasible
from perfmodel.workloads.workload import PUBLISHED, load_workload
from studies.study.engine import collect_rarely
from studies.study.plan import load_study
from studies.study.point import evaluate

__all__ = ["main"]

SCREENED, PUBLISHED_RATE, LARGE_RATE = 20_000.0, 49.0 / 3, 2.0
"""Least points per second: screened, of published workloads, and of Llama 3 8B on 1,024 NPUs."""

MOST_GIB, FLAT = 2e9 / 2**30, 0.5
"""Largest peak of memory [GiB], and least rate of 10^6 points divided by that of 10^4 points."""

TIGHT = 60
"""Points whose simulated time is compared with its bound."""

SPACE = {
    "topology": ["mesh:5x4", "fred-d"],
    "workload": ["transformer-17b", "gpt-3"],
    "strategy.mp": [1, 2, 4, 5, 10],
    "strategy.dp": [1, 2, 4, 5, 10],
    "strategy.pp": [1, 2, 4, 5, 10],
    "algorithm": ["published", "auto"],
}
"""A thousand points for each value of a further field."""

missed: list[str] = []


def say(text: str) -> None:
    """Print a line."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def hold(what: str, rate: float, least: float) -> None:
    """Print a rate, and keep in mind whether it is too low."""
    if rate < least:
        missed.append(what)
    say(f"{what}: {rate:,.1f} per second, at least {least:,.1f}")


def top(profile: cProfile.Profile) -> None:
    """Print the five functions with the most time of their own."""
    rows = sorted(pstats.Stats(profile).stats.items(), key=lambda row: -row[1][2])  # type: ignore[attr-defined]
    total = sum(row[2] for _, row in rows)
    for (file, _, name), row in rows[:5]:
        say(f"    {row[2] / total:6.1%} {Path(file).name}: {name}")


def screened(steps: int, *, profiled: bool = False) -> float:
    """Resolve and bound a thousand points for each step; return points per second."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "study.yaml"
        rates = {"log_range": [1e14, 1e16], "points": steps}
        study = {"space": {**SPACE, "npu.peak_flops": rates}, "constraints": ["workers <= 2000"]}
        path.write_text(yaml.safe_dump(study))
        plan, profile = load_study(path), cProfile.Profile()
        plan.point(0)  # reads the files of the package once, for the version of the model
        if profiled:
            profile.enable()
        begun = time.process_time()
        numbers = np.fromiter(plan.work().numbers.values(), np.int64)
        plan.bounds(numbers)
        taken = time.process_time() - begun
        profile.disable()
    if profiled:
        top(profile)
    return len(plan.space) / taken


def sizes() -> None:
    """Screen spaces of several sizes, each in a process of its own, and check the goals."""
    rates: dict[int, float] = {}
    for steps in (1, 10, 100, 1000):
        words = [sys.executable, __file__, str(steps)]
        done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
        rates[steps], peak = json.loads(done.stdout)
        say(f"{1000 * steps:11,} points: {rates[steps]:10,.0f} per second, {peak:.2f} GiB")
        if rates[steps] < SCREENED or peak > MOST_GIB:
            missed.append(f"{1000 * steps:,} points")
    if rates[1000] < FLAT * rates[10]:
        missed.append("a cost per point that is flat")


def tightness() -> None:
    """Print the bound divided by the simulated time, for random points of the space."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "study.yaml"
        space = {**SPACE, "workload": ["resnet-152", "transformer-17b"]}
        study = {"space": space, "constraints": ["workers <= 20"]}
        path.write_text(yaml.safe_dump({**study, "objectives": ["iteration_time_s"]}))
        plan = load_study(path)
        numbers = np.array([*plan.work().numbers.values()])
        numbers = np.random.default_rng(1).permutation(numbers)
        shares: list[float] = []
        for number, (bound,) in zip(numbers.tolist(), plan.bounds(numbers).tolist(), strict=True):
            if time_s := evaluate(plan.point(number)).get("iteration_time_s"):
                shares.append(bound / time_s)
            if len(shares) == TIGHT:
                break
    low, middle, high = np.quantile(shares, (0.0, 0.5, 1.0))
    say(
        f"bounds of {len(shares)} points: {low:.0%} to {high:.0%} of the simulated time, "
        f"median {middle:.0%}"
    )


def every(requests: Sequence[Request]) -> None:
    """Simulate all requests."""
    for request in requests:
        summarize(simulate(request, fitting=False))


def rate_of(requests: Sequence[Request]) -> float:
    """Return estimates per second with routes and schedules at hand."""
    every(requests)
    begun = time.process_time()
    every(requests)
    return len(requests) / (time.process_time() - begun)


def simulated(requests: Sequence[Request]) -> float:
    """Return estimates per second with routes and schedules at hand; print the five top costs."""
    rate = rate_of(requests)
    profile = cProfile.Profile()
    profile.runcall(every, requests)
    top(profile)
    return rate


def published() -> list[Request]:
    """Return estimates of the published workloads on the published wafer, with several NPUs."""
    topology = shared_topology("fred-d", "measured")
    found = [Request.of(topology, load_workload(name)) for name in PUBLISHED]
    return [
        replace(one, npu=replace(one.npu, peak_flops=factor * one.npu.peak_flops))
        for one in found
        for factor in (1.0, 1.5, 2.0, 3.0, 4.0)
    ]


def large() -> list[Request]:
    """Return estimates of some strategies of Llama 3 8B on 1,024 NPUs."""
    topology = shared_topology("examples/fred-1024.yaml", "measured")
    workload = load_workload("llama-3-8b")
    choices = Random(1).sample(feasible(workload, topology.npus), 4)
    return [Request.of(topology, batch_of(workload, one), one) for one in choices]


def main() -> int:
    """Measure; return 1 if a goal is missed."""
    if len(sys.argv) > 1:  # one size in a process of its own, whose peak of memory is measured
        rate = screened(int(sys.argv[1]))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        say(json.dumps([rate, peak]))
        return 0
    say("Points resolved and bounded")
    sizes()
    screened(100, profiled=True)
    tightness()
    default = rate_of(published())
    say(f"published workloads on fred-d, cycles collected as by default: {default:,.1f} per second")
    collect_rarely()  # as workers do
    rates: tuple[tuple[str, Callable[[], list[Request]], float], ...] = (
        ("published workloads on fred-d", published, PUBLISHED_RATE),
        ("Llama 3 8B on 1,024 NPUs, routes at hand", large, LARGE_RATE),
    )
    for what, requests, least in rates:
        hold(what, simulated(requests()), least)
    for what in missed:
        say(f"MISSED: {what}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
