"""What two things would cost that the wafer model leaves out: one phase at a time, and acks.

Prints the table of docs/explanation/wafer-model.md on what it leaves out, and how much less time an
iteration takes with a larger vocabulary: `make fidelity`.
"""

import sys
from dataclasses import replace
from statistics import median

from perfmodel.network.run import run_collective
from perfmodel.published import SWEEPS
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import parse_topology
from perfmodel.training.compute import Npu
from perfmodel.training.compute_models.calibrated import calibrate
from perfmodel.training.estimate import simulate
from perfmodel.training.iteration import Iteration, simulate_iteration
from perfmodel.training.request import Request
from perfmodel.training.search import default_placement
from perfmodel.training.strategies import feasible
from perfmodel.workloads.transformer import transformer
from perfmodel.workloads.workload import PUBLISHED, load_workload, with_batch

SCALES = {"none": 0.0, "calibrated": 1.0}
"""Compute, in times of the calibrated one."""

WORDS = (1, 24_000)
"""Vocabularies of which the larger one takes less time."""


def occupied(topology: Topology, iteration: Iteration) -> float:
    """Return the share of an iteration that the busiest switch needs for one phase at a time.

    The flows of a kind are of one phase, whatever the stage, and go at once if they share no link.
    Packets that came over a slow link go through the switch at the rate of its ports.
    """
    busy_s: dict[int, dict[str, dict[int, float]]] = {}  # by switch, kind and link
    for task in iteration.tasks:
        for index, carried in task.profile.loads:
            if index < len(topology.links):
                link = topology.links[index]
                for node in {link.source, link.target} & topology.interconnects.keys():
                    there = busy_s.setdefault(node, {}).setdefault(task.kind, {})
                    rate = topology.interconnects[node].bytes_per_s
                    served_s = carried / max(rate, topology.capacities[index])
                    there[index] = there.get(index, 0.0) + served_s
    phases_s = [sum(max(one.values()) for one in kinds.values()) for kinds in busy_s.values()]
    return max(phases_s, default=0.0) / iteration.time_s


def iterations(topology: Topology, compute: float) -> dict[str, Iteration]:
    """Return an iteration of each published workload, and of each strategy of a sweep."""
    found: dict[str, Iteration] = {}
    for name in PUBLISHED:
        workload = load_workload(name)
        jobs = {f"{name} {workload.strategy}": (workload, workload.strategy)}
        for one in feasible(workload, topology.npus, topology.npus) if name in SWEEPS else ():
            batch = SWEEPS[name].samples_per_replica, SWEEPS[name].microbatches[one.pp]
            jobs[f"{name} {one} swept"] = (with_batch(workload, *batch), one)
        for text, (job, strategy) in jobs.items():
            for overlap in {False, job.mode == "stationary"}:
                case = replace(job, overlap=overlap)
                placed = default_placement(Request.of(topology, case, strategy))
                scale = compute * calibrate(name).scale
                key = f"{text}{' overlap' if overlap else ''}"
                found[key] = simulate_iteration(topology, case, placed, Npu(), scale)
    return found


def with_vocabulary(words: int) -> float:
    """Return the time of an iteration of Transformer-17B with a vocabulary of some words [s]."""
    network = transformer(78, 4256, 28, 1024, words)
    workload = with_batch(load_workload("transformer-17b"), 16, 4)
    job = replace(workload, network=network, mode="streaming")
    request = Request.of(
        parse_topology("fred-d"),
        job,
        "MP10-DP1-PP2",
        compute="weights",
        algorithm="halving_doubling",
    )
    return simulate(request).iteration.time_s


def longer_with_acks(size: float, group: list[int]) -> float:
    """Return by which share acks lengthen an all-reduce of some bytes on the mesh."""
    mesh, waiting = parse_topology("mesh:5x4"), parse_topology("mesh:5x4")
    waiting.waits_for_acks = True
    usual_s, longer_s = (
        run_collective(one, "all_reduce", size, group, algorithm="published").time_s
        for one in (mesh, waiting)
    )
    return longer_s / usual_s - 1


def say(*columns: object) -> None:
    """Print a row of a table in Markdown."""
    sys.stdout.write("| " + " | ".join(str(one) for one in columns) + " |\n")


def shown(name: str, compute: str, found: dict[str, float]) -> None:
    """Print the median and the largest of some percentages, and those of published strategies."""
    worst = max(found, key=found.__getitem__)
    published = [value for key, value in found.items() if not key.endswith(("swept", "overlap"))]
    above = sum(value > 100 for value in found.values())
    cells = (f"{value:.1f}" for value in (median(found.values()), max(published), found[worst]))
    say(name, compute, len(found), *cells, worst, above)


def main() -> None:
    """Print a table of iterations, and one of collectives on the mesh with acks."""
    say("what [%]", "compute", "iterations", "median", "published", "most", "where", "above 100")
    say(*["---"] * 8)
    for fabric in ("fred-b", "fred-d"):
        for compute, share in SCALES.items():
            wafer = parse_topology(fabric)
            usual = iterations(wafer, share)
            shares = {key: 100 * occupied(wafer, one) for key, one in usual.items()}
            shown(f"switch occupied, {fabric}", compute, shares)
    for compute, share in SCALES.items():
        mesh, waiting = parse_topology("mesh:5x4"), parse_topology("mesh:5x4")
        waiting.waits_for_acks = True
        usual, other = iterations(mesh, share), iterations(waiting, share)
        longer = {key: 100 * (other[key].time_s / usual[key].time_s - 1) for key in usual}
        shown("longer with acks, mesh", compute, longer)
    sys.stdout.write("\n")
    say("all-reduce on the mesh, longer with acks", "1 KB", "100 KB", "1 MB", "100 MB")
    say(*["---"] * 5)
    for group in (range(20), range(5), (0, 1)):
        shares = (longer_with_acks(size, list(group)) for size in (1e3, 1e5, 1e6, 1e8))
        say(f"{len(group)} NPUs", *(f"{100 * share:.2f} %" for share in shares))
    few_s, many_s = map(with_vocabulary, WORDS)
    sys.stdout.write(
        f"\nMP10-DP1-PP2 of Transformer-17B with a vocabulary of {WORDS[0]} takes "
        f"{1e3 * few_s:.2f} ms, of {WORDS[1]:,} {1e3 * many_s:.2f} ms: {many_s / few_s - 1:+.1%}\n"
    )


if __name__ == "__main__":
    main()
