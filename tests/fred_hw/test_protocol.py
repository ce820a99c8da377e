"""Tests of fred_hw.protocol."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fred_hw.errors import InputError
from fred_hw.files import validate
from fred_hw.protocol import HEADER_BITS, ProtocolSpec
from fred_hw.spec import SwitchSpec


def test_published_sizes() -> None:
    spec = ProtocolSpec(buffer_packets=6)
    assert spec.packet_flits * 512 == 4096  # 4 KB
    assert spec.buffer_flits * 512 == 24 * 1024
    fields = ProtocolSpec(phases=28).fields(12)
    assert fields == {
        "kind": 3,
        "circuit": 2,
        "phase": 5,  # 28 phases and the default index
        "peer": 4,
        "sequence": 8,  # 64 packets behind, 64 ahead
        "index": 3,
        "last": 3,
        "ticket": 5,
        "credit_circuit": 2,
        "credit_limit": 5,
        "generation": 3,
    }
    assert sum(fields.values()) <= HEADER_BITS == 6 * 8


@given(
    packet_flits=st.integers(1, 64),
    phases=st.integers(1, 64),
    window=st.sampled_from([64, 128]),
    room=st.integers(16, 64),
    ports=st.integers(2, 64),
)
def test_fields_count_far_enough(
    packet_flits: int, phases: int, window: int, room: int, ports: int
) -> None:
    fields = ProtocolSpec(
        packet_flits=packet_flits,
        phases=phases,
        window_packets=window,
        buffer_packets=room,
        round_trip_cycles=16,
    ).fields(ports)
    assert 1 << fields["phase"] > phases
    assert 1 << fields["peer"] >= ports
    # A packet is at most a window behind the one that is due or one ahead of the other end.
    assert 1 << fields["sequence"] >= 2 * window + 1
    assert 1 << fields["ticket"] >= 2 * room + 1
    assert 1 << fields["index"] >= packet_flits


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"phases": 65}, "phases: must be an integer from 1 to 64, not 65"),
        ({"packet_flits": 0}, "packet_flits: must be an integer from 1 to 64, not 0"),
        ({"buffer_packets": 1}, "buffer_packets: must be an integer from 2 to 64, not 1"),
        (
            {"buffer_packets": 5},
            "buffer_packets: must be 6 or more to cover round_trip_cycles, which are 47, not 5",
        ),
        # Values that are not given are held against the others too.
        (
            {"round_trip_cycles": 400},
            "buffer_packets: must be 50 or more to cover round_trip_cycles, which are 400, not 9",
        ),
        (
            {"window_packets": 16},
            "window_packets: must be 29 or more to send on until the ack of 16, not 16",
        ),
        ({"window_packets": 40}, "window_packets: must be a power of two such as 64, not 40"),
        ({"credits": 4}, "credits: unknown key; allowed are phases, .*"),
        ({"link": False}, f"link: unknown key; allowed are {', '.join(ProtocolSpec.model_fields)}"),
    ],
)
def test_impossible_protocol_is_refused(given: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=rf"^switch\.yaml: protocol\.{message}$"):
        validate(SwitchSpec, {"ports": 4, "protocol": given}, "switch.yaml")


def test_fields_that_do_not_fit_the_header_are_refused() -> None:
    sizes = {"phases": 64, "packet_flits": 64, "buffer_packets": 64, "window_packets": 128}
    message = "switch.yaml: protocol: must have a header of 48 bits or fewer, not 60: lower phases,"
    with pytest.raises(InputError, match=re.escape(message)):
        validate(SwitchSpec, {"ports": 64, "protocol": sizes}, "switch.yaml")


def test_suffix_tells_all_sizes_that_are_not_the_default() -> None:
    assert ProtocolSpec().suffix == "link"
    assert ProtocolSpec(phases=3).suffix == "link_f3"
    changed: dict[str, int] = {
        "phases": 15,
        "packet_flits": 9,
        "round_trip_cycles": 40,
        "buffer_packets": 10,
        "ack_interval": 15,
        "window_packets": 128,
        "timeout_cycles": 1000,
        "idle_cycles": 60,
        "patience_cycles": 100,
        "stuck_cycles": 1000,
    }
    assert changed.keys() == ProtocolSpec.model_fields.keys()
    names = {ProtocolSpec.model_validate({name: value}).suffix for name, value in changed.items()}
    assert len(names - {"link"}) == len(changed)
