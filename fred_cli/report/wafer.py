"""Report sections on the published wafers, with charts and tables; everything is simulated once."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from fred_cli.columns.column import Column
from fred_cli.columns.compare import COLUMNS as COMPARE
from fred_cli.columns.reproduce import columns_of
from fred_cli.columns.strategies import COLUMNS as STRATEGIES
from fred_cli.drawings.charts import bandwidth_chart, iteration_chart, strategy_chart, time_chart
from perfmodel.network.run import CollectiveResult, run_collective
from perfmodel.published import SWEEPS
from perfmodel.topology.parse import FABRICS, parse_topology
from perfmodel.training.compare import Row, compare
from perfmodel.training.request import read_requests
from perfmodel.training.strategies import StrategyRow
from perfmodel.workloads.workload import PUBLISHED, parse_strategy
from studies.identify import Identified, identify
from studies.reproduce import Count, MovedRow, count, reproduce_both
from studies.section import GIB, SECTIONS, Evidence, Setting
from studies.sections.sweeps import swept

__all__ = ["PAPER_SECTIONS", "Wafer", "gather", "iterations"]

REPRODUCED = columns_of(moved=True)
COMPARED = COMPARE.without("iteration [s]")
SWEPT = STRATEGIES.without("iteration [s]", "memory").replacing(
    "per sample [s]", Column(lambda row: row.estimate.minibatch, "samples")
)


PAPER_SECTIONS = ("bandwidth", "wafer", "link", "speedups", "sweeps")
"""Sections of `fred reproduce` in the evidence: figures of the FRED paper."""


@dataclass(frozen=True)
class Wafer:
    """Published figures and the model's results.

    Parameters
    ----------
    all_reduce : tuple of CollectiveResult
        Results for 1 GiB on each fabric, with the algorithms of the published figures.
    first_principles, weights, calibrated : tuple of Row
        Published workloads on all fabrics.
    identified : tuple of Identified
        Conclusions about compute from published speed-ups.
    reproduced : tuple of MovedRow
        Published figures and ours, with the protocol as measured and ideal.
    sweeps : dict
        Strategies of each workload.
    """

    all_reduce: tuple[CollectiveResult, ...]
    first_principles: tuple[Row, ...]
    weights: tuple[Row, ...]
    calibrated: tuple[Row, ...]
    identified: tuple[Identified, ...]
    reproduced: tuple[MovedRow, ...]
    sweeps: dict[str, tuple[StrategyRow, ...]]

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

    def bandwidths(self) -> list[tuple[CollectiveResult, MovedRow]]:
        """Return the all-reduces with their rows of published figures."""
        rows = {row.id: row for row in self.reproduced}
        return [(one, rows[f"bandwidth/wafer/{one.topology}"]) for one in self.all_reduce]

    def groups(self) -> list[tuple[str, list[MovedRow], dict[Evidence, Count]]]:
        """Return the published figures by subject: title, rows, and counts by class."""
        titles = {name: title for one in SECTIONS.values() for name, title in one.subjects.items()}
        found: dict[str, list[MovedRow]] = {}
        for row in self.reproduced:
            found.setdefault(titles[row.id.partition("/")[0]], []).append(row)
        return [(title, rows, count(rows)) for title, rows in found.items()]

    def swept(self, name: str) -> list[MovedRow]:
        """Return the published figures of a sweep with the model's results."""
        return [row for row in self.reproduced if row.id.startswith(f"sweep/{name}/")]

    def tables(self) -> dict[str, str]:
        """Return the numbers of each chart as CSV, keyed by name."""
        bandwidths = [row for row in self.reproduced if row.id.startswith("bandwidth/")]
        return {
            "bandwidth": REPRODUCED.csv(bandwidths),
            "reproduce": REPRODUCED.csv(self.reproduced),
            "calibrated": COMPARED.csv(self.calibrated),
            "weights": COMPARED.csv(self.weights),
            "first_principles": COMPARED.csv(self.first_principles),
            **{f"sweep_{name}": SWEPT.csv(rows) for name, rows in self.sweeps.items()},
        }


def _whole_wafer(rows: Sequence[StrategyRow]) -> tuple[StrategyRow, ...]:
    """Return the strategies that use all NPUs of the published wafer."""
    workers = [parse_strategy(row.estimate.strategy).workers for row in rows]
    return tuple(row for row, used in zip(rows, workers, strict=True) if used == max(workers))


@cache
def iterations(compute: str) -> tuple[Row, ...]:
    """Return the published workloads on all fabrics, for a compute model."""
    return compare(read_requests(FABRICS, PUBLISHED, compute=compute))


@cache
def gather() -> Wafer:
    """Compare the published figures of wafers with the model's results."""
    fabrics = [parse_topology(name) for name in FABRICS]
    return Wafer(
        all_reduce=tuple(
            run_collective(one, "all_reduce", GIB, algorithm="published") for one in fabrics
        ),
        first_principles=iterations("first-principles"),
        weights=iterations("weights"),
        calibrated=iterations("calibrated"),
        identified=tuple(identify(name) for name in PUBLISHED),
        reproduced=reproduce_both(PAPER_SECTIONS),
        sweeps={name: _whole_wafer(swept(name, Setting())) for name in SWEEPS},
    )
