"""What the misses of the strategy sweeps depend on: one assumption changed at a time.

Prints the tables of docs/explanation/fidelity.md: `make fidelity`.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from fred_hw.compiler.placement import Strategy
from perfmodel.collectives.select import PUBLISHED
from perfmodel.constants import HBM_BYTES
from perfmodel.published import SWEEPS
from perfmodel.topology.parse import parse_topology
from perfmodel.training.compute import Npu
from perfmodel.training.compute_models.calibrated import Runs
from perfmodel.training.iteration import Iteration, simulate_iteration
from perfmodel.training.operations import Operations
from perfmodel.training.request import Request
from perfmodel.training.search import default_placement
from perfmodel.training.strategies import feasible
from perfmodel.workloads.workload import load_workload, with_batch

NPUS = 20


@dataclass(frozen=True)
class Case:
    """One assumption changed."""

    text: str
    placement: str = "auto"
    algorithm: str = PUBLISHED
    stationary: bool = False
    overlap: bool = False
    compute: float = 1.0
    hbm_bytes: float = HBM_BYTES


CASES = (
    Case("as `fred reproduce`"),
    Case("mesh: workers in order of NPU numbers, no choice", placement="linear"),
    Case("mesh: rings in both directions for groups", algorithm="bidirectional_ring"),
    Case("all fabrics: the fastest algorithm of each collective", algorithm="auto"),
    Case("recomputation not charged", hbm_bytes=1e18),
    Case("gradients reduced during the backward pass", overlap=True),
    Case("weights stay on the wafer, whatever the memory", stationary=True),
    Case("no compute", compute=0.0),
    Case("compute times 1.5", compute=1.5),
    Case("compute times 3", compute=3.0),
    Case("compute times 10", compute=10.0),
)


@cache
def solved_scale(name: str, hbm_bytes: float) -> float:
    """Return the scale of compute that gives the published speed-up of FRED-C."""
    return Runs(name, "ideal", npu=Npu(hbm_bytes=hbm_bytes)).solved_scale()


def simulate(name: str, fabric: str, strategy: Strategy, case: Case) -> tuple[Iteration, int]:
    """Return an iteration of the published sweep under the assumptions of a case."""
    figures, workload = SWEEPS[name], load_workload(name)
    workload = with_batch(workload, figures.samples_per_replica, figures.microbatches[strategy.pp])
    workload = replace(workload, overlap=case.overlap)
    if case.stationary:
        workload = replace(workload, mode="stationary")
    topology = parse_topology(fabric, "ideal")
    mesh = fabric.startswith("mesh")
    whole = NPUS in (strategy.mp, strategy.dp)
    algorithm = case.algorithm
    if algorithm != "auto" and (whole or not mesh):
        algorithm = PUBLISHED
    policy = case.placement if mesh else "linear"
    judged = "auto" if algorithm == "auto" else PUBLISHED
    request = Request.of(topology, workload, strategy, placement=policy, algorithm=judged)
    placed = default_placement(request)
    operations = Operations(topology, placed, algorithm)
    npu = Npu(hbm_bytes=case.hbm_bytes)
    scale = solved_scale(name, case.hbm_bytes) * case.compute
    found = simulate_iteration(topology, workload, placed, npu, scale, operations)
    return found, workload.samples_per_replica * strategy.dp


def exposed(found: Iteration) -> float:
    """Return exposed communication [s]."""
    return found.exposed_s.total_s


def say(columns: Sequence[object]) -> None:
    """Print a row of a table in Markdown."""
    sys.stdout.write("| " + " | ".join(str(one) for one in columns) + " |\n")


def main() -> None:
    """Print a table for each workload."""
    for name, figures in SWEEPS.items():
        workload = load_workload(name)
        choices = [
            strategy
            for strategy in feasible(workload, NPUS, NPUS)
            if simulate(name, "fred-d", strategy, CASES[0])[0].memory.fits
        ]
        sys.stdout.write(f"\n{name}, {len(choices)} strategies\n\n")
        say(("assumption", "exposed, mean of ratios", "of sums", "speed-up", "fastest on FRED-D"))
        say(("---",) * 5)
        say(("published", figures.exposed.value, "", figures.speedup.value, figures.best.words))
        for case in CASES:
            mesh = {s: simulate(name, "mesh:5x4", s, case) for s in choices}
            fred = {s: simulate(name, "fred-d", s, case) for s in choices}
            pairs = [
                (exposed(mesh[s][0]) / mesh[s][1], exposed(fred[s][0]) / fred[s][1])
                for s in choices
            ]
            ratios = [a / b for a, b in pairs if b > 0]
            speedups = [mesh[s][0].time_s / fred[s][0].time_s for s in choices]
            best = min(choices, key=lambda s: fred[s][0].time_s / fred[s][1])
            say(
                (
                    case.text,
                    f"{sum(ratios) / len(ratios):.2f}",
                    f"{sum(a for a, _ in pairs) / sum(b for _, b in pairs):.2f}",
                    f"{sum(speedups) / len(speedups):.3f}",
                    best,
                )
            )


if __name__ == "__main__":
    main()
