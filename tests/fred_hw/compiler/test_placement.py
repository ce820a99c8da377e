"""Tests of fred_hw.compiler.placement."""

import re
from itertools import product
from typing import Any

import pytest

from fred_hw.compiler.flows import Flow, check_flows
from fred_hw.compiler.placement import (
    Strategy,
    cp_groups,
    dp_groups,
    ep_groups,
    expert_dp_groups,
    mp_groups,
    phases,
    strategies,
)
from fred_hw.compiler.routing import route
from perfmodel.workloads.file import STRATEGY


def test_text_comes_back() -> None:
    assert Strategy.parse("MP2-DP5-PP2") == Strategy(mp=2, dp=5, pp=2)
    assert str(Strategy(2, 5, 2)) == "MP2-DP5-PP2"


def test_tp_is_mp() -> None:
    for rest in ("2-DP5-PP2", "2-DP4-PP2-CP3-EP2-SP"):
        assert Strategy.parse(f"TP{rest}") == Strategy.parse(f"MP{rest}")
        assert re.fullmatch(STRATEGY, f"TP{rest}")
    assert str(Strategy.parse("TP2-DP5-PP2")) == "MP2-DP5-PP2"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "MP2",
        "P2-DP5-PP2",
        "MP2-TP2-DP5-PP2",
        "DP5-MP2-PP2",
        "MP2-DP5-PP2 ",
        "MP-1-DP1-PP1",
    ],
)
def test_other_text_is_refused(text: str) -> None:
    message = f"strategy must be of the form MP2-DP5-PP2, not {text!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Strategy.parse(text)


@pytest.mark.parametrize(
    ("sizes", "kind", "message"),
    [
        ((0, 1, 1), ValueError, "Strategy mp must be 1 or more, not 0"),
        ((1, 1.0, 1), TypeError, "Strategy dp must be an integer, not 1.0"),
        ((1, 1, True), TypeError, "Strategy pp must be an integer, not True"),
    ],
)
def test_bad_size_is_refused(sizes: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{re.escape(message)}$"):
        Strategy(*sizes)


def test_mp_neighbours_are_side_by_side_then_pp_then_dp() -> None:
    strategy = Strategy(2, 5, 2)
    assert [strategy.port(1, 0, 0), strategy.port(0, 0, 1), strategy.port(0, 1, 0)] == [1, 2, 4]
    assert mp_groups(strategy)[:2] == ((0, 1), (2, 3))
    assert dp_groups(strategy)[0] == (0, 4, 8, 12, 16)
    for groups in (mp_groups(strategy), dp_groups(strategy)):
        assert sorted(port for group in groups for port in group) == list(range(20))


@pytest.mark.parametrize(
    ("worker", "message"),
    [
        ((2, 0, 0), "worker mp must be 0 to 1, not 2"),
        ((-1, 0, 0), "worker mp must be 0 to 1, not -1"),
        ((0, 5, 0), "worker dp must be 0 to 4, not 5"),
        ((0, -1, 0), "worker dp must be 0 to 4, not -1"),
        ((0, 0, 2), "worker pp must be 0 to 1, not 2"),
        ((0, 0, -1), "worker pp must be 0 to 1, not -1"),
        ((0, 0, 0, 3), "worker cp must be 0 to 2, not 3"),
        ((0, 0, 0, -1), "worker cp must be 0 to 2, not -1"),
    ],
)
def test_worker_outside_is_refused(worker: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        Strategy.parse("MP2-DP5-PP2-CP3").port(*worker)


def test_phases_of_a_small_strategy() -> None:
    found = phases(Strategy(2, 1, 3), ports=6)
    assert found == {
        "mp_all_reduce": tuple(Flow((k, k + 1), (k, k + 1)) for k in (0, 2, 4)),
        "pp_forward": (Flow((0,), (2, 3)), Flow((2,), (4, 5))),
        "pp_backward": (Flow((2,), (0, 1)), Flow((4,), (2, 3))),
    }
    assert list(phases(Strategy(2, 2, 2))) == [
        "mp_all_reduce",
        "dp_all_reduce",
        "pp_forward",
        "pp_backward",
    ]
    assert phases(Strategy(1, 1, 1)) == {}


def test_phases_have_disjoint_flows() -> None:
    for strategy in strategies(24):
        for flows in phases(strategy).values():
            assert check_flows(flows, 24) == flows


def test_too_many_workers_are_refused() -> None:
    message = (
        r"^strategy MP2-DP5-PP2 must have at most as many workers as the switch has ports "
        r"\(19\), not 20$"
    )
    with pytest.raises(ValueError, match=message):
        phases(Strategy(2, 5, 2), ports=19)
    assert len(phases(Strategy(2, 5, 2), ports=20)) == 4


def test_all_strategies_are_found() -> None:
    sizes = range(1, 13)
    want = [Strategy(a, b, c) for a in sizes for b in sizes for c in sizes if a * b * c <= 12]
    assert list(strategies(12)) == want
    with pytest.raises(ValueError, match=r"^workers_max must be 1 or more, not 0$"):
        strategies(0)


def test_case_does_not_matter() -> None:
    assert Strategy.parse("mp2-dp5-pp2") == Strategy.parse("Tp2-Dp5-Pp2") == Strategy(2, 5, 2)
    assert Strategy.parse("mp2-dp4-pp1-cp2-sp") == Strategy.parse("MP2-DP4-PP1-CP2-SP")


def test_context_experts_and_sequence_are_in_the_text() -> None:
    for text in ("MP2-DP4-PP2-CP3-EP2-SP", "MP1-DP4-PP1-EP4", "MP2-DP1-PP1-SP", "MP1-DP1-PP1-CP2"):
        assert str(Strategy.parse(text)) == text
    assert Strategy.parse("MP2-DP4-PP1-CP1-EP1") == Strategy(2, 4, 1)
    assert Strategy(2, 4, 1).plain and not Strategy(2, 4, 1, sp=True).plain
    assert Strategy(2, 4, 3, 5, 2).workers == 2 * 4 * 3 * 5


@pytest.mark.parametrize("text", ["MP2-DP4-PP1-EP2-CP2", "MP2-DP4-PP1-SP-EP2", "MP2-DP4-PP1-CP"])
def test_other_order_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^strategy must be of the form MP2-DP5-PP2, not '"):
        Strategy.parse(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("MP1-DP6-PP1-EP4", "strategy must have an EP that divides DP, not MP1-DP6-PP1-EP4"),
        ("MP1-DP6-PP1-SP", "strategy must have MP of 2 or more with SP, not MP1-DP6-PP1-SP"),
        ("MP1-DP6-PP1-CP0", "Strategy cp must be 1 or more, not 0"),
        ("MP1-DP6-PP1-EP0", "Strategy ep must be 1 or more, not 0"),
    ],
)
def test_sizes_that_do_not_go_together_are_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        Strategy.parse(text)


def test_groups_of_context_and_experts() -> None:
    strategy = Strategy(2, 4, 1, cp=2, ep=2)
    assert mp_groups(strategy)[:2] == ((0, 1), (2, 3))
    assert cp_groups(strategy)[:2] == ((0, 2), (1, 3))
    assert dp_groups(strategy)[0] == (0, 2, 4, 6, 8, 10, 12, 14)
    assert ep_groups(strategy)[:3] == ((0, 4), (1, 5), (2, 6))
    assert expert_dp_groups(strategy)[0] == (0, 2, 8, 10)
    groups_of = (mp_groups, dp_groups, cp_groups, ep_groups, expert_dp_groups)
    for one in (strategy, Strategy(1, 6, 2, cp=2, ep=3), Strategy(3, 2, 2, sp=True)):
        for groups in groups_of:
            assert sorted(port for g in groups(one) for port in g) == list(range(one.workers))


def test_phases_of_context_and_experts() -> None:
    assert phases(Strategy(1, 2, 1, cp=2, ep=2)) == {
        "dp_all_reduce": (Flow((0, 1, 2, 3), (0, 1, 2, 3)),),
        "cp_reduce_scatter_0": (Flow((0, 1), (0,)), Flow((2, 3), (2,))),
        "cp_reduce_scatter_1": (Flow((0, 1), (1,)), Flow((2, 3), (3,))),
        "cp_all_gather_0": (Flow((0,), (1,)), Flow((2,), (3,))),
        "cp_all_gather_1": (Flow((1,), (0,)), Flow((3,), (2,))),
        "ep_all_to_all_1": (
            Flow((0,), (2,)), Flow((2,), (0,)), Flow((1,), (3,)), Flow((3,), (1,)),
        ),
        "ep_all_reduce": (Flow((0, 1), (0, 1)), Flow((2, 3), (2, 3))),
    }  # fmt: skip
    assert list(phases(Strategy(2, 1, 1, sp=True))) == [
        "sp_reduce_scatter_0", "sp_reduce_scatter_1", "sp_all_gather_0", "sp_all_gather_1",
    ]  # fmt: skip


WIDER = [
    Strategy(mp, dp, pp, cp, ep, sp)
    for mp, dp, pp, cp in product((1, 2, 4), (1, 2, 4, 6), (1, 2), (1, 2, 3))
    if mp * dp * pp * cp <= 16
    for ep in (1, 2, 3, 4)
    if dp % ep == 0
    for sp in (False, True)
    if mp > 1 or not sp
    if cp > 1 or ep > 1 or sp
]


def test_every_phase_of_context_experts_and_sequence_routes_with_three_middles() -> None:
    assert len(WIDER) > 60
    for strategy in WIDER:
        for name, flows in phases(strategy, ports=16).items():
            assert check_flows(flows, 16) == flows
            assert route(flows, 16, 3).status == "routed", (strategy, name)
