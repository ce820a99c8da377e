"""What a report says of wafers: everything simulated once, with its charts and tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from fred_cli.columns.column import Column
from fred_cli.columns.compare import COLUMNS as COMPARE
from fred_cli.columns.loads import COLUMNS as LOADS
from fred_cli.columns.reproduce import columns_of
from fred_cli.columns.strategies import COLUMNS as STRATEGIES
from fred_cli.drawings.charts import (
    bandwidth_chart,
    iteration_chart,
    strategy_chart,
    time_chart,
)
from fred_cli.drawings.loads import draw_loads
from fred_hw.compiler.placement import Strategy
from perfmodel.collectives.run import CollectiveResult, profile, run_collective
from perfmodel.published import SWEEPS
from perfmodel.studies.compare import Row, compare
from perfmodel.studies.identify import Identified, identify
from perfmodel.studies.reproduce import MovedRow, reproduce_both
from perfmodel.studies.section import Setting
from perfmodel.studies.sections.sweeps import swept
from perfmodel.studies.strategies import StrategyRow
from perfmodel.topology.parse import FABRICS, parse_topology
from perfmodel.training.placement.place import place
from perfmodel.workloads.workload import PUBLISHED

__all__ = ["Wafer", "gather"]

REPRODUCED = columns_of(moved=True)
COMPARED = COMPARE.without("iteration [s]")
SWEPT = STRATEGIES.without("iteration [s]", "memory").replacing(
    "per sample [s]", Column(lambda row: row.estimate.minibatch, "samples")
)
SIZE_BYTES = float(2**30)
_PHASES = (
    ("all-reduce of all NPUs", "all_reduce", "wafer"),
    ("MP all-reduce of MP2-DP5-PP2", "all_reduce", "mp"),
    ("DP all-reduce of MP2-DP5-PP2", "all_reduce", "dp"),
    ("PP multicast of MP2-DP5-PP2", "broadcast", "pp"),
    ("weights streamed to all NPUs", "stream_in", "wafer"),
    ("gradients streamed to storage", "stream_out", "wafer"),
)
_MAPPED = ("mesh:5x4", "fred-a", "fred-d")


@dataclass(frozen=True)
class Wafer:
    """What the page shows of wafers.

    Parameters
    ----------
    all_reduce : tuple of CollectiveResult
        Of 1 GiB on each fabric.
    first_principles, weights, calibrated : tuple of Row
        All workloads that the model of compute knows on all fabrics.
    identified : tuple of Identified
        What published speed-ups tell of compute.
    reproduced : tuple of MovedRow
        Published figures and ours, with the protocol as measured and ideal.
    sweeps : dict
        Strategies of each workload.
    maps : tuple
        Phase, fabric, drawing, and pairs of link and load.
    """

    all_reduce: tuple[CollectiveResult, ...]
    first_principles: tuple[Row, ...]
    weights: tuple[Row, ...]
    calibrated: tuple[Row, ...]
    identified: tuple[Identified, ...]
    reproduced: tuple[MovedRow, ...]
    sweeps: dict[str, tuple[StrategyRow, ...]]
    maps: tuple[tuple[str, str, str, tuple[tuple[str, float], ...]], ...]

    def charts(self) -> dict[str, str]:
        """Return the charts by name."""
        return {
            "bandwidth": bandwidth_chart(self.reproduced),
            "time": time_chart(self.reproduced),
            "calibrated": iteration_chart(self.calibrated, "chart-calibrated"),
            "weights": iteration_chart(self.weights, "chart-weights"),
            "first_principles": iteration_chart(self.first_principles, "chart-first-principles"),
            **{
                f"sweep_{name}": strategy_chart(rows, f"chart-sweep-{name}")
                for name, rows in self.sweeps.items()
            },
        }

    def swept(self, name: str) -> list[MovedRow]:
        """Return what was published of a sweep, beside ours."""
        return [row for row in self.reproduced if row.id.startswith(f"sweep/{name}/")]

    def tables(self) -> dict[str, str]:
        """Return the numbers of each chart by name, as CSV."""
        bandwidths = [row for row in self.reproduced if row.id.startswith("bandwidth/")]
        loads = [(phase, name, *pair) for phase, name, _, pairs in self.maps for pair in pairs]
        return {
            "bandwidth": REPRODUCED.csv(bandwidths),
            "reproduce": REPRODUCED.csv(self.reproduced),
            "calibrated": COMPARED.csv(self.calibrated),
            "weights": COMPARED.csv(self.weights),
            "first_principles": COMPARED.csv(self.first_principles),
            "loads": LOADS.csv(loads),
            **{f"sweep_{name}": SWEPT.csv(rows) for name, rows in self.sweeps.items()},
        }


@cache
def gather() -> Wafer:
    """Simulate all that the page shows of wafers."""
    fabrics = [parse_topology(name) for name in FABRICS]
    return Wafer(
        all_reduce=tuple(run_collective(one, "all_reduce", SIZE_BYTES) for one in fabrics),
        first_principles=compare(),
        weights=compare(compute="weights"),
        calibrated=compare(compute="calibrated"),
        identified=tuple(identify(name) for name in PUBLISHED),
        reproduced=reproduce_both(),
        sweeps={name: swept(name, Setting()) for name in SWEEPS},
        maps=tuple(_map(phase, name) for name in _MAPPED for phase in _PHASES),
    )


def _map(
    phase: tuple[str, str, str], name: str
) -> tuple[str, str, str, tuple[tuple[str, float], ...]]:
    """Return a phase on a fabric: names, drawing, and load of each link in use."""
    title, pattern, kind = phase
    fabric = parse_topology(name)
    placed = place(fabric, Strategy(2, 5, 2), "columns" if fabric.grid else "linear")
    groups: Sequence[Sequence[int]] = [range(fabric.npus)]
    if kind == "mp":
        groups = [*placed.mp_groups(0), *placed.mp_groups(1)]
    elif kind == "dp":
        groups = [*placed.dp_groups(0), *placed.dp_groups(1)]
    elif kind == "pp":
        groups = placed.multicasts(0, 1)
    found = profile(fabric, pattern, SIZE_BYTES, groups)[0]
    loads = {
        link: carried / fabric.capacities[link] / found.time_s for link, carried in found.loads
    }
    named = tuple((fabric.link_name(link), share) for link, share in loads.items())
    return title, name, draw_loads(fabric, loads, f"{title} on {name}"), named
