"""Tests of fred_hw.compiler.ring_messages."""

import pytest

from fred_hw.compiler.ring_messages import message_flits
from fred_hw.endpoint_spec import EndpointSpec

ENGINE = EndpointSpec(fsms=4, slots=8, chunk_flits=128)


def test_little_data_give_each_state_machine_a_message() -> None:
    assert [message_flits(block, 4, ENGINE) for block in (1, 4, 5, 128)] == [1, 1, 2, 32]


def test_rounds_of_state_machines_are_alike_and_as_few_as_there_is_space_for() -> None:
    """Of twenty, 6 flits of each have space: 24 go in a round."""
    for block in range(1, 500):
        message = message_flits(block, 20, ENGINE)
        assert 1 <= message <= 6
        chunks = -(-block // message)
        assert -(-chunks // 4) == -(-block // 24)
        # A smaller message would take another round.
        assert message == 1 or -(-block // (message - 1)) > 4 * -(-block // 24)


def test_a_slot_without_space_for_a_flit_of_each_is_refused() -> None:
    message = r"^groups must have at most 2 NPUs, a flit of each in a slot .*, not 3$"
    with pytest.raises(ValueError, match=message):
        message_flits(1, 3, EndpointSpec(chunk_flits=2))
