"""All strategies of workloads as rows that the page sorts, filters and draws."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from fred_cli.columns.parts import PARTS
from fred_cli.columns.strategies import COLUMNS
from perfmodel.studies.strategies import StrategyRow

__all__ = ["explorer"]


def explorer(swept: Mapping[str, Sequence[StrategyRow]]) -> dict[str, Any]:
    """Return the rows by workload, as the page has them.

    Parameters
    ----------
    swept : mapping
        Strategies by workload, those that fit the memory first and the fastest of them in front.

    Returns
    -------
    dict
        ``rows``, a list of dicts: ``workload``, ``strategy``, ``fabric``, ``ms`` (per sample),
        ``parts`` (likewise, in the order of ``PARTS``), ``memory`` (in words), ``gb`` (needed) and
        ``fits``; and ``tables``, addresses of CSV by workload.
    """
    rows: list[dict[str, Any]] = []
    for workload, found in swept.items():
        for row in found:
            estimate = row.estimate
            over = estimate.minibatch / 1e3
            parts = [float(f"{part.seconds(estimate) / over:.5g}") for part in PARTS]
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
    tables = {
        name: "data:text/csv;charset=utf-8," + quote(COLUMNS.csv(found))
        for name, found in swept.items()
    }
    return {"rows": rows, "tables": tables}
