"""Charts of sections of `fred reproduce`."""

from collections.abc import Callable, Mapping, Sequence

from studies.budgets import BUDGETS, NETWORKS, BudgetPoint, budget_points
from studies.budgets import WORKLOADS as TRANSFORMERS
from studies.congestion import NETWORKS as GPU_NETWORKS
from studies.congestion import WORKLOADS as CONGESTED
from studies.congestion import compared as compared_schemes
from studies.congestion import on_wafers
from studies.section import Setting
from studies.sections.congestion_control import slowdowns
from studies.sections.wires import WORKLOADS, compared

from .chart import Panel, bars, chart, line

__all__ = ["CHARTS"]

_COLOURS = {"2D": "#0072b2", "3D": "#e69f00", "4D": "#009e73"}
_SCHEMES = {
    "dcqcn": "#0072b2",
    "dctcp": "#e69f00",
    "timely": "#009e73",
    "hpcc": "#d55e00",
    "hpcc-pint": "#cc79a7",
}
_FABRICS = ("#9aa3ae", "#0072b2", "#009e73", "#d55e00")

_FIGURES: Mapping[str, Callable[[BudgetPoint], float]] = {
    "speed-up of the fastest split": lambda point: point.speedup,
    "gain in time x cost of the best split": lambda point: point.gain,
}


def _budgets(_setting: Setting) -> str:
    """Return a chart of the gain of optimal splits over equal bandwidths at every budget."""
    points = list(budget_points())
    panels: list[Panel] = []
    for name, figure in _FIGURES.items():
        for workload in TRANSFORMERS:
            values = {
                network: [
                    figure(one)
                    for one in points
                    if (one.network, one.workload) == (network, workload)
                ]
                for network in NETWORKS
            }
            panels.append(_lines(f"{workload}: {name}", values))
    return chart("chart-libra", panels, [*_COLOURS.items()])


def _lines(title: str, values: Mapping[str, Sequence[float]]) -> Panel:
    data = [
        line(BUDGETS, one, {"color": _COLOURS[name], "width": 2}, name=name)
        for name, one in values.items()
    ]
    layout = {
        "xaxis": {"title": {"text": "bandwidth of an NPU [GB/s]"}},
        "yaxis": {"title": {"text": "equal bandwidths over it"}},
    }
    ends = (f"{name}: {one[0]:.3f} to {one[-1]:.3f}" for name, one in values.items())
    said = f"From {BUDGETS[0]} to {BUDGETS[-1]} GB/s, {'; '.join(ends)}"
    return Panel(title, data, layout, said)


def _wires(setting: Setting) -> str:
    """Return a chart of exposed communication on fabrics with equal wires, relative to FRED-D."""
    found: dict[str, dict[str, float]] = {}
    for workload in WORKLOADS:
        times = {
            kind: one.exposed_s() for kind, one in compared(workload, setting.protocol).items()
        }
        first = next(iter(times.values()))
        found[workload] = {kind: time_s / first for kind, time_s in times.items()}
    kinds = list(found[WORKLOADS[0]])
    data = [
        bars(kind, colour, WORKLOADS, [one[kind] for one in found.values()])
        for kind, colour in zip(kinds, _FABRICS, strict=True)
    ]
    words = [
        f"{name}: " + ", ".join(f"{kind} {share:.3f}" for kind, share in shares.items())
        for name, shares in found.items()
    ]
    layout = {"barmode": "group", "yaxis": {"title": {"text": "of that on FRED-D"}}}
    panel = Panel("Exposed communication of an iteration", data, layout, "; ".join(words))
    return chart("chart-wires", [panel], [*zip(kinds, _FABRICS, strict=True)])


def _congestion(setting: Setting) -> str:
    """Return a chart of each scheme's slowdown relative to pauses alone, on GPUs and on wafers."""
    panels: list[Panel] = []
    for workload in CONGESTED:
        found = {
            network: slowdowns(compared_schemes(network, workload)) for network in GPU_NETWORKS
        }
        found["wafers of FRED"] = slowdowns(on_wafers(workload, setting.protocol))
        names = [*found]
        data = [
            bars(scheme, colour, names, [each[scheme] for each in found.values()])
            for scheme, colour in _SCHEMES.items()
        ]
        words = [
            f"{name}: " + ", ".join(f"{scheme} {each[scheme]:.1f} %" for scheme in _SCHEMES)
            for name, each in found.items()
        ]
        layout = {"barmode": "group", "yaxis": {"title": {"text": "slower than PFC alone [%]"}}}
        panels.append(Panel(f"{workload} under congestion control", data, layout, "; ".join(words)))
    return chart("chart-congestion-control", panels, [*_SCHEMES.items()])


CHARTS: Mapping[str, Callable[[Setting], str]] = {
    "congestion-control": _congestion,
    "libra": _budgets,
    "wires": _wires,
}
"""Charts by section name."""
