"""Checks of the timing of units through which flits go."""

from typing import Any

from tests.fred_hw.simulation import trace

__all__ = ["check_latency", "check_reset", "check_throughput"]


def check_latency(unit: Any, configuration: int, i: str, o: str, latency: int) -> None:
    """See that a flit comes out after so many cycles, and nothing else ever."""
    flit = {"configuration": configuration, f"{i}.valid": 1, f"{i}.data": 7}
    seen = trace(unit, [flit, *[{}] * (latency + 2)], [f"{o}.valid", f"{o}.data"])
    assert seen == [(0, 0)] * latency + [(1, 7)] + [(0, 0)] * 2


def check_throughput(unit: Any, configuration: int, i: str, o: str, latency: int) -> None:
    """See that a flit per cycle goes through, with the configuration of its own cycle."""
    off = [3, 4]
    flits = [
        {"configuration": 0 if k in off else configuration, f"{i}.valid": 1, f"{i}.data": k + 1}
        for k in range(9)
    ]
    seen = trace(unit, [*flits, *[{}] * latency], [f"{o}.valid", f"{o}.data"])[latency:]
    assert seen == [(0, 0) if k in off else (1, k + 1) for k in range(9)]


def check_reset(unit: Any, configuration: int, i: str, o: str, latency: int) -> None:
    """See that flits that are inside at a reset do not come out."""
    flit = {"configuration": configuration, f"{i}.valid": 1, f"{i}.data": 7}
    inside = [flit] * latency
    seen = trace(unit, [*inside, flit | {"rst": 1}, *[{}] * (latency + 1)], [f"{o}.valid"])
    assert seen[latency + 1 :] == [0] * (latency + 1)
