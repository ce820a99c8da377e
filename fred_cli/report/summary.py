"""Report summary: which fabric wins, by how much, under which assumptions."""

from collections.abc import Sequence

from fred_cli.drawings.charts import short
from perfmodel.studies.compare import Row
from perfmodel.training.compute_model import compute_model
from perfmodel.training.estimate import Estimate

from .study import Study

__all__ = ["summary"]

_TIE = 0.005
"""Share by which iterations may differ and still be called alike."""


def summary(study: Study, calibrated: Sequence[Row], plain: Sequence[Row]) -> tuple[str, ...]:
    """Return three sentences.

    Parameters
    ----------
    study : Study
        What the report is about.
    calibrated, plain : sequence of Row
        Published workloads on published fabrics, with calibrated compute and from first principles.
    """
    if study.own:
        return (_own_winner(study), _own_strategies(study), _own_assumed(study))
    return (_winner(calibrated), _why(study), _assumed(calibrated, plain))


def _fabric(name: str) -> str:
    label = short(name)
    return f"FRED-{label}" if len(label) == 1 else f"the {label}" if label == "mesh" else label


def _winner(rows: Sequence[Row]) -> str:
    workloads = list(dict.fromkeys(row.estimate.workload for row in rows))
    best = {w: _best([row for row in rows if row.estimate.workload == w]) for w in workloads}
    first = _fabric(rows[0].estimate.topology)
    gains = [f"{row.speedup:.2f} times as fast on {name}" for name, row in best.items()]
    winners = {row.estimate.topology for row in best.values()}
    said = f"{', '.join(gains[:-1])} and {gains[-1]}"
    if len(winners) == 1:
        winner = _fabric(winners.pop())
        return f"{winner} wins on all {len(best)} workloads: compared with {first} it is {said}."
    names = ", ".join(
        f"{_fabric(row.estimate.topology)} on {name} ({row.speedup:.2f} times as fast as {first})"
        for name, row in best.items()
    )
    return f"No fabric wins everywhere: {names}."


def _best(rows: Sequence[Row]) -> Row:
    return max(rows, key=lambda row: row.speedup)


def _share(estimate: Estimate) -> str:
    return f"{estimate.exposed_s.communication_s / estimate.iteration_time_s:.0%}"


def _why(study: Study) -> str:
    first, best = study.rows[0].estimate, study.best.estimate
    return (
        f"An iteration of {study.title} as {study.strategy} takes "
        f"{_time(best.iteration_time_s)} on {_fabric(best.topology)} instead of "
        f"{_time(first.iteration_time_s)}, as communication that compute does not hide is "
        f"{_share(best)} of it instead of {_share(first)}."
    )


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _assumed(calibrated: Sequence[Row], plain: Sequence[Row]) -> str:
    rate = max(row.estimate.peak_share or 0.0 for row in calibrated)
    untold = dict.fromkeys(r.estimate.workload for r in calibrated if r.estimate.peak_share is None)
    gap = f" (which does not tell it for {', '.join(untold)})" if untold else ""
    most = _best(plain)
    return (
        "Assumed is compute set, by one number per workload, such that FRED-C has its published "
        f"speed-up{gap}, and "
        f"that takes NPUs at up to {rate:.0f} times the peak of an H100; with compute at the rates "
        f"of an H100 the largest gain is {most.speedup:.2f} ({_fabric(most.estimate.topology)}, "
        f"{most.estimate.workload})."
    )


def _own_winner(study: Study) -> str:
    rows = sorted(study.rows, key=lambda row: -row.speedup)
    what = f"{study.title} as {study.strategy}"
    best = rows[0]
    time = _time(best.estimate.iteration_time_s)
    share = f"{_share(best.estimate)} of it communication that compute does not hide"
    if len(rows) == 1:
        name = _fabric(best.estimate.topology)
        return f"An iteration of {what} takes {time} on {name}, {share}."
    ratio = rows[1].estimate.iteration_time_s / best.estimate.iteration_time_s
    if ratio < 1 + _TIE:
        alike = " and ".join(
            _fabric(row.estimate.topology)
            for row in rows
            if row.estimate.iteration_time_s < (1 + _TIE) * best.estimate.iteration_time_s
        )
        return f"{alike} are alike for {what}: an iteration takes {time}, {share}."
    return (
        f"{_fabric(best.estimate.topology)} wins: for {what} it is {ratio:.2f} times as fast as "
        f"{_fabric(rows[1].estimate.topology)}, with {time} for an iteration, {share}."
    )


def _own_strategies(study: Study) -> str:
    name = study.fabrics[-1].name
    rows = [row for row in study.swept if row.estimate.topology == name]
    fitting = [row.estimate for row in rows if row.fits]
    if len(rows) == 1:
        verdict = rows[0].estimate.memory_verdict
        return f"No other strategy was estimated; the verdict on its need of memory is: {verdict}."
    if not fitting:
        return f"None of the {len(rows)} strategies on {_fabric(name)} fits the memory."
    best = fitting[0]
    given = next((r.estimate for r in rows if r.estimate.strategy == str(study.strategy)), None)
    said = ""
    if given is not None and given.strategy != best.strategy:
        said = (
            f", {given.time_per_sample_s / best.time_per_sample_s:.2f} times as fast as the given"
        )
    return (
        f"Of {len(rows)} strategies on {_fabric(name)}, {len(fitting)} fit the memory; "
        f"{best.strategy} takes least time per sample{said}."
    )


def _own_assumed(study: Study) -> str:
    shown = study.rows[-1].estimate
    if compute_model(study.compute).fitted:
        rate = "" if shown.peak_share is None else f", here {shown.peak_share:.3g} times its peak"
        how = f"compute calibrated on a published speed-up of another wafer{rate}"
    elif study.compute == "first-principles":
        how = (
            f"compute on the roofline of an NPU of {study.npu.peak_flops / 1e12:.4g} TFLOP/s and "
            f"{study.npu.hbm_bytes_per_s / 1e12:.4g} TB/s"
        )
    else:
        how = f"compute by the model {study.compute}"
    cost = {"measured": "as co-simulated", "ideal": "free"}[study.fabrics[-1].protocol]
    mesh = ""
    if study.added:
        rate = study.fabrics[0].links[0].bytes_per_s / 1e9
        mesh = f", and for the mesh the published {rate:g} GB/s of a link"
    return f"Assumed are {how}, a link protocol that is {cost}{mesh}."
