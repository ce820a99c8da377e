"""Timing of fred_hw.datapath: every unit through which flits go, cycle by cycle."""

from typing import Any

import pytest

from fred_hw.datapath.steering import Demultiplexer, Multiplexer
from fred_hw.spec import SwitchSpec
from tests.fred_hw.datapath.flits import check_latency, check_reset, check_throughput

SPEC = SwitchSpec(ports=3, middle_switches=2, format="int8", lanes=1, adder_registers=1)
UNITS = pytest.mark.parametrize(
    ("kind", "i", "o", "latency"),
    [(Demultiplexer, "i", "o[0]", 2), (Multiplexer, "i[0]", "o", 1)],
    ids=["demultiplexer", "multiplexer"],
)


@UNITS
def test_latency(kind: Any, i: str, o: str, latency: int) -> None:
    check_latency(kind(spec=SPEC), 1, i, o, latency)


@UNITS
def test_throughput_is_a_flit_per_cycle(kind: Any, i: str, o: str, latency: int) -> None:
    check_throughput(kind(spec=SPEC), 1, i, o, latency)


@UNITS
def test_reset_loses_the_flits_inside(kind: Any, i: str, o: str, latency: int) -> None:
    check_reset(kind(spec=SPEC), 1, i, o, latency)
