"""Contract of fred_hw.endpoint.route_keeper: when a flow may change its route, and to which."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from fred_hw.endpoint.route_keeper import RouteKeeper
from fred_hw.link.crowding import CROWDING_PLACES
from fred_hw.mesh.spec import MeshSpec
from tests.fred_hw.simulation import known, trace
from tests.fred_hw.specs import LINK

MESH = MeshSpec(width=4, height=3, lanes=1, routing="odd_even_adaptive")
SPEC = MESH.link
ONLINE = SPEC.protocol.online
HERE, THERE = 0, 7  # from the north-west corner to the east of the row below
NAMED, OTHER = (
    MESH.plan.units[HERE].ports[MESH.plan.exit(HERE, HERE, THERE, alternate=alternate)]
    for alternate in (False, True)
)
BLOCKED = 8
FLOW = {"address": HERE, "flow.peer": THERE, "flow.phase": ONLINE}


def crowded(**directions: int) -> dict[str, int]:
    return {f"crowding.{name}": directions.get(name, 0) for name in CROWDING_PLACES}


FREE, FULL = crowded(), crowded(**{NAMED: 3, OTHER: 1})
STUCK, BOTH = crowded(**{NAMED: BLOCKED}), crowded(**{NAMED: BLOCKED, OTHER: BLOCKED})


def run(inputs: Sequence[Mapping[str, int]], watch: Sequence[str] = ("alternate",)) -> list[Any]:
    """Return what the keeper shows; inputs stay until they are given anew, strobes for a cycle."""
    strobes = dict.fromkeys(("begins", "again", "acknowledged", "load", "rst"), 0)
    kept: dict[str, int] = {**FLOW, **FREE, "oldest": 0, "begun": 0, "number": 0}
    cycles = []
    for one in inputs:
        kept |= {name: value for name, value in one.items() if name not in strobes}
        cycles.append({**kept, **strobes, **one})
    return trace(known(RouteKeeper(spec=SPEC)), cycles, watch)


BEGIN = {"begins": 1}


def test_both_ports_of_the_first_router_are_looked_at() -> None:
    assert {NAMED, OTHER} == {"east", "south"}


@pytest.mark.parametrize(
    ("crowding", "alternate"),
    [
        pytest.param(FREE, 0, id="none is crowded"),
        pytest.param(FULL, 1, id="more wait for the named one"),
        pytest.param(crowded(**{NAMED: 1, OTHER: 3}), 0, id="more wait for the other one"),
        pytest.param(crowded(**{NAMED: 3, OTHER: 3}), 0, id="as many wait for both"),
        pytest.param(crowded(**{NAMED: 7, OTHER: BLOCKED}), 0, id="the other one is blocked"),
        pytest.param(crowded(north=15, west=15), 0, id="other routes are crowded"),
    ],
)
def test_the_first_packet_takes_the_less_crowded_way(
    crowding: Mapping[str, int], alternate: int
) -> None:
    assert run([crowding, BEGIN, {"begun": 1}])[1:] == [alternate] * 2


def test_latency_from_what_the_router_tells_to_the_choice_is_a_cycle() -> None:
    assert run([FREE, FULL | BEGIN, FULL | BEGIN]) == [0, 0, 1]


def test_the_way_stays_while_a_packet_is_not_acknowledged() -> None:
    later = [{**FREE, "begun": 1}, BEGIN, {"begun": 2}, {"oldest": 1}, BEGIN, {"begun": 3}]
    assert run([FULL, BEGIN, *later])[1:] == [1] * 7
    # When all are, the next one chooses anew.
    assert run([FULL, BEGIN, *later, {"oldest": 3}, BEGIN])[-2:] == [1, 0]


def doubted(*behind: Mapping[str, int]) -> list[Any]:
    """Let packets 0 and 1 take the other route, and 0 be sent twice; return what comes then."""
    first = [FULL, BEGIN, {**FREE, "begun": 1}, BEGIN, {"begun": 2}, {"again": 1}]
    return run([*first, *behind], ("alternate", "kept.doubtful"))[len(first) :]


def test_a_copy_may_be_under_way_though_all_packets_are_acknowledged() -> None:
    acks = [{"acknowledged": 1, "number": 2}, {"oldest": 2}]
    assert doubted(*acks, BEGIN, {"begun": 3}) == [(1, 1)] * 4


def test_the_ack_of_a_packet_first_sent_behind_all_copies_says_that_none_is() -> None:
    sent = [{"acknowledged": 1, "number": 2}, {"oldest": 2}, BEGIN, {"begun": 3}]
    acked = [{"acknowledged": 1, "number": 3}, {"oldest": 3}, BEGIN]
    assert doubted(*sent, *acked)[-3:] == [(1, 1), (1, 0), (0, 0)]


def test_a_packet_that_begins_as_others_are_sent_again_is_no_proof() -> None:
    # It left before they did.
    first = [FULL, BEGIN, {**FREE, "begun": 1}, {"begins": 1, "again": 1}, {"begun": 2}]
    acked = [{"acknowledged": 1, "number": 2}, {"oldest": 2}, BEGIN, {"begun": 3}]
    proof = [{"acknowledged": 1, "number": 3}, {"oldest": 3}, BEGIN]
    found = run([*first, *acked, *proof], ("alternate",))
    assert found[1:] == [1] * 10 + [0]


def test_numbers_come_round_behind_copies() -> None:
    # All numbers but the last one are those of before.
    first = [{"oldest": 255, "begun": 255}, {"begins": 1}, {"begun": 0, "again": 1}]
    acked = [{"acknowledged": 1, "number": 0}, {"oldest": 0}, BEGIN, {"begun": 1}]
    proof = [{"acknowledged": 1, "number": 1}, {"oldest": 1}]
    found = run([*first, *acked, *proof], ("kept.doubtful",))
    assert found == [0, 0, 0, 1, 1, 1, 1, 1, 0]


def test_a_flow_that_is_blocked_holds_until_all_is_acknowledged_and_takes_the_other_way() -> None:
    begun = [BEGIN, {**STUCK, "begun": 1}, {}, {}, {}]
    found = run([*begun, {"oldest": 1}, BEGIN, {"begun": 2, **FREE}], ("holds", "alternate"))
    # Two cycles from what the router tells.
    assert found == [(0, 0)] * 3 + [(1, 0)] * 2 + [(0, 0), (0, 1), (0, 1)]


@pytest.mark.parametrize("crowding", [BOTH, crowded(**{NAMED: 7})], ids=["both blocked", "crowded"])
def test_a_flow_goes_on_where_the_other_way_is_no_better_or_its_own_moves(
    crowding: Mapping[str, int],
) -> None:
    found = run([BEGIN, {**crowding, "begun": 1}, *[{}] * 5], ("holds",))
    assert found == [0] * 7


def test_a_flow_does_not_hold_while_copies_may_be_under_way() -> None:
    held = [BEGIN, {**STUCK, "begun": 1}, {}, {}, {"again": 1}, {}, {}]
    assert run(held, ("holds",)) == [0, 0, 0, 1, 1, 0, 0]


def test_another_flow_has_its_own_way_and_doubt() -> None:
    load = {"load": 1, "first": 9, "stored.alternate": 1, "stored.doubtful": 1}
    at = {"oldest": 9, "begun": 9}
    found = run([{}, load, at, at | BEGIN], ("alternate", "kept.doubtful"))
    assert found[2:] == [(1, 1)] * 2


def test_a_phase_has_no_choice() -> None:
    found = run([FULL | {"flow.phase": 0}, {"flow.phase": 0, **BEGIN}])
    assert found == [0] * 2


def test_throughput_is_a_packet_in_each_cycle() -> None:
    # Each is acknowledged at once, and chooses anew by what was told in the cycle before.
    told = [FULL, FREE, FULL, FULL, FREE]
    inputs = [{**one, "oldest": k, "begun": k, **BEGIN} for k, one in enumerate(told)]
    assert run(inputs)[1:] == [1, 0, 1, 1]


def test_reset_forgets_way_doubt_and_hold() -> None:
    begun = [FULL, BEGIN, {**STUCK, "begun": 1}, {"again": 1}, {}]
    found = run(
        [*begun, {"rst": 1}, {"oldest": 0, "begun": 0}], ("kept.alternate", "kept.doubtful")
    )
    assert found[4:6] == [(1, 1), (1, 1)]
    assert found[6] == (0, 0)


def test_a_link_whose_sources_do_not_choose_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"^RouteKeeper spec must be of a mesh whose sources choose"
    ):
        RouteKeeper(spec=LINK)
