"""Tests of fred_hw.protocol."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from fred_hw.errors import InputError
from fred_hw.files import AUTO, validate
from fred_hw.mesh.spec import MeshSpec
from fred_hw.protocol import (
    CRC_BITS,
    HEADER_BITS,
    HEADER_FIELDS,
    PROTOCOL_VERSION,
    Kind,
    ProtocolSpec,
    absent_fields,
)
from fred_hw.spec import SwitchSpec


def test_published_sizes() -> None:
    spec = ProtocolSpec(buffer_packets=6)
    assert spec.packet_flits * 512 == 4096  # 4 KB
    assert spec.buffer_flits * 512 == 24 * 1024
    assert max(low + bits for low, bits in HEADER_FIELDS.values()) < HEADER_BITS == 8 * 8
    assert 1 << HEADER_FIELDS["version"].bits > PROTOCOL_VERSION
    # The header of 8 bytes leaves 97.7 % of a link of 512 B flits for payload.
    assert round(4096 / (4096 + HEADER_BITS + CRC_BITS), 3) == 0.977


@pytest.mark.parametrize(
    ("kind", "unicast"), [(Kind.DATA, 0), (Kind.DATA, 1), (Kind.HANDSHAKE, 0)], ids=str
)
def test_fields_of_a_flit_do_not_overlap(kind: Kind, unicast: int) -> None:
    absent = absent_fields(kind, unicast)
    places = [place for name, place in HEADER_FIELDS.items() if name not in absent]
    taken = [bit for low, bits in places for bit in range(low, low + bits)]
    assert len(set(taken)) == len(taken)


def test_fields_count_far_enough_for_the_largest_sizes() -> None:
    most = {name: 1 << place.bits for name, place in HEADER_FIELDS.items()}
    sizes = {"phases": 64, "packet_flits": 15, "window_packets": 64, "buffer_packets": 17}
    spec = ProtocolSpec.model_validate(sizes)
    assert most["phase"] == spec.phases
    assert most["index"] == most["last"] == 16
    # A packet is at most a window behind the one that is due or one ahead of the other end.
    assert most["sequence"] >= 2 * spec.window_packets + 1
    assert spec.buffer_flits == 255
    # A flit is at most a packet behind the one that comes next, or a buffer ahead.
    assert most["link_sequence"] == most["credit_limit"] >= spec.buffer_flits + spec.packet_flits


@given(phases=st.integers(1, 64))
def test_hardware_tells_phases_from_unicasts_and_from_what_is_neither(phases: int) -> None:
    spec = ProtocolSpec(phases=phases)
    assert 1 << spec.fields["phase"] > spec.online + 1 > phases


SIZES = {
    "packet_flits": 8,
    "round_trip_cycles": 47,
    "buffer_packets": 9,
    "ack_interval": 16,
    "window_packets": 64,
}
"""Sizes that go together, whatever the defaults are."""


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"phases": 65}, "phases: must be an integer from 1 to 64, not 65"),
        ({"packet_flits": 0}, "packet_flits: must be an integer from 1 to 16, not 0"),
        ({"buffer_packets": 1}, "buffer_packets: must be an integer from 2 to 64, not 1"),
        (
            {"buffer_packets": 5},
            "buffer_packets: must be 6 or more to cover round_trip_cycles, which are 47, not 5",
        ),
        (
            {"round_trip_cycles": 200},
            "buffer_packets: must be 25 or more to cover round_trip_cycles, which are 200, not 9",
        ),
        (
            {"window_packets": 16},
            "window_packets: must be 29 or more to send on until the ack of 16, not 16",
        ),
        ({"ack_interval": 0}, "ack_interval: must be auto or an integer from 1 to 64, not 0"),
        (
            {"ack_interval": 52},
            "window_packets: must be 65 or more to send on until the ack of 52, not 64",
        ),
        ({"window_packets": 40}, "window_packets: must be a power of two such as 64, not 40"),
        # No field of the header could count so many.
        ({"packet_flits": 17}, "packet_flits: must be an integer from 1 to 16, not 17"),
        ({"window_packets": 128}, "window_packets: must be an integer from 2 to 64, not 128"),
        (
            {"round_trip_cycles": 256},
            "round_trip_cycles: must be an integer from 1 to 255, not 256",
        ),
        (
            {"buffer_packets": 32},
            "buffer_packets: must be 31 or less in packets of packet_flits, which are 8, not 32",
        ),
        ({"credits": 4}, "credits: unknown key; allowed are phases, .*"),
        ({"link": False}, f"link: unknown key; allowed are {', '.join(ProtocolSpec.model_fields)}"),
    ],
)
def test_impossible_protocol_is_refused(given: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=rf"^switch\.yaml: protocol\.{message}$"):
        validate(SwitchSpec, {"ports": 4, "protocol": SIZES | given}, "switch.yaml")


def test_values_that_are_not_given_are_held_against_the_others_too() -> None:
    least, mine = 255, ProtocolSpec().buffer_packets
    said = f"must be {least} or more to cover round_trip_cycles, which are {least}, not {mine}"
    with pytest.raises(ValidationError, match=f"buffer_packets\n.*{said}"):
        ProtocolSpec(packet_flits=1, round_trip_cycles=least)


def test_suffix_tells_all_sizes_that_are_not_the_default() -> None:
    assert ProtocolSpec().suffix == "link"
    assert ProtocolSpec(phases=3).suffix == "link_f3"
    pairs = {
        "phases": (15, 14),
        "urgency_classes": (2, 4),
        "packet_flits": (9, 10),
        "round_trip_cycles": (40, 41),
        "buffer_packets": (10, 11),
        "ack_interval": (15, 14),
        "window_packets": (32, 64),
        "timeout_cycles": (1000, 1001),
        "nack_timeout_cycles": (60, 61),
        "packet_timeout_cycles": (100, 101),
        "head_of_line_timeout_cycles": (1000, 1001),
    }
    assert pairs.keys() == ProtocolSpec.model_fields.keys()
    default = ProtocolSpec().for_ports(0)
    names = {
        ProtocolSpec.model_validate({name: other}).suffix
        for name, pair in pairs.items()
        for other in pair
        if other != getattr(default, name)
    }
    assert "link" not in names
    assert {name.removeprefix("link_")[0] for name in names} == set("fukrbawtips")


@pytest.mark.parametrize(
    ("ports", "flits", "interval"),
    [
        *((ports, 8, 16) for ports in (2, 4, 12, 21)),
        *((ports, 16, 16) for ports in (22, 32, 42)),
        # (6 x ports + 2) / packet_flits, rounded up, while the window lasts.
        *((22, 8, 17), (24, 8, 19), (32, 8, 25), (48, 16, 19), (64, 16, 25)),
        *((48, 8, 29), (64, 8, 32)),
    ],
)
def test_auto_is_the_least_interval_of_the_highest_rate(
    ports: int, flits: int, interval: int
) -> None:
    protocol = ProtocolSpec(packet_flits=flits)
    spec = SwitchSpec(ports=ports, protocol=protocol)
    assert spec.protocol.ack_interval == interval
    numbered = ProtocolSpec(packet_flits=flits, ack_interval=interval)
    assert spec == SwitchSpec(ports=ports, protocol=numbered)
    rates = [protocol.acked_rate(ports, each) for each in range(16, 52)]
    assert protocol.acked_rate(ports, interval) == max(rates)
    assert rates.index(max(rates)) == interval - 16


@given(ports=st.integers(2, 64), flits=st.integers(6, 16), window=st.sampled_from([32, 64]))
def test_auto_is_never_more_than_the_window_lasts_for(ports: int, flits: int, window: int) -> None:
    protocol = ProtocolSpec(packet_flits=flits, window_packets=window, round_trip_cycles=37)
    spec = SwitchSpec(ports=ports, protocol=protocol)
    again = SwitchSpec.model_validate(spec.model_dump())
    assert again == spec and spec.protocol.replay_needed <= window


def test_auto_becomes_a_number_in_each_specification_but_its_own() -> None:
    assert ProtocolSpec().ack_interval == AUTO
    assert MeshSpec(width=8, height=8).protocol.ack_interval == 16
