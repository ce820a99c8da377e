"""Averages over all strategies, and the fastest strategies, under every reading of the paper.

A reading is one interpretation of the text. Readings differ in the strategies that count, in the
definition of exposed time, and in the kind of mean. The chosen reading follows the text alone:

* *Strategies*: the caption of figure 2 says 20 NPUs, and the sizes of PP in footnote 6 divide 20,
  so all 20 NPUs are in use. The other reading takes strategies with 18 or more, as MP3-DP3-PP2 has
  (section 7).
* *Memory*: the text does not mention it. A strategy that does not fit cannot be trained, so only
  strategies count whose activations fit, with recomputation if necessary. The other reading takes
  all strategies.
* *Recomputation*: the text does not mention it. Where activations fit only if they are recomputed,
  the backward pass includes the time of recomputation. The other reading leaves this time out, and
  calibrates compute without it.
* *Exposed*: iteration minus compute, as in ASTRA-sim, which the paper extends (section 7.4). Other
  readings take the NPU that computes most instead of the one that ends last, leave out the pipeline
  bubble, or count only communication on the critical path.
* *Mean*: the text says "on average", which is read as the mean of ratios. The other reading is the
  ratio of sums.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

from perfmodel.published import SWEEPS, Published, Statement, Sweep
from perfmodel.topology.parse import BASELINE, shared_topology
from perfmodel.training.compute import Npu
from perfmodel.training.compute_model import compute_model
from perfmodel.training.compute_models.calibrated import Runs
from perfmodel.training.equal_terms import on_equal_terms
from perfmodel.training.estimate import Estimate
from perfmodel.training.request import Request
from perfmodel.training.strategies import StrategyRow, feasible, sweep
from perfmodel.workloads.workload import load_workload, parse_strategy, with_batch
from studies.identify import described
from studies.section import SECTIONS, ReproduceRow, Section, Setting, number, word

__all__ = ["sweeps", "swept"]

_FABRIC = "fred-d"
_LEAST_NPUS = 18
_NO_TIME_S = 1e-12
_AMPLE_BYTES = 1e18
"""Memory of an NPU that is large enough for all activations."""

_EXPOSED: Mapping[str, Callable[[Estimate], float]] = {
    "iteration - compute": lambda one: one.exposed_s.total_s,
    "iteration - compute of the busiest NPU": lambda one: one.iteration_time_s - one.busy_s,
    "without the bubble": lambda one: one.exposed_s.communication_s,
    "critical path": lambda one: one.iteration_time_s - one.critical_path_s["compute"],
}
"""Readings of exposed communication; the first is chosen."""

_Pairs = Sequence[tuple[Estimate, Estimate]]
"""Estimates of each strategy on the mesh and on FRED-D."""

_Times = Callable[[Estimate], float]


def _ratios(pairs: _Pairs, time_s: _Times) -> float | None:
    """Return the mean of the ratios; None if there are no ratios."""
    found = [time_s(a) / time_s(b) for a, b in pairs if time_s(b) > _NO_TIME_S]
    return sum(found) / len(found) if found else None


def _sums(pairs: _Pairs, time_s: _Times) -> float | None:
    """Return the ratio of the summed times per sample; None if undefined."""
    mesh, fred = (
        sum(time_s(pair[side]) / pair[side].minibatch for pair in pairs) for side in (0, 1)
    )
    return mesh / fred if fred > _NO_TIME_S else None


_MEANS = {"mean of ratios": _ratios, "ratio of sums": _sums}
"""Readings of the average; the first is chosen."""


@dataclass(frozen=True)
class _Counted:
    """Strategies that a reading includes.

    Parameters
    ----------
    words : str
        Which.
    pairs : sequence of pairs
        Their estimates, at least one.
    """

    words: str
    pairs: _Pairs


@cache
def swept(name: str, setting: Setting, *, charged: bool = True) -> tuple[StrategyRow, ...]:
    """Return the published sweep of a workload on the mesh and FRED-D, with 18 or more NPUs in use.

    Parameters
    ----------
    name, setting : str, Setting
        Workload, and what its figures are found with.
    charged : bool
        Whether recomputation takes time; if not, NPUs have room for all activations.
    """
    workload, figures, compute = load_workload(name), SWEEPS[name], setting.compute
    fabrics = [shared_topology(fabric, setting.protocol) for fabric in (BASELINE, _FABRIC)]
    if not charged:
        fabrics = [fabric.with_npu({"hbm_bytes": _AMPLE_BYTES}) for fabric in fabrics]
        if compute_model(compute).fitted:
            ample = Npu(hbm_bytes=_AMPLE_BYTES)
            compute = f"scaled:{1 / Runs(name, setting.protocol, npu=ample).solved_scale()!r}"
    choices = feasible(workload, fabrics[0].npus, _LEAST_NPUS)
    job = with_batch(workload, figures.samples_per_replica, 1)
    requests = [
        Request.of(fabric, job, compute=compute, algorithm=setting.algorithm) for fabric in fabrics
    ]
    return sweep(on_equal_terms(requests), choices)


def _counted(name: str, setting: Setting) -> list[_Counted]:
    """Return the strategies that each reading includes; the chosen reading comes first."""
    fits = {row.estimate.strategy for row in swept(name, setting) if row.fits}
    found: list[_Counted] = []
    for charged, least, fit in product((True, False), (20, _LEAST_NPUS), (True, False)):
        mesh, fred = (
            {
                row.estimate.strategy: row.estimate
                for row in swept(name, setting, charged=charged)
                if row.estimate.topology == fabric
            }
            for fabric in (BASELINE, _FABRIC)
        )
        pairs = [
            (mesh[key], fred[key])
            for key in mesh
            if parse_strategy(key).workers >= least and (key in fits or not fit)
        ]
        words = [
            "20 NPUs" if least == 20 else f"{least} NPUs or more",
            "those that fit" if fit else "fitting or not",
            *(() if charged else ("recomputation not charged",)),
        ]
        if pairs:
            found.append(_Counted(", ".join(words), pairs))
    return found


def sweeps(setting: Setting) -> Iterator[ReproduceRow]:
    """Yield averages over all strategies, and the best strategies per fabric."""
    for name, figures in SWEEPS.items():
        counted = _counted(name, setting)
        how = described(setting.compute, name, setting.protocol)
        exposed = {
            f"{words}, {one.words}, {mean}": found
            for one, (words, time_s), mean in product(counted, _EXPOSED.items(), _MEANS)
            if (found := _MEANS[mean](one.pairs, time_s)) is not None
        }
        speedups = {
            f"{one.words}, {mean}": found
            for one, mean in product(counted, _MEANS)
            if (found := _MEANS[mean](one.pairs, lambda row: row.iteration_time_s)) is not None
        }
        what = f"exposed communication of {name}, mesh over FRED-D, all strategies"
        yield _average(f"sweep/{name}/exposed", what, figures.exposed, exposed, how)
        what = f"speed-up of {name}, FRED-D over the mesh, all strategies"
        yield _average(f"sweep/{name}/speedup", what, figures.speedup, speedups, how)
        yield from _best(name, figures, counted, how)


def _average(
    row: str, what: str, figure: Published, readings: Mapping[str, float], how: str
) -> ReproduceRow:
    """Return the row of an average; the first reading is chosen."""
    (reading, model), *others = readings.items()
    return number(row, what, figure, model, how, reading=reading, readings=dict(others))


def _best(
    name: str, figures: Sweep, counted: Sequence[_Counted], how: str
) -> Iterator[ReproduceRow]:
    """Yield the fastest strategy, the one with the least compute, and whether they are the same."""
    words: dict[str, tuple[str, Statement, Callable[[_Pairs], str]]] = {
        "best/fred-d": (
            f"fastest strategy of {name} on FRED-D",
            figures.best,
            lambda pairs: _fastest(pairs, 1),
        ),
        "least-compute": (
            f"strategy of {name} with the least compute",
            figures.best,
            lambda pairs: _alone(_least_compute(pairs)),
        ),
    }
    if figures.fastest_on:
        what = f"where the strategy of {name} with the least compute is the fastest"
        words["fastest-on"] = (what, figures.fastest_on, _fastest_on)
    for row, (what, said, of) in words.items():
        (reading, model), *others = ((one.words, of(one.pairs)) for one in counted)
        pairs = counted[0].pairs
        told = f"{how}; {_fastest(pairs, 1)} is fastest on FRED-D, {_fastest(pairs, 0)} on the mesh"
        if row == "least-compute":
            told = f"{how}; {', '.join(_least_compute(pairs))}"
        yield word(
            f"sweep/{name}/{row}", what, said, model, told, reading=reading, readings=dict(others)
        )


def _fastest_on(pairs: _Pairs) -> str:
    """Return the fabrics on which a strategy with the least compute is the fastest."""
    names = {(1, 0): "FRED-D alone", (0, 1): "mesh alone", (1, 1): "both", (0, 0): "neither"}
    least = _least_compute(pairs)
    return names[_fastest(pairs, 1) in least, _fastest(pairs, 0) in least]


def _alone(strategies: Sequence[str]) -> str:
    return strategies[0] if len(strategies) == 1 else f"{len(strategies)} alike"


def _least_compute(pairs: _Pairs) -> list[str]:
    """Return the strategies with the least compute per sample; several if equal.

    Compute is that of the busiest NPU on FRED-D.
    """
    times = {fred.strategy: fred.busy_s / fred.minibatch for _, fred in pairs}
    return [key for key, time_s in times.items() if time_s <= min(times.values()) * (1 + 1e-9)]


def _fastest(pairs: _Pairs, side: int) -> str:
    """Return the fastest strategy, on the mesh (0) or on FRED-D (1)."""
    return min((pair[side] for pair in pairs), key=lambda one: one.time_per_sample_s).strategy


SECTIONS.add("sweeps", Section(sweeps, {"sweep": "All strategies"}), rank=3)
