"""Averages over all strategies, and which is best where."""

from collections.abc import Iterator, Mapping
from functools import cache

from perfmodel.published import SWEEPS, Sweep
from perfmodel.studies.equal_terms import on_equal_terms
from perfmodel.studies.identify import described
from perfmodel.studies.section import SECTIONS, ReproduceRow, Section, Setting, number, word
from perfmodel.studies.strategies import StrategyRow, feasible, sweep
from perfmodel.topology.parse import BASELINE, shared_topology
from perfmodel.training.estimate import Estimate
from perfmodel.training.request import Request
from perfmodel.workloads.workload import load_workload, with_batch

__all__ = ["sweeps", "swept"]

_Estimates = Mapping[str, Estimate]


@cache
def swept(name: str, setting: Setting) -> tuple[StrategyRow, ...]:
    """Return the published sweep of a workload, on the mesh and FRED-D, all 20 NPUs in use."""
    workload, figures = load_workload(name), SWEEPS[name]
    fabrics = [shared_topology(fabric, setting.protocol) for fabric in (BASELINE, "fred-d")]
    choices = feasible(workload, fabrics[0].npus, fabrics[0].npus)
    job = with_batch(workload, figures.samples_per_replica, 1)
    requests = [
        Request.of(fabric, job, compute=setting.compute, algorithm=setting.algorithm)
        for fabric in fabrics
    ]
    return sweep(on_equal_terms(requests), choices)


def sweeps(setting: Setting) -> Iterator[ReproduceRow]:
    """Averages over all strategies, and which is best where."""
    for name, figures in SWEEPS.items():
        rows = swept(name, setting)
        mesh = {r.estimate.strategy: r.estimate for r in rows if r.estimate.topology == BASELINE}
        fred = {r.estimate.strategy: r.estimate for r in rows if r.estimate.topology == "fred-d"}
        how = described(setting.compute, name, setting.protocol)
        exposed = [
            mesh[key].exposed_s.total_s / fred[key].exposed_s.total_s
            for key in mesh
            if fred[key].exposed_s.total_s
        ]
        sums = [
            sum(one.exposed_s.total_s / one.minibatch for one in side.values())
            for side in (mesh, fred)
        ]
        speedups = [mesh[key].time_per_sample_s / fred[key].time_per_sample_s for key in mesh]
        yield number(
            f"sweep/{name}/exposed",
            f"exposed communication of {name}, mesh over FRED-D, all strategies",
            figures.exposed,
            sum(exposed) / len(exposed),
            f"{how}; mean of the ratios",
            others=f"ratio of the sums {sums[0] / sums[1]:.4g}" if sums[1] else "",
        )
        yield number(
            f"sweep/{name}/speedup",
            f"speed-up of {name}, FRED-D over the mesh, all strategies",
            figures.speedup,
            sum(speedups) / len(speedups),
            f"{how}; mean of the ratios",
            others=f"ratio of the sums {_per_sample(mesh) / _per_sample(fred):.4g}",
        )
        yield from _best(name, figures, mesh, fred, how)


def _best(
    name: str, figures: Sweep, mesh: _Estimates, fred: _Estimates, how: str
) -> Iterator[ReproduceRow]:
    """Yield which strategy is fastest, which has the least compute, and whether they are one."""
    best, on_mesh, least = _fastest(fred), _fastest(mesh), _least_compute(fred)
    what = f"fastest strategy of {name} on FRED-D"
    yield word(f"sweep/{name}/best/fred-d", what, figures.best, best, how)
    yield word(
        f"sweep/{name}/least-compute",
        f"strategy of {name} with the least compute",
        figures.best,
        least[0] if len(least) == 1 else f"{len(least)} alike",
        f"{how}; {', '.join(least)}",
    )
    if figures.fastest_on:
        names = {(1, 0): "FRED-D alone", (0, 1): "mesh alone", (1, 1): "both", (0, 0): "neither"}
        yield word(
            f"sweep/{name}/fastest-on",
            f"where the strategy of {name} with the least compute is the fastest",
            figures.fastest_on,
            names[best in least, on_mesh in least],
            f"{how}; {best} is fastest on FRED-D, {on_mesh} on the mesh",
        )


def _per_sample(estimates: _Estimates) -> float:
    return sum(one.time_per_sample_s for one in estimates.values())


def _least_compute(estimates: _Estimates) -> list[str]:
    """Return the strategies with the least compute per sample, all of them if they are alike.

    Compute is that of the busiest NPU, and what it waits for others where that is longer; what
    messages hide of it counts.
    """
    times = {key: max(one.compute_s, one.busy_s) / one.minibatch for key, one in estimates.items()}
    return [key for key, time_s in times.items() if time_s <= min(times.values()) * (1 + 1e-9)]


def _fastest(estimates: _Estimates) -> str:
    return min(estimates, key=lambda key: estimates[key].time_per_sample_s)


SECTIONS.add("sweeps", Section(sweeps, {"sweep": "All strategies"}), rank=3)
