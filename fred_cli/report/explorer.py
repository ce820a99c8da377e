"""Strategies of workloads as rows that the page sorts, filters and draws."""

from collections.abc import Mapping, Sequence
from typing import Any

from fred_cli.columns.parts import parts_of
from fred_cli.columns.strategies import COLUMNS
from perfmodel.training.strategies import StrategyRow

from .download import download

__all__ = ["explorer"]


def explorer(swept: Mapping[str, Sequence[StrategyRow]]) -> dict[str, Any]:
    """Return the rows of each workload in the form the page takes.

    Parameters
    ----------
    swept : mapping
        Strategies by workload: those that fit the memory first, the fastest of them in front.

    Returns
    -------
    dict
        ``parts``, those that occur; ``rows``, a list of dicts: ``workload``, ``strategy``,
        ``fabric``, ``ms`` (per sample), ``parts`` (likewise, in their order), ``memory`` (in
        words), ``gb`` (needed) and ``fits``; and ``tables``, addresses of CSV by workload.
    """
    shown = parts_of(row.estimate for found in swept.values() for row in found)
    rows: list[dict[str, Any]] = []
    for workload, found in swept.items():
        for row in found:
            estimate = row.estimate
            over = estimate.minibatch / 1e3
            parts = [float(f"{part.seconds(estimate) / over:.5g}") for part in shown]
            rows.append(
                {
                    "workload": workload,
                    "strategy": estimate.strategy,
                    "fabric": estimate.topology,
                    "ms": float(f"{estimate.time_per_sample_s * 1e3:.5g}"),
                    "parts": parts,
                    "memory": estimate.memory_verdict,
                    "gb": float(f"{estimate.memory.total_bytes / 1e9:.3g}"),
                    "fits": row.fits,
                }
            )
    tables = {name: download(COLUMNS.csv(found)) for name, found in swept.items()}
    return {"parts": shown, "rows": rows, "tables": tables}
