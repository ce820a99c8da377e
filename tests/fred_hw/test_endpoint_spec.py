"""Tests of fred_hw.endpoint_spec."""

import pytest

from fred_hw.endpoint_spec import EndpointSpec
from fred_hw.errors import InputError
from fred_hw.files import validate
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec


def test_default_is_not_said_and_others_are_kept() -> None:
    plain = SwitchSpec(ports=4)
    assert "endpoint" not in plain.model_dump()
    other = validate(SwitchSpec, {"ports": 4, "endpoint": {"fsms": 2}}, "here")
    assert SwitchSpec.model_validate(other.model_dump()) == other
    assert other.with_changes(lanes=2).endpoint.fsms == 2
    assert other.endpoint.suffix == "ace_m2"


def test_one_port_to_read_is_not_said_and_two_are() -> None:
    """Files that say other sizes of an endpoint are as they were before there was a choice."""
    one, two = (EndpointSpec(fsms=2, read_ports=ports) for ports in (1, 2))
    assert "read_ports" not in one.model_dump() and one.suffix == "ace_m2"
    assert two.model_dump()["read_ports"] == 2 and two.suffix == "ace_m2_p2"
    for each in (one, two):
        assert EndpointSpec.model_validate(each.model_dump()) == each


def test_endpoint_without_a_schedule_table_does_not_say_so() -> None:
    without, table = (EndpointSpec(fsms=2, schedule_entries=entries) for entries in (0, 64))
    assert "schedule_entries" not in without.model_dump() and without.suffix == "ace_m2"
    assert table.model_dump()["schedule_entries"] == 64 and table.suffix == "ace_m2_e64"
    assert EndpointSpec.model_validate(table.model_dump()) == table


@pytest.mark.parametrize(
    ("endpoint", "message"),
    [
        (
            {"schedule_entries": 257},
            "endpoint.schedule_entries: must be an integer from 0 to 256, not 257",
        ),
        ({"fsms": 0}, "endpoint.fsms: must be an integer from 1 to 16, not 0"),
        ({"fsms": 9}, "endpoint.slots: must be 9 or more, as each of fsms owns one, not 8"),
        ({"chunk_flits": 1}, "endpoint.chunk_flits: must be an integer from 2 to 4096, not 1"),
        (
            {"replay_packets": 3},
            "endpoint.replay_packets: must be 0 or a power of two from 2 to 64, not 3",
        ),
        (
            {"replay_packets": 64},
            "endpoint.replay_packets: must be 0 or at most window_packets 32, not 64",
        ),
        ({"read_ports": 3}, "endpoint.read_ports: must be an integer from 1 to 2, not 3"),
        ({"read_ports": "2"}, "endpoint.read_ports: must be an integer from 1 to 2, not '2'"),
        ({"memory_reads": 1}, "endpoint.memory_reads: must be an integer from 2 to 256, not 1"),
    ],
)
def test_what_is_refused(endpoint: dict[str, object], message: str) -> None:
    data = {"ports": 4, "protocol": {"window_packets": 32}, "endpoint": endpoint}
    with pytest.raises(InputError) as caught:
        validate(SwitchSpec, data, "here")
    assert message in str(caught.value)


def test_replay_that_full_rate_needs() -> None:
    """16 packets of an ack, 6 of 8 flits in 47 cycles, twice, and one that has begun."""
    assert ProtocolSpec().replay_needed == 29
    assert [ProtocolSpec().replay_for(cycles) for cycles in (0, 1, 8, 9)] == [17, 18, 18, 19]
