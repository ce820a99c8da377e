"""Measure studies: screened points and simulated estimates per second, and where the time goes.

All are seconds of processor time on one core. Returns 1 if a figure is below a third of what
docs/explanation/study-speed.md says, on whatever machine.
"""

import cProfile
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

from perfmodel.studies.strategies import batch_of, feasible
from perfmodel.studies.study.engine import collect_rarely
from perfmodel.studies.study.plan import load_study
from perfmodel.topology.parse import shared_topology
from perfmodel.training.estimate import simulate, summarize
from perfmodel.training.request import Request
from perfmodel.workloads.workload import PUBLISHED, load_workload

__all__ = ["main"]

SLOWER = 3.0
SCREENED, PUBLISHED_RATE, LARGE_RATE = 20_000.0, 65.0, 4.4
"""Points per second: screened, of the published workloads, and of Llama 3 8B on 1,024 NPUs."""

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


def hold(what: str, rate: float, said: float) -> None:
    """Print a rate, and keep in mind whether it is too low."""
    if rate < said / SLOWER:
        missed.append(what)
    say(f"{what}: {rate:,.1f} per second, documented {said:,.0f}")


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


def simulated(requests: Sequence[Request]) -> float:
    """Return estimates per second with routes and schedules at hand; print the five top costs."""

    def every() -> None:
        for request in requests:
            summarize(simulate(request, fitting=False))

    every()
    begun = time.process_time()
    every()
    rate = len(requests) / (time.process_time() - begun)
    profile = cProfile.Profile()
    profile.runcall(every)
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
    """Measure; return 1 if a figure is too low."""
    if len(sys.argv) > 1:  # one size in a process of its own, whose peak of memory is measured
        steps = int(sys.argv[1])
        rate = screened(steps)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        say(f"{1000 * steps:11,} points: {rate:10,.0f} per second, {peak:.2f} GiB")
        return int(rate < SCREENED / SLOWER)
    collect_rarely()  # as workers do
    say("Points resolved and bounded")
    missed.extend(
        f"{1000 * steps} points"
        for steps in (1, 10, 100, 1000)
        if subprocess.run([sys.executable, __file__, str(steps)], check=False).returncode
    )
    screened(100, profiled=True)
    rates: tuple[tuple[str, Callable[[], list[Request]], float], ...] = (
        ("published workloads on fred-d", published, PUBLISHED_RATE),
        ("Llama 3 8B on 1,024 NPUs, routes at hand", large, LARGE_RATE),
    )
    for what, requests, said in rates:
        hold(what, simulated(requests()), said)
    for what in missed:
        say(f"MISSED: {what}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
