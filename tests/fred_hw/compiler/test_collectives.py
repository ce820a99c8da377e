"""Tests of fred_hw.compiler.collectives."""

import re
from collections import Counter
from typing import Any

import pytest

from fred_hw.compiler.collectives import COLLECTIVES, collective_steps
from fred_hw.compiler.flows import Flow, check_flows
from fred_hw.compiler.routing import route

GROUP = (6, 1, 4, 3)
SINGLE = ("unicast", "multicast", "reduce", "all_reduce")
Holdings = dict[int, dict[tuple[int, int], Counter[int]]]


def run(kind: str, steps: tuple[tuple[Flow, ...], ...]) -> Holdings:
    """Move symbols: what each port got, by step and place in it, as counts of contributors."""
    got: Holdings = {port: {} for port in GROUP}
    for step, flows in enumerate(steps):
        for place, flow in enumerate(flows):
            for port in flow.outputs:
                got[port][step, place] = Counter(flow.inputs)
    return got


@pytest.mark.parametrize("kind", COLLECTIVES)
def test_steps_are_as_many_as_the_table_says(kind: str) -> None:
    steps = collective_steps(kind, GROUP)
    assert len(steps) == (1 if kind in SINGLE else len(GROUP))
    assert all(check_flows(step, 8) == step for step in steps)


@pytest.mark.parametrize("kind", COLLECTIVES)
@pytest.mark.parametrize("middle_switches", [2, 3])
def test_every_step_routes(kind: str, middle_switches: int) -> None:
    for step in collective_steps(kind, GROUP):
        assert route(step, 8, middle_switches).status == "routed"


def test_reduce_scatter_gives_each_member_every_contribution_to_its_element_once() -> None:
    got = run("reduce_scatter", collective_steps("reduce_scatter", GROUP))
    for rank, port in enumerate(GROUP):
        assert got[port] == {(rank, 0): Counter(GROUP)}


def test_all_reduce_gives_every_member_every_contribution_once() -> None:
    got = run("all_reduce", collective_steps("all_reduce", GROUP))
    assert all(held == {(0, 0): Counter(GROUP)} for held in got.values())


def test_all_gather_gives_every_member_the_elements_of_the_others() -> None:
    got = run("all_gather", collective_steps("all_gather", GROUP))
    for port in GROUP:
        assert got[port] == {(s, 0): Counter([o]) for s, o in enumerate(GROUP) if o != port}


def test_all_to_all_moves_an_element_between_every_ordered_pair_once() -> None:
    steps = collective_steps("all_to_all", GROUP)
    moved = Counter((flow.inputs, flow.outputs) for step in steps for flow in step)
    assert moved == Counter(((a,), (b,)) for a in GROUP for b in GROUP)
    for step, flows in enumerate(steps):
        for rank, flow in enumerate(flows):
            assert flow == Flow((GROUP[rank],), (GROUP[(rank + step) % len(GROUP)],))


@pytest.mark.parametrize("root", [6, 4, 7])
def test_rooted_collectives_start_or_end_at_the_root(root: int) -> None:
    others = tuple(member for member in GROUP if member != root)
    assert collective_steps("multicast", GROUP, root) == ((Flow((root,), others),),)
    assert collective_steps("reduce", GROUP, root) == ((Flow(GROUP, (root,)),),)
    assert collective_steps("scatter", GROUP, root) == tuple((Flow((root,), (k,)),) for k in GROUP)
    assert collective_steps("gather", GROUP, root) == tuple((Flow((k,), (root,)),) for k in GROUP)
    assert collective_steps("unicast", GROUP, root) == ((Flow((root,), others[:1]),),)


@pytest.mark.parametrize("kind", COLLECTIVES)
def test_the_first_member_is_the_root_by_default(kind: str) -> None:
    if kind in ("all_reduce", "reduce_scatter", "all_gather", "all_to_all"):
        with pytest.raises(
            ValueError, match=f"^root must be left out of collective {kind}, not 6$"
        ):
            collective_steps(kind, GROUP, 6)
    else:
        assert collective_steps(kind, GROUP) == collective_steps(kind, GROUP, GROUP[0])


@pytest.mark.parametrize(("kind", "steps"), [("scatter", 3), ("gather", 3), ("all_to_all", 3)])
def test_without_loopback_nothing_goes_to_its_own_port(kind: str, steps: int) -> None:
    found = collective_steps(kind, GROUP, loopback=False)
    assert len(found) == steps
    assert all(flow.inputs != flow.outputs for step in found for flow in step)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (
            ("broadcast", (0, 1)),
            ValueError,
            f"collective must be one of {', '.join(COLLECTIVES)}, not 'broadcast'",
        ),
        (("reduce", (0, 1, 0)), ValueError, "members must be different ports, not [0, 1, 0]"),
        (
            ("reduce", (0,)),
            ValueError,
            "members must be at least two ports, including the root, not [0]",
        ),
        (
            ("reduce", (), 1),
            ValueError,
            "members must be at least two ports, including the root, not []",
        ),
        (("reduce", (0, 1), -1), ValueError, "root must be 0 or more, not -1"),
        (("reduce", (0, True)), TypeError, "member must be an integer, not True"),
    ],
)
def test_bad_argument_is_refused(arguments: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{re.escape(message)}$"):
        collective_steps(*arguments)
