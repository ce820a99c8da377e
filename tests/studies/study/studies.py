"""Small studies for tests."""

from pathlib import Path
from typing import Any

import yaml

from studies.study.plan import Plan, load_study
from studies.study.store import Store
from tests.written import written

__all__ = ["PROVENANCE", "SPACE", "planned", "rows_of", "study_file"]

SPACE: dict[str, Any] = {
    "topology": ["mesh:2x2", "mesh:4x1"],
    "workload": "resnet-50",
    "strategy": ["MP1-DP4-PP1", "MP1-DP2-PP1"],
    "npu.peak_flops": [1e15, 2e15, 4e15],
}
"""Twelve points of a few milliseconds each."""

PROVENANCE = {"host", "duration_s"}
"""Columns that differ from run to run."""


def study_file(folder: Path, space: dict[str, Any] = SPACE, **keys: Any) -> Path:
    """Return a study file."""
    return written(folder / "study.yaml", yaml.safe_dump({"space": space, **keys}))


def planned(folder: Path, space: dict[str, Any] = SPACE, **keys: Any) -> Plan:
    """Return the plan of a study."""
    return load_study(study_file(folder, space, **keys))


def rows_of(store: Store) -> list[dict[str, Any]]:
    """Return the rows of a store in order of their keys, without what differs from run to run."""
    rows = store.query("select * from points order by key").to_pylist()
    return [{name: row[name] for name in sorted(row.keys() - PROVENANCE)} for row in rows]
