"""Tests of fred_hw.link.spec."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fred_hw.errors import InputError
from fred_hw.files import validate
from fred_hw.link.spec import HEADER_BITS, LinkSpec


def test_published_sizes() -> None:
    spec = LinkSpec()
    assert spec.data_width == 4096
    assert spec.packet_flits * spec.flit_bytes == 4096  # 4 KB
    assert spec.fields == {
        "kind": 2,
        "circuit": 2,
        "phase": 5,  # 16 phases and online routing
        "sequence": 7,  # twice 32 + 7 packets
        "index": 3,
        "last": 3,
    }


@given(
    packet_flits=st.integers(1, 64),
    phases=st.integers(1, 255),
    window=st.sampled_from([64, 128, 512]),
    room=st.integers(64, 256),
)
def test_fields_fit_the_header_and_count_far_enough(
    packet_flits: int, phases: int, window: int, room: int
) -> None:
    spec = LinkSpec(
        packet_flits=packet_flits,
        phases=phases,
        window_packets=window,
        buffer_packets=room,
        round_trip_cycles=32,
    )
    fields = spec.fields
    assert sum(fields.values()) <= HEADER_BITS
    assert 1 << fields["phase"] > phases
    assert 1 << fields["sequence"] >= 2 * (window + room)
    assert 1 << fields["index"] >= packet_flits


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"flit_bytes": 0}, "flit_bytes: must be an integer from 1 to 512, not 0"),
        ({"packet_flits": 65}, "packet_flits: must be an integer from 1 to 64, not 65"),
        ({"phases": 256}, "phases: must be an integer from 1 to 255, not 256"),
        (
            {"buffer_packets": 5},
            "buffer_packets: must be 6 or more to cover 47 cycles, not 5",
        ),
        # Values that are not given are held against the others too.
        (
            {"round_trip_cycles": 400, "window_packets": 128},
            "buffer_packets: must be 50 or more to cover 400 cycles, not 7",
        ),
        (
            {"round_trip_cycles": 400},
            "window_packets: must be 67 or more to send on until an ACK of 16, not 32",
        ),
        (
            {"window_packets": 16},
            "window_packets: must be 23 or more to send on until an ACK of 16, not 16",
        ),
        ({"window_packets": 40}, "window_packets: must be a power of two such as 64, not 40"),
        ({"credits": 4}, "credits: unknown key; allowed are flit_bytes, .*"),
    ],
)
def test_impossible_link_is_refused(given: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=rf"^link\.yaml: {message}$"):
        validate(LinkSpec, given, "link.yaml")


def test_names_tell_sizes_apart() -> None:
    names = {LinkSpec(flit_bytes=n, phases=p).name for n in (4, 512) for p in (3, 4)}
    assert len(names) == 4
    assert all(re.fullmatch(r"[a-z0-9_]+", name) for name in names)
