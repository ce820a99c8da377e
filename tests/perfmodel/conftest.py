"""Timing records with a whole switch that is made up, so that times can be worked out by hand."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.records import give_records, router, whole_switch


@pytest.fixture
def give_whole_switches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[float | dict[str, float], dict[str, int]], None]:
    """Return a function that makes up the whole switches of the shipped records.

    Routers of meshes have no latency, and the share of l1-12.
    """

    def give(shares: float | dict[str, float], latencies: dict[str, int]) -> None:
        by_name = shares if isinstance(shares, dict) else dict.fromkeys(latencies, shares)
        switches = {name: whole_switch(by_name[name], one) for name, one in latencies.items()}
        of_router = router(shares.get("l1-12", 1.0) if isinstance(shares, dict) else shares)
        give_records(tmp_path / "records", monkeypatch, switches, of_router)

    return give
