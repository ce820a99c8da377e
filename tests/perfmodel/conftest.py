"""Timing records with a whole switch that is made up, so that times can be worked out by hand."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perfmodel.switch_timing import record as timing

FLIT_BITS, OVERHEAD_BITS = 4096, 56 + 32


def router(payload_share: float) -> dict[str, Any]:
    """Return what a record says of a router without latency, of 256 lanes of 16 bits."""
    return {
        "latency_cycles": 0,
        "follow_cycles": 0,
        "message_cycles": 0,
        "data_flits_per_cycle": payload_share * (FLIT_BITS + OVERHEAD_BITS) / FLIT_BITS,
        "ack_share": 0.01,
        "control_share": 0.02,
        "payload_share": payload_share,
    }


def whole_switch(payload_share: float, latency_cycles: int) -> dict[str, Any]:
    """Return what a record says of a switch of 256 lanes of 16 bits."""
    return {
        "latency_cycles": latency_cycles,
        "stages": {"link": latency_cycles - 3, "buffer": 3},
        "follow_cycles": latency_cycles,
        "data_flits_per_cycle": payload_share * (FLIT_BITS + OVERHEAD_BITS) / FLIT_BITS,
        "ack_share": 0.01,
        "control_share": 0.02,
        "payload_share": payload_share,
        "reconfiguration_cycles": 0,
        "preemption_cycles": 5,
        "recovery_cycles": {"to_switch": 200, "from_switch": 300},
    }


@pytest.fixture
def give_whole_switches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[float | dict[str, float], dict[str, int]], None]:
    """Return a function that makes up the whole switches of the shipped records.

    Routers of meshes have no latency, and the share of l1-12.
    """

    def give(shares: float | dict[str, float], latencies: dict[str, int]) -> None:
        folder = tmp_path / "records"
        folder.mkdir()
        for name, latency_cycles in latencies.items():
            record = json.loads((timing.RECORDS / f"{name}.json").read_text(encoding="utf-8"))
            share = shares[name] if isinstance(shares, dict) else shares
            record["switch"] = whole_switch(share, latency_cycles)
            (folder / f"{name}.json").write_text(json.dumps(record), encoding="utf-8")
        record = json.loads((timing.RECORDS / "mesh-5x4.json").read_text(encoding="utf-8"))
        share = shares.get("l1-12", 1.0) if isinstance(shares, dict) else shares
        (folder / "mesh-5x4.json").write_text(json.dumps(record | {"router": router(share)}))
        monkeypatch.setattr(timing, "RECORDS", folder)

    return give
