"""Specifications and cases that tests share."""

# Fields of a specification go by name as keyword arguments.
# pyright: reportArgumentType=false

from collections.abc import Mapping
from typing import Any

import pytest

from fred_hw.protocol import CRC_BITS, HEADER_BITS, ProtocolSpec
from fred_hw.published import FLIT_BYTES
from fred_hw.spec import SwitchSpec
from testbench.campaigns.fabrics import ENGINE, SHORT

__all__ = [
    "DEEP",
    "ENGINE",
    "FIVE",
    "SHORT",
    "SINGLE",
    "assert_deep",
    "payload_share",
    "slow_but_first",
    "small",
]

# A window that lasts until acks come, though the switch and its neighbours take their time.
_SIZES = ProtocolSpec(
    phases=8,
    packet_flits=4,
    round_trip_cycles=12,
    buffer_packets=6,
    ack_interval=8,
    window_packets=32,
    timeout_cycles=400,
    nack_timeout_cycles=24,
    packet_timeout_cycles=32,
    head_of_line_timeout_cycles=2000,
)


def small(ports: int = 4, lanes: int = 1, form: str = "int16", **protocol: int) -> SwitchSpec:
    """Return a small switch, with these sizes of its protocol."""
    sizes = ProtocolSpec(**(_SIZES.model_dump() | protocol))
    return SwitchSpec(ports=ports, lanes=lanes, format=form, protocol=sizes)


def payload_share(rate: float) -> float:
    """Return the part of a link that is payload at a rate in data flits per cycle.

    Flits are the published ones of 512 B, to which a header and a CRC come.
    """
    return rate * 8 * FLIT_BYTES / (8 * FLIT_BYTES + HEADER_BITS + CRC_BITS)


SINGLE = small(2, phases=5, packet_flits=1, buffer_packets=24, ack_interval=16, window_packets=64)
"""Of packets of one flit."""
FIVE = small(5, 2, "bf16", phases=16, packet_flits=5)


DEEP = SwitchSpec(ports=2, lanes=1, format="int8", adder_registers=3, stage_registers=2)
_DEEP = {
    # A reducing stage is 3 + 2 cycles, a distributing one 2: one of the first, or two and one. All
    # else was measured; it moves if hardware or benches do.
    2: (5, {"to_switch": 90, "from_switch": 74}, 13_139),
    3: (12, {"to_switch": 129, "from_switch": 81}, 19_823),
    4: (12, {"to_switch": 129, "from_switch": 81}, 26_137),
}
"""Latency, recoveries and flits checked of ``DEEP``, by ports."""


def assert_deep(record: Mapping[str, Any]) -> None:
    """Hold a record of ``DEEP`` with some ports against its pipeline, and benches before."""
    cycles, recovery, flits = _DEEP[record["measured_spec"]["ports"]]
    assert record["latency_cycles"] == cycles
    assert record["throughput_flits_per_cycle"] == 1.0
    assert record["reconfiguration_cycles"] == 0
    assert record["flits_checked"] == flits
    assert record["switch"] == {
        "latency_cycles": cycles + 10,
        "stages": {"receive": 3, "schedule": 2, "start": 3, "interconnect": cycles, "send": 2},
        "follow_cycles": cycles + 7,
        "data_flits_per_cycle": 128 / 129,
        "ack_share": 1 / 129,
        "control_share": 1 / 129,
        "payload_share": 128 / 129 * 8 / (8 + 96),
        "reconfiguration_cycles": 0,
        "preemption_cycles": 8,
        "recovery_cycles": recovery,
    }


def slow_but_first(cases: Mapping[str, object], name: str = "spec") -> Any:
    """Return the parameters of a test by their ids, all marked slow but the first.

    The edit loop runs the first.
    """
    first, *others = cases.items()
    slow = [pytest.param(case, id=text, marks=pytest.mark.slow) for text, case in others]
    return pytest.mark.parametrize(name, [pytest.param(first[1], id=first[0]), *slow])
