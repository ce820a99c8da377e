"""Averages over all strategies, and which is best where."""

from collections.abc import Iterator
from functools import cache

from perfmodel.published import PAPER, SWEEPS
from perfmodel.studies.section import SECTIONS, ReproduceRow, number, word
from perfmodel.studies.strategies import StrategyRow, feasible, sweep
from perfmodel.switch_timing.record import ProtocolModel
from perfmodel.topology.parse import BASELINE, parse_topology
from perfmodel.workloads.workload import load_workload

__all__ = ["sweeps", "swept"]


@cache
def swept(name: str, protocol: ProtocolModel) -> tuple[StrategyRow, ...]:
    """Return the published sweep of a workload, on the mesh and FRED-D, all 20 NPUs in use."""
    workload, figures = load_workload(name), SWEEPS[name]
    fabrics = [parse_topology(fabric, protocol) for fabric in (BASELINE, "fred-d")]
    choices = feasible(workload, fabrics[0].npus, fabrics[0].npus)
    return sweep(fabrics, workload, choices, figures.samples_per_replica, "calibrated")


def sweeps(protocol: ProtocolModel) -> Iterator[ReproduceRow]:
    """Averages over all strategies, and which is best where."""
    for name, figures in SWEEPS.items():
        rows = swept(name, protocol)
        mesh = {r.estimate.strategy: r.estimate for r in rows if r.estimate.topology == BASELINE}
        fred = {r.estimate.strategy: r.estimate for r in rows if r.estimate.topology == "fred-d"}
        how = "calibrated on FRED-C, predicted; mean of the ratios of all strategies"
        exposed = [
            mesh[key].exposed_s.total_s / fred[key].exposed_s.total_s
            for key in mesh
            if fred[key].exposed_s.total_s
        ]
        speedups = [mesh[key].time_per_sample_s / fred[key].time_per_sample_s for key in mesh]
        yield number(
            f"sweep/{name}/exposed",
            f"exposed communication of {name}, mesh over FRED-D, all strategies",
            figures.exposed,
            sum(exposed) / len(exposed),
            how,
        )
        yield number(
            f"sweep/{name}/speedup",
            f"speed-up of {name}, FRED-D over the mesh, all strategies",
            figures.speedup,
            sum(speedups) / len(speedups),
            how,
        )
        predicted = "calibrated on FRED-C, predicted"
        best = min(fred, key=lambda key: fred[key].time_per_sample_s)
        on_mesh = min(mesh, key=lambda key: mesh[key].time_per_sample_s)
        least = min(fred, key=lambda key: fred[key].compute_s / fred[key].minibatch)
        yield word(
            f"sweep/{name}/best/fred-d",
            f"fastest strategy of {name} on FRED-D",
            figures.best,
            best,
            predicted,
            figures.best_source,
        )
        yield word(
            f"sweep/{name}/least-compute",
            f"strategy of {name} with the least compute",
            figures.best,
            least,
            predicted,
            figures.best_source,
        )
        yield word(
            f"sweep/{name}/best/mesh",
            f"the strategy of {name} with the least compute is also the fastest on the mesh",
            "no",
            "yes" if on_mesh == least else "no",
            predicted,
            f"{PAPER}: on the mesh it is not",
        )


SECTIONS.add("sweeps", sweeps, rank=3)
