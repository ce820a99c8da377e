"""Certificates for tests."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from fred_hw.certificate.file import Certificate
from fred_hw.certificate.writing import certify_switch, certify_wafer
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import Strategy, phases
from fred_hw.compiler.routing import route
from fred_hw.load import load_spec
from fred_hw.wafer.load import load_wafer
from fred_hw.wafer.program import compile_strategy

__all__ = ["HARD", "of_hard", "of_switch", "of_wafer", "of_word"]

EXAMPLES = Path(__file__).parents[3] / "examples"

HARD = [
    ((20, 24), (5, 28)),
    ((4, 8, 15, 16), (1, 4, 6, 26)),
    ((5, 12, 13, 28), (0, 13)),
    ((31,), (14, 17, 19, 25)),
    ((2, 18, 25), (2, 9, 10, 18)),
    ((9,), (3, 8, 11)),
    ((1,), (27,)),
]
"""Flows that conflict on FRED_2(32), whose proof needs clauses of its own."""


def _read(data: dict[str, Any]) -> dict[str, Any]:
    """Return what the checker gets of a certificate."""
    return Certificate.model_validate(json.loads(json.dumps(data))).model_dump()


@cache
def _of_wafer(name: str, strategy: str) -> str:
    wafer = load_wafer(str(EXAMPLES / f"{name}.yaml"))
    size = wafer.link.data_width // 8
    return json.dumps(certify_wafer(compile_strategy(wafer, Strategy.parse(strategy), size)))


def of_wafer(strategy: str, name: str = "wafer-20") -> dict[str, Any]:
    """Return the certificate of a strategy on a wafer of the examples."""
    return _read(json.loads(_of_wafer(name, strategy)))


def of_switch(
    flows: str | Sequence[Flow],
    preset: str = "demo-8",
    *,
    max_conflicts: int = 20_000,
    **changes: int,
) -> dict[str, Any]:
    """Return the certificate of a strategy or of flows on a preset."""
    spec = load_spec(preset, changes)
    strategy = Strategy.parse(flows) if isinstance(flows, str) else None
    sets = phases(strategy) if strategy else {"flows": flows}
    results = {
        name: route(one, spec.ports, spec.middle_switches, max_conflicts=max_conflicts)
        for name, one in sets.items()
    }
    return _read(certify_switch(spec, strategy, results, max_conflicts=max_conflicts))


def of_hard() -> dict[str, Any]:
    """Return the certificate of ``HARD``."""
    flows = [Flow(*sides) for sides in HARD]
    return of_switch(flows, "big-64", ports=32, middle_switches=2)


def of_word(word: int, flows: Sequence[Flow], ports: int, middle_switches: int) -> dict[str, Any]:
    """Return the parts of a certificate that say what a configuration word connects."""
    said = [{"inputs": flow.inputs, "outputs": flow.outputs} for flow in flows]
    return {
        "units": {"switch": {"ports": ports, "middle_switches": middle_switches}},
        "links": [],
        "endpoints": [f"switch.{port}" for port in range(ports)],
        "sets": {"flows": {"flows": said, "words": {"switch": f"{word:#x}"}}},
    }
