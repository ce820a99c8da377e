"""Evidence sections of the report: RTL against model, algorithms, and published figures."""

from collections.abc import Callable
from typing import Any

from fred_cli.columns.algorithms import COLUMNS as ALGORITHMS
from fred_cli.columns.algorithms import binary_size
from fred_cli.columns.compare import COLUMNS as COMPARE
from fred_cli.columns.identify import COLUMNS as IDENTIFIED
from fred_cli.columns.reproduce import columns_of
from fred_cli.output import plain
from perfmodel.topology.parse import parse_topology
from studies.algorithms import (
    PATTERNS_COMPARED,
    SIZES_COMPARED_BYTES,
    TOPOLOGIES_COMPARED,
    catching_up,
    compare_algorithms,
    winners,
)
from studies.reproduce import count

from .download import download
from .hardware import gather_hardware
from .wafer import gather

__all__ = ["SECTIONS", "evidence_numbers"]


def _algorithms() -> dict[str, Any]:
    """Return the content of the section on collective algorithms."""
    topologies = [parse_topology(name) for name in TOPOLOGIES_COMPARED]
    rows = compare_algorithms(topologies, PATTERNS_COMPARED, SIZES_COMPARED_BYTES, [None])
    return {
        "algorithms": rows,
        "fastest": winners(rows),
        "collectives": len({row.collective for row in rows}),
        "catching_up": [
            f"{row.pattern}, {binary_size(row.size_bytes)}, on {row.topology} ({row.algorithm})"
            for row in catching_up(rows)
        ],
        "algorithm_columns": ALGORITHMS.titled,
        "algorithms_csv": download(ALGORITHMS.csv(rows)),
    }


def _hardware() -> dict[str, Any]:
    """Return the content of the section on RTL and model."""
    found = gather_hardware()
    return {
        "hardware": found,
        "hardware_charts": found.charts(),
        "hardware_table": download(found.table()),
    }


def _published() -> dict[str, Any]:
    """Return the published figures and the model's results."""
    wafer = gather()
    return {
        "wafer": wafer,
        "identified_columns": IDENTIFIED.titled,
        "reproduce_columns": columns_of(moved=True).titled,
        "charts": wafer.charts(),
        "counts": count(wafer.reproduced),
        "downloads": {name: download(table) for name, table in wafer.tables().items()},
    }


SECTIONS: dict[str, tuple[int, Callable[[], dict[str, Any]]]] = {
    "algorithms": (5, _algorithms),
    "published figures": (60, _published),
    "RTL and model": (70, _hardware),
}
"""Approximate processor time of each section [s], and the function that makes it."""


def evidence_numbers(page: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers of the evidence as JSON values."""
    wafer = page["wafer"]
    return {
        "rtl_iterations": [one.to_dict() for one in page["hardware"].iterations],
        "rtl_phases": plain(page["hardware"].rows),
        "algorithms": plain(page["algorithms"]),
        "all_reduce": plain(wafer.all_reduce),
        "compare": [COMPARE.json(row.estimate, row) for row in wafer.first_principles],
        "compare_weights": [COMPARE.json(row.estimate, row) for row in wafer.weights],
        "compare_calibrated": [COMPARE.json(row.estimate, row) for row in wafer.calibrated],
        "identified": plain(wafer.identified),
        "reproduce": plain(wafer.reproduced),
    }
