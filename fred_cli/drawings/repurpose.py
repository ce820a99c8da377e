"""Chart of `fred repurpose`: error against crossings, for several penalties and the baselines."""

from collections.abc import Sequence

from perfmodel.repurpose.tradeoff import Point

from .chart import INK, Panel, chart, line, points_of

__all__ = ["tradeoff_chart"]

_COLOURS = ("#0072b2", "#56b4e9", "#009e73", "#cc79a7")
_BASELINES = {"contiguous": "#d55e00", "random": "#e69f00", "magnitude": "#57606a"}


def tradeoff_chart(curves: Sequence[Sequence[Point]], chosen: Point, split: int) -> str:
    """Return a chart of crossings against error.

    Parameters
    ----------
    curves : sequence of sequence of Point
        Each of one method and one ``lam0``.
    chosen : Point
        The placement that was asked for.
    split : int
        Crossings of the network as it is, split in its order.
    """
    colours = iter(_COLOURS)
    drawn, legend, said = list[dict[str, object]](), list[tuple[str, str]](), list[str]()
    for points in curves:
        first = points[0]
        ours = first.method == "repurpose"
        colour = next(colours, INK) if ours else _BASELINES[first.method]
        name = f"placed, lam0 {first.lam0:.2g}" if ours else first.method
        shown = sorted(points, key=lambda one: one.error)
        x, y = [100 * one.error for one in shown], [one.activations for one in shown]
        drawn.append(line(x, y, {"color": colour, "width": 2}, name=name))
        legend.append((name, colour))
        said.append(f"{name}: " + ", ".join(f"{a:.3g} % {b}" for a, b in zip(x, y, strict=True)))
    marker = {"color": INK, "size": 9}
    drawn.append(points_of("chosen", [100 * chosen.error], [chosen.activations], marker))
    legend.append(("dot: chosen", INK))
    said.append(f"chosen: {100 * chosen.error:.3g} % {chosen.activations}")
    layout = {
        "xaxis": {"title": {"text": "change of the output [%]"}, "rangemode": "tozero"},
        "yaxis": {"title": {"text": "activations that cross"}, "range": [0, 1.05 * split]},
    }
    panel = Panel("Crossings against error", drawn, layout, "; ".join(said), 420)
    return chart("chart-repurpose", [panel], legend)
