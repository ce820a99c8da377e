"""Charts of wafer results."""

from collections.abc import Iterable, Sequence
from typing import Any

from fred_cli.columns.parts import PARTS, Part, parts_of
from perfmodel.published import SPEEDUP_C, SPEEDUP_D
from perfmodel.topology.parse import BASELINE
from perfmodel.training.compare import Row
from perfmodel.training.compute import Npu
from perfmodel.training.estimate import Estimate
from perfmodel.training.strategies import StrategyRow
from perfmodel.workloads.layers import KINDS
from studies.section import ReproduceRow

from .chart import INK, Panel, bars, chart, line, points_of, stacked_rows, stem
from .roofline import Point

__all__ = [
    "bandwidth_chart",
    "iteration_chart",
    "roofline_chart",
    "short",
    "strategy_chart",
    "time_chart",
]

_KINDS = {
    "wafer": "wafer-wide all-reduce",
    "mp": "MP all-reduce",
    "dp": "DP all-reduce",
    "pp": "PP multicast",
}
_BARS = (("simulated here", "#0072b2"), ("published", "#b9c0c9"), ("derived", "#d9b36c"))
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#7a8490", "#56b4e9", "#5d3a1a")
_KIND_COLOURS: dict[str, str] = {
    kind: _COLOURS[place % len(_COLOURS)] for place, kind in enumerate(KINDS)
}


def short(name: str) -> str:
    """Return the short name of a topology in charts: the letter of a FRED, the stem of a file."""
    name = stem(name)
    letter = name.removeprefix("fred-")
    return letter.upper() if len(letter) == 1 else name.removesuffix(":5x4")


def _bandwidths(rows: Sequence[ReproduceRow], kind: str) -> dict[str, dict[str, float | None]]:
    """Return the bandwidths of a communication [GB/s] by fabric, then by bar name."""
    scale = 1000 if kind == "wafer" else 1
    start = f"bandwidth/{kind}/"
    return {
        row.id.removeprefix(start): {
            name: None if value is None else float(value) * scale
            for (name, _), value in zip(_BARS, (row.model, row.published, row.derived), strict=True)
        }
        for row in rows
        if row.id.startswith(start) and row.ratio is not None
    }


def bandwidth_chart(rows: Sequence[ReproduceRow]) -> str:
    """Return a chart of effective NPU bandwidths [GB/s] with the published ones."""
    panels = {kind: _bandwidths(rows, kind) for kind in _KINDS}
    return _grouped(panels, "GB/s", "chart-bandwidth")


def time_chart(rows: Sequence[ReproduceRow]) -> str:
    """Return a chart of the times of the same communications, relative to the mesh.

    A time is what an NPU has to send over its bandwidth: the vector where switches reduce, and
    otherwise what an endpoint algorithm sends.
    """
    sent = {"wafer": 2 * 19 / 20, "mp": 1.0, "dp": 2 * 4 / 5, "pp": 1.0}
    panels: dict[str, dict[str, dict[str, float | None]]] = {}
    for kind in _KINDS:
        found = _bandwidths(rows, kind)
        mesh = found[BASELINE]
        panels[kind] = {
            fabric: {
                name: None
                if value is None
                else _over(mesh[name] or mesh["published"], value)
                / (sent[kind] if fabric in ("fred-b", "fred-d") else 1.0)
                for name, value in each.items()
            }
            for fabric, each in found.items()
        }
    return _grouped(panels, "time, mesh = 1", "chart-time")


def _over(first: float | None, second: float) -> float:
    assert first is not None
    return first / second


def _grouped(panels: dict[str, dict[str, dict[str, float | None]]], unit: str, name: str) -> str:
    """Return a chart with one panel per communication and one group of bars per fabric."""
    values = [v for found in panels.values() for each in found.values() for v in each.values()]
    top = 1.05 * max(value for value in values if value is not None)
    drawn: list[Panel] = []
    for kind, found in panels.items():
        data: list[dict[str, Any]] = []
        for label, colour in _BARS:
            there = {fabric: each[label] for fabric, each in found.items() if each[label]}
            data.append(bars(label, colour, map(short, there), there.values()))
        words = [
            f"{short(fabric)}: "
            + ", ".join(f"{value:.4g} {label}" for label, value in each.items() if value)
            for fabric, each in found.items()
        ]
        layout = {"barmode": "group", "yaxis": {"title": {"text": unit}, "range": [0, top]}}
        # Keep the order (the mesh, then A to D), also where the first trace lacks a bar.
        layout["xaxis"] = {"categoryarray": [short(one) for one in found], "type": "category"}
        drawn.append(Panel(_KINDS[kind], data, layout, f"{unit}. {'; '.join(words)}"))
    return chart(name, drawn, _BARS)


def _keys(parts: Iterable[Part]) -> list[tuple[str, str]]:
    return [(part.words, part.colour) for part in parts]


def _said(estimate: Estimate, over: float) -> str:
    """Return the parts of an iteration as text."""
    parts = [(part.words, part.seconds(estimate) / over) for part in PARTS]
    total = sum(value for _, value in parts)
    shown = ", ".join(f"{words} {value:.3g}" for words, value in parts if value > 5e-4 * total)
    return f"{total:.3g} ({shown})"


def iteration_chart(rows: Sequence[Row], name: str) -> str:
    """Return a chart of stacked iteration times, relative to the first fabric.

    A line over a bar marks the time that follows from the published speed-up.
    """
    panels: list[Panel] = []
    parts = parts_of(row.estimate for row in rows)
    published = False
    workloads = list(dict.fromkeys(row.estimate.workload for row in rows))
    whole = {w: next(r.estimate for r in rows if r.estimate.workload == w) for w in workloads}
    tops = [r.estimate.iteration_time_s / whole[r.estimate.workload].iteration_time_s for r in rows]
    for workload in workloads:
        shown = [row.estimate for row in rows if row.estimate.workload == workload]
        names = [short(one.topology) for one in shown]
        first = whole[workload].iteration_time_s
        data = [
            bars(part.words, part.colour, names, [part.seconds(one) / first for one in shown])
            for part in parts
        ]
        ends = {
            short(fabric): 1 / figures[workload].value
            for fabric, figures in (("fred-c", SPEEDUP_C), ("fred-d", SPEEDUP_D))
            if workload in figures and fabric in {one.topology for one in shown}
        }
        words = [f"{short(one.topology)}: {_said(one, first)}" for one in shown]
        if ends:
            published = True
            line_end = {"symbol": "line-ew", "size": 26, "line": {"width": 3, "color": INK}}
            data.append(points_of("published end", ends, ends.values(), line_end))
            words += [f"published end of {one}: {end:.3g}" for one, end in ends.items()]
        layout = {
            "barmode": "stack",
            "xaxis": {"type": "category"},
            "yaxis": {
                "title": {"text": f"iteration, {names[0]} = 1"},
                "range": [0, 1.05 * max(tops)],
            },
        }
        panels.append(Panel(workload, data, layout, "; ".join(words), 320))
    return chart(name, panels, [*_keys(parts), *([("published end", INK)] if published else [])])


def strategy_chart(rows: Sequence[StrategyRow], name: str = "chart-strategies") -> str:
    """Return a chart of the time per sample of every strategy on every fabric, stacked.

    The order is that of the rows, but what does not fit the memory is marked and comes last.
    """
    estimates = [row.estimate for row in rows]
    parts = parts_of(estimates)
    # The fabric that the others are compared with comes first.
    fabrics = sorted({one.topology for one in estimates}, key=lambda one: (one != BASELINE, one))
    unfit = {one.strategy for one in estimates if not one.memory.fits}
    order = sorted(dict.fromkeys(one.strategy for one in estimates), key=unfit.__contains__)
    longest = max(one.time_per_sample_s for one in estimates) * 1e3
    panels: list[Panel] = []
    for fabric in fabrics:
        there = {one.strategy: one for one in estimates if one.topology == fabric}
        shown = [there[key] for key in order if key in there]
        names = [one.strategy + ("" if one.memory.fits else " *") for one in shown]
        data = [
            bars(
                part.words,
                part.colour,
                (part.seconds(one) / one.minibatch * 1e3 for one in shown),
                names,
                across=True,
            )
            for part in parts
        ]
        layout = stacked_rows("ms per sample", 1.02 * longest)
        words = "; ".join(
            f"{name}: {_said(one, one.minibatch / 1e3)}"
            for name, one in zip(names, shown, strict=True)
        )
        height = 70 + 21 * len(shown)
        panels.append(Panel(fabric, data, layout, f"ms per sample. {words}", height))
    legend = [*_keys(parts), *([("* does not fit the memory", "transparent")] if unfit else [])]
    return chart(name, panels, legend)


def roofline_chart(points: Iterable[Point], npu: Npu) -> str:
    """Return a log-log chart of the rate of each operator and the bounds of an NPU."""
    shown = [point for point in points if point.intensity > 0 and point.rate_flops > 0]
    low = min(point.intensity for point in shown) / 2
    ridge = npu.peak_flops / npu.hbm_bytes_per_s
    high = max(*(point.intensity for point in shown), ridge) * 2
    said = {"name": "bound of memory and peak", "hoverinfo": "skip"}
    rates = [low * npu.hbm_bytes_per_s, npu.peak_flops, npu.peak_flops]
    data = [line([low, ridge, high], rates, {"width": 2}, **said)]
    kinds = list(dict.fromkeys(point.kind for point in shown))
    for kind in kinds:
        of_kind = [point for point in shown if point.kind == kind]
        sizes = [8 + 22 * point.share**0.5 for point in of_kind]
        data.append(
            points_of(
                kind,
                (point.intensity for point in of_kind),
                (point.rate_flops for point in of_kind),
                {"color": _KIND_COLOURS[kind], "size": sizes},
                text=[f"{point.name}, {point.share:.1%} of the compute" for point in of_kind],
                hovertemplate="%{text}<br>%{x:.3g} FLOP/B, %{y:.3s}FLOP/s<extra></extra>",
            )
        )
    layout = {
        "xaxis": {
            "type": "log",
            "dtick": 1,
            "tickformat": "~g",
            "title": {"text": "operations per byte of memory traffic"},
        },
        "yaxis": {"type": "log", "dtick": 1, "tickformat": "~s", "title": {"text": "FLOP/s"}},
    }
    words = "; ".join(
        f"{point.name}: {point.rate_flops / 1e12:.3g} TFLOP/s at {point.intensity:.3g} operations "
        f"per byte, {point.share:.1%} of the compute"
        for point in shown
    )
    legend = [("bound of memory and peak", INK), *((kind, _KIND_COLOURS[kind]) for kind in kinds)]
    return chart(
        "chart-roofline", [Panel("Operators of the forward pass", data, layout, words, 400)], legend
    )
