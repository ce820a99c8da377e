"""Tests of fred_hw.wafer.rings: what endpoints do for phases that switches only route."""

import re
from pathlib import Path

import pytest

from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import Strategy
from fred_hw.wafer.load import load_wafer
from fred_hw.wafer.program import WaferProgram, compile_strategy
from fred_hw.wafer.rings import check_rings, levels_of
from tests.fred_hw.wafer.test_plane import plane

WAFER = Path(__file__).parents[3] / "examples/wafer-20.yaml"
FLIT = 512


def program(strategy: str, flits: int) -> WaferProgram:
    wafer, parsed = load_wafer(str(WAFER)), Strategy.parse(strategy)
    return compile_strategy(wafer, parsed, FLIT * flits, collectives="ring")


def test_members_of_a_switch_stand_together() -> None:
    one = plane("wafer-20")
    assert levels_of(one, range(20)) == [list(range(4 * k, 4 * k + 4)) for k in range(5)]
    assert levels_of(one, [0, 4, 8]) == [[0, 4, 8]]  # one on each
    assert levels_of(one, [3, 4, 5]) == [[3, 4, 5]]  # not alike
    assert levels_of(one, [0, 4, 1, 5, 8]) == [[0, 1, 4, 5, 8]]
    assert levels_of(one, [0, 1, 2]) == [[0, 1, 2]]  # on one switch


def test_a_ring_goes_from_each_member_to_the_next() -> None:
    made = program("MP2-DP5-PP2", 1000)
    phase = made.phase("dp_all_reduce")
    (part,) = made.descriptors(8, phase)
    assert part.send and part.receive and part.ring
    assert (part.send.number, part.receive.number) == (12, 4)
    assert part.send.unicast and part.receive.unicast
    assert (part.ring.members, part.ring.rank, part.ring.fsms) == (5, 2, 4)
    assert part.ring.message_bytes == 128 // 5 * FLIT  # of five, a slot has space
    assert (part.source, part.destination) == made.buffers(phase)
    assert phase.rounds == ()


def test_messages_of_little_data_are_short_so_that_all_state_machines_work() -> None:
    made = program("MP2-DP1-PP1", 40)
    (part,) = made.descriptors(0, made.phase("mp_all_reduce"))
    assert part.ring and part.ring.message_bytes == 5 * FLIT  # 4 x 5 are a block


def test_all_npus_go_around_in_two_levels() -> None:
    made = program("MP20-DP1-PP1", 42)
    phase = made.phase("mp_all_reduce")
    source, destination = made.buffers(phase)
    first, across, last = made.descriptors(7, phase)
    names = [one.operation for one in (first, across, last)]
    assert names == ["reduce_scatter", "all_reduce", "all_gather"]
    assert (first.source, first.destination) == (source, destination)
    assert (last.source, last.destination) == (destination, destination)
    # Member 3 of its L1 has the last block, which is shorter: 11, 11, 11 and 9 flits.
    assert across.source == across.destination
    assert (across.source.address, across.source.size) == (
        destination.address + 33 * FLIT,
        9 * FLIT,
    )
    assert across.send and across.send.number == 11 and first.send and first.send.number == 4


def test_a_block_that_is_empty_goes_nowhere() -> None:
    made = program("MP20-DP1-PP1", 2)
    phase = made.phase("mp_all_reduce")
    assert [len(made.descriptors(npu, phase)) for npu in range(4)] == [3, 3, 2, 2]


def test_copies_go_to_one_after_the_other_while_others_come() -> None:
    made = program("MP2-DP1-PP3", 4)
    forward = made.phase("pp_forward")
    sent = made.descriptors(0, forward)
    assert [one.send and one.send.number for one in sent] == [2, 3]
    both = made.descriptors(2, forward)  # the second stage passes on, and receives
    assert [one.send and one.send.number for one in both] == [4, 5]
    assert [one.receive and one.receive.number for one in both] == [0, None]
    (last,) = made.descriptors(5, forward)
    assert last.send is None and last.receive and last.receive.number == 2


def test_program_says_how_many_descriptors_a_phase_takes() -> None:
    said = program("MP2-DP1-PP2", 4).to_dict()
    assert said["collectives"] == "ring"
    assert said["endpoints"]["npu0"]["phases"]["pp_forward"]["descriptors"] == 2
    assert said["endpoints"]["npu2"]["phases"]["pp_forward"]["sends"] is None
    assert not any(one["phases"] for one in said["switches"].values())


def test_what_a_group_scatters_and_gathers_is_one_ring() -> None:
    """Also on several switches; switches take a step for each member."""
    made = program("MP8-DP2-PP1-SP", 42)
    names = [one.name for one in made.phases]
    assert names == ["sp_reduce_scatter", "sp_all_gather", "dp_all_reduce"]
    assert [one.number for one in made.phases] == [0, 1, 2]
    scatter, gather = made.phases[:2]
    (first,), (last,) = made.descriptors(3, scatter), made.descriptors(3, gather)
    assert (first.operation, last.operation) == ("reduce_scatter", "all_gather")
    assert (first.source, first.destination) == made.buffers(scatter)
    assert last.source == last.destination == made.buffers(gather)[1]
    for one in (first, last):
        assert one.ring and (one.ring.members, one.ring.rank) == (8, 3)
        assert one.send and one.receive and (one.send.number, one.receive.number) == (4, 2)
    said = made.to_dict()["phases"]
    assert [one.get("pattern") for one in said] == ["reduce_scatter", "all_gather", None]
    assert said[0]["flows"][0]["inputs"] == list(range(8))


def test_steps_of_an_all_to_all_stay_what_they_are() -> None:
    names = [one.name for one in program("MP1-DP4-PP1-EP4", 4).phases]
    assert names == ["dp_all_reduce", *(f"ep_all_to_all_{away}" for away in (1, 2, 3))]


def test_what_rings_cannot_do_is_refused() -> None:
    message = (
        "phase one must copy, or reduce to all that it reduces, with rings, not reduce [0, 1] to "
        "[0]"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        check_rings(plane("wafer-20"), "one", [Flow((0, 1), (0,))])
    small = load_wafer(str(WAFER), {"endpoint": {"chunk_flits": 3}})
    message = (
        "phase mp_all_reduce of MP4-DP1-PP1 must have at most 3 NPUs in a ring, which have a flit "
        "each in a slot, not 4"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        compile_strategy(small, Strategy.parse("MP4-DP1-PP1"), FLIT, collectives="ring")
    with pytest.raises(ValueError, match=r" at most 3 NPUs in a ring, .*, not 8$"):
        compile_strategy(small, Strategy.parse("MP8-DP1-PP1-SP"), FLIT, collectives="ring")
    with pytest.raises(
        ValueError, match=r"^collectives must be one of in-network, ring, not 'star'$"
    ):
        compile_strategy(small, Strategy.parse("MP4-DP1-PP1"), FLIT, collectives="star")
