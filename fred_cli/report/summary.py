"""The answer of the report: which fabric wins, by how much, under which assumptions and price."""

from collections.abc import Sequence

from fred_cli.drawings.charts import short
from fred_cli.hardware_table import Price
from perfmodel.training.compare import Row
from perfmodel.training.compute_model import compute_model
from perfmodel.training.estimate import Estimate

from .study import Study
from .wafer import iterations

__all__ = ["duration", "summary"]

_TIE = 0.005
"""Relative difference up to which iterations are called equal."""


def summary(study: Study, price: Price) -> tuple[str, ...]:
    """Return the answer: which fabric wins, why, under which assumptions, and the price.

    Parameters
    ----------
    study : Study
        Study of the report.
    price : Price
        Price in area, of the published wafer.
    """
    cost = _price(price) if study.published else _own_price(study)
    if study.own:
        return (_own_winner(study), _own_strategies(study), _own_assumed(study), cost)
    calibrated, plain = iterations("calibrated"), iterations("first-principles")
    return (_winner(calibrated), _why(study), _assumed(calibrated, plain), cost)


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
    names = [_fabric(one.topology) for one in (best, first)]
    return (
        f"An iteration of {study.title} as {study.strategy} takes "
        f"{duration(best.iteration_time_s)} on {names[0]} and "
        f"{duration(first.iteration_time_s)} on {names[1]}. "
        f"Communication that compute does not hide takes {_share(best)} of it on "
        f"{names[0]} and {_share(first)} on {names[1]}."
    )


def duration(seconds: float) -> str:
    """Return a time in a suitable unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _assumed(calibrated: Sequence[Row], plain: Sequence[Row]) -> str:
    rate = max(row.estimate.peak_share or 0.0 for row in calibrated)
    unknown = dict.fromkeys(
        r.estimate.workload for r in calibrated if r.estimate.peak_share is None
    )
    gap = f" The rate for {', '.join(unknown)} is unknown." if unknown else ""
    most = _best(plain)
    return (
        "Assumption: one number per workload scales compute so that FRED-C has its published "
        f"speed-up. NPUs then run at up to {rate:.0f} times the peak of an H100.{gap} With compute "
        f"at the rates of an H100, the largest speed-up is {most.speedup:.2f} "
        f"({_fabric(most.estimate.topology)}, {most.estimate.workload})."
    )


def _price(price: Price) -> str:
    per_npu = price.per_npu
    return (
        f"Price: switches and endpoints of FRED take {price.ratio(per_npu):.1f} times the area of "
        f"the mesh per NPU ({per_npu.fred:,.0f} and {per_npu.mesh:,.0f} µm²), and "
        f"{price.ratio(price.per_link):.1f} times per link of an NPU. This is the area of "
        f"link-layer and control logic with {price.lanes}, in cells of {price.library}. "
        "Memories, wires and wide adders are excluded."
    )


def _own_winner(study: Study) -> str:
    rows = sorted(study.rows, key=lambda row: -row.speedup)
    what = f"{study.title} as {study.strategy}"
    best = rows[0]
    time = duration(best.estimate.iteration_time_s)
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
        return f"No other strategy was estimated; the memory it needs: {verdict}."
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
        mesh = f"; {rate:g} GB/s per link of the mesh, as published"
    return f"Assumptions: {how}; a link protocol that is {cost}{mesh}."


def _own_price(study: Study) -> str:
    names = " and ".join(_fabric(one.name) for one in study.fabrics)
    return (
        f"Price: the area of {names} has not been synthesized. The appendix has the area of the "
        "published wafers, as FRED and as a mesh."
    )
