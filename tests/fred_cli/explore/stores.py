"""Small stores for tests of the explorer."""

from pathlib import Path
from typing import Any

from fred_cli.explore.table import Source, Table
from studies.study.point import evaluate
from studies.study.store import Store, create_store
from tests.studies.study.studies import planned
from tests.written import written

__all__ = ["SPACE", "evaluated", "table_of"]

SPACE: dict[str, Any] = {
    "topology": ["mesh:2x2", "small.yaml"],
    "topology.io_bytes_per_s": [1e11, 2e11],
    "workload": "resnet-50",
    "strategy": ["MP1-DP4-PP1", "MP2-DP2-PP1"],
    "npu.peak_flops": [1e15, 4e15],
}
"""Sixteen points of a few milliseconds each, on a built-in topology and on one from a file."""

_FRED = """kind: fred
l1:
- {count: 2, npus: 2, io_controllers: 1, record: l1-12}
l2_record: l2-10
in_network: true
l1_l2_bytes_per_s: 6.0e+12
"""


_PROVENANCE = {
    **dict.fromkeys(("error", "records")),
    "version": "1",
    "seed": 1,
    "host": "a",
    "duration_s": 0.0,
}


def evaluated(folder: Path, space: dict[str, Any] = SPACE, **keys: Any) -> Store:
    """Return a store with all points of a study."""
    folder.mkdir(exist_ok=True)
    written(folder / "small.yaml", _FRED)
    plan = planned(folder, space, **keys)
    store = create_store(folder / "store")
    store.append([evaluate(plan.point(number)) for number in range(len(plan.space))])
    return store


def table_of(folder: Path, *batches: list[dict[str, Any]]) -> Table:
    """Return a table of rows that are given; keys are filled in."""
    store = create_store(folder)
    number = 0
    for rows in batches:
        filled: list[dict[str, Any]] = []
        for row in rows:
            filled.append({"key": f"{number:032x}", **_PROVENANCE, **row})
            number += 1
        store.append(filled)
    return Source(store).table()
