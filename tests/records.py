"""Timing records that tests change or make up, so that times can be worked out by hand."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from perfmodel.switch_timing import record as timing
from tests.written import written

__all__ = ["give_records", "give_whole_switches", "router", "shipped", "whole_switch"]

FLIT_BITS, OVERHEAD_BITS = 4096, 64 + 32


def shipped(name: str) -> Any:
    """Return what a shipped record says."""
    return json.loads((timing.RECORDS / f"{name}.json").read_text(encoding="utf-8"))


def _shares(payload_share: float) -> dict[str, Any]:
    """Return what a record says of a link with flits of 256 lanes of 16 bits."""
    return {
        "data_flits_per_cycle": payload_share * (FLIT_BITS + OVERHEAD_BITS) / FLIT_BITS,
        "ack_share": 0.01,
        "control_share": 0.02,
        "payload_share": payload_share,
    }


def router(payload_share: float) -> dict[str, Any]:
    """Return what a record says of a router without latency."""
    cycles = ("latency_cycles", "follow_cycles", "preemption_cycles", "message_cycles")
    return {**dict.fromkeys(cycles, 0), **_shares(payload_share)}


def whole_switch(payload_share: float, latency_cycles: int, **others: Any) -> dict[str, Any]:
    """Return what a record says of a switch."""
    return {
        **_shares(payload_share),
        "latency_cycles": latency_cycles,
        "stages": {"all": latency_cycles},
        "follow_cycles": latency_cycles,
        "reconfiguration_cycles": 0,
        "preemption_cycles": 5,
        "recovery_cycles": {"to_switch": 200, "from_switch": 300},
        **others,
    }


def give_records(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    switches: Mapping[str, dict[str, Any]],
    of_router: dict[str, Any],
) -> None:
    """Make up the whole switches of shipped records, and the router of the mesh, in a folder."""
    folder.mkdir()
    changed = {name: {"switch": one} for name, one in switches.items()}
    for name, change in (changed | {"mesh-5x4": {"router": of_router}}).items():
        written(folder / f"{name}.json", shipped(name) | change)
    monkeypatch.setattr(timing, "RECORDS", folder)


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
