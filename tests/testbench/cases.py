"""Specifications and cases that tests share."""

# Fields of a specification go by name as keyword arguments.
# pyright: reportArgumentType=false

from collections.abc import Mapping
from typing import Any

import pytest

from fred_hw.endpoint_spec import EndpointSpec
from fred_hw.protocol import CRC_BITS, HEADER_BITS, ProtocolSpec
from fred_hw.published import FLIT_BYTES
from fred_hw.spec import SwitchSpec

__all__ = ["ENGINE", "SHORT", "payload_share", "slow_but_first", "small"]

# A window that lasts until acks come, though the switch and its neighbours take their time.
_SIZES = ProtocolSpec(
    phases=8,
    packet_flits=4,
    round_trip_cycles=12,
    buffer_packets=6,
    ack_interval=8,
    window_packets=32,
    timeout_cycles=400,
    idle_cycles=24,
    patience_cycles=32,
    stuck_cycles=2000,
)

SHORT = ProtocolSpec(
    packet_flits=4,
    buffer_packets=6,
    round_trip_cycles=24,
    ack_interval=4,
    window_packets=32,
    timeout_cycles=300,
    idle_cycles=16,
    patience_cycles=64,
)
"""Of endpoints with engines: small packets, and waits that soon end."""
ENGINE = EndpointSpec(fsms=2, slots=4, chunk_flits=16, memory_reads=16)


def small(ports: int = 4, lanes: int = 1, form: str = "int16", **protocol: int) -> SwitchSpec:
    """Return a small switch, with these sizes of its protocol."""
    sizes = ProtocolSpec(**(_SIZES.model_dump() | protocol))
    return SwitchSpec(ports=ports, lanes=lanes, format=form, protocol=sizes)


def payload_share(rate: float) -> float:
    """Return the part of a link that is payload at a rate in data flits per cycle.

    Flits are the published ones of 512 B, to which a header and a CRC come.
    """
    return rate * 8 * FLIT_BYTES / (8 * FLIT_BYTES + HEADER_BITS + CRC_BITS)


def slow_but_first(cases: Mapping[str, object], name: str = "spec") -> Any:
    """Return the parameters of a test by their ids, all marked slow but the first.

    The edit loop runs the first.
    """
    first, *others = cases.items()
    slow = [pytest.param(case, id=text, marks=pytest.mark.slow) for text, case in others]
    return pytest.mark.parametrize(name, [pytest.param(first[1], id=first[0]), *slow])
