"""Tests of fred_hw.compiler.collective_phases."""

from fred_hw.compiler.collective_phases import collective_phases
from fred_hw.compiler.placement import Strategy, ep_groups, mp_groups, phases


def test_steps_of_switches_are_one_collective_of_groups() -> None:
    strategy = Strategy.parse("MP2-DP4-PP2-EP4-SP")
    found = collective_phases(strategy)
    assert list(found) == [
        "sp_reduce_scatter",
        "sp_all_gather",
        "dp_all_reduce",
        "pp_forward",
        "pp_backward",
        "ep_all_to_all",
    ]
    assert found["sp_reduce_scatter"] == ("reduce_scatter", mp_groups(strategy))
    assert found["sp_all_gather"] == ("all_gather", mp_groups(strategy))
    assert found["ep_all_to_all"] == ("all_to_all", ep_groups(strategy))


def test_what_switches_do_in_one_phase_keeps_its_name() -> None:
    strategy = Strategy.parse("MP2-DP2-PP2")
    found = collective_phases(strategy)
    assert list(found) == list(phases(strategy))
    assert found["mp_all_reduce"] == ("all_reduce", mp_groups(strategy))
    assert found["pp_forward"] == ("multicast", phases(strategy)["pp_forward"])
