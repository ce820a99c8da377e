"""Tests of fred_hw.wafer.rounds and .phase: who goes in which round, and who waits for whom."""

from collections.abc import Iterator
from functools import cache
from itertools import pairwise, product

import pytest

from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import Strategy, strategies
from fred_hw.wafer.flows import NoPathError
from fred_hw.wafer.load import load_wafer
from fred_hw.wafer.phase import Part, Phase, switched_phases
from fred_hw.wafer.plane import Plane
from fred_hw.wafer.program import WaferProgram, compile_strategy
from fred_hw.wafer.rounds import find_rounds
from fred_hw.wafer.spec import WaferSpec
from testbench.models.golden import walk
from testbench.models.golden_plane import walk_phase
from tests.fred_hw.wafer.test_plane import EXAMPLES, plane

FLIT = 512
Place = tuple[int, int]
"""An end, and which of its parts of a phase."""


@cache
def narrow() -> Plane:
    return Plane(load_wafer(str(EXAMPLES / "wafer-20-narrow.yaml")))


def program(strategy: str, flits: int = 8) -> WaferProgram:
    return compile_strategy(narrow().wafer, Strategy.parse(strategy), FLIT * flits)


def check_ways(one: Plane, phase: Phase) -> None:
    """See that each end gets what it should, in one round, and that rounds have all flows."""
    assert sorted(flow for part in phase.rounds for flow in part.flows) == sorted(phase.flows)
    for entry in phase.entries:
        inputs = {npu: {npu} for flow in entry.flows for npu in flow.inputs}
        found = walk_phase(
            one, entry.paths, inputs, lambda _, way, values: walk(way, values, set.union)
        )
        assert found == {npu: {*flow.inputs} for flow in entry.flows for npu in flow.outputs}


def waits(phase: Phase, ends: int) -> dict[Place, set[Place]]:
    """Return the parts that each part of a phase waits for, directly."""
    parts = {end: phase.parts(end) for end in range(ends)}
    found: dict[Place, set[Place]] = {}
    for end, own in parts.items():
        for number, part in enumerate(own):
            found[end, number] = {(end, number - 1)} if number else set()
            if part.receives is not None and not part.whole:
                found[end, number] |= {*others(phase, parts, end, part.receives, "inputs")}
            if number and (sent := own[number - 1].sends) is not None and part.sends is not None:
                # Another flow is begun when all ends of the one before have what was sent.
                found[end, number] |= {*others(phase, parts, end, sent, "outputs")}
    return found


def others(phase: Phase, parts: dict, end: int, number: int, side: str) -> Iterator[Place]:
    """Yield the parts of who sends to an end under a number, or receives of it."""
    (entry,) = (one for one in phase.entries if one.number == number)
    own, has = ("outputs", "sends") if side == "inputs" else ("inputs", "receives")
    (flow,) = (flow for flow in entry.flows if end in getattr(flow, own))
    for other in getattr(flow, side):
        yield other, next(k for k, one in enumerate(parts[other]) if getattr(one, has) == number)


def before(known: dict[Place, set[Place]], place: Place) -> set[Place]:
    """Return all that is over before a part is."""
    found, left = set[Place](), [place]
    while left:
        new = known[left.pop()] - found
        found |= new
        left += new
    return found


def check_order(one: Plane, phase: Phase) -> None:
    """See that what is joined elsewhere goes over the links of a switch in the order of rounds.

    And that whoever has done all knows that all rounds of its switch are over.
    """
    known = waits(phase, one.wafer.endpoints)
    exchange = {end: place for place in known for end in [place[0]] if whole(phase, place)}
    own: dict[int, list[tuple[int, Flow, list[int]]]] = {}
    for number, part in enumerate(phase.rounds):
        for flow in part.flows:
            homes = {npu: one.units[one.homes[npu][0]].switch for npu in flow.inputs}
            for switch in {*homes.values()} if len({*homes.values()}) > 1 else ():
                members = [npu for npu, at in homes.items() if at == switch]
                own.setdefault(switch, []).append((number, flow, members))
    for (r, earlier, first), (s, later, second) in (
        pair for groups in own.values() for pair in product(groups, groups)
    ):
        if r >= s:
            continue
        for npu in second:
            assert before(known, exchange[npu]) & {exchange[member] for member in earlier.inputs}
        for npu in first:
            last = npu, len(phase.parts(npu)) - 1
            assert before(known, last) & {exchange[member] for member in later.inputs}

    check_crossing(one, phase, known, exchange)


def check_crossing(
    one: Plane, phase: Phase, known: dict[Place, set[Place]], exchange: dict[int, Place]
) -> None:
    """See that flits across the top have come when somebody begins where they come from."""
    parts = {end: phase.parts(end) for end in range(one.wafer.endpoints)}
    homes = [one.units[chiplet].switch for chiplet, _ in one.homes]
    tokens = [(e.number, flow) for e in phase.entries if ":token" in e.name for flow in e.flows]
    for number, flow in tokens:
        if len({homes[npu] for npu in (*flow.inputs, *flow.outputs)}) == 1:
            continue
        came = {*others(phase, parts, flow.inputs[0], number, "outputs")}
        begun = [o.outputs for n, o in tokens if n != number and {*o.inputs} <= {*flow.inputs}]
        assert len(begun) == len({homes[npu] for npu in flow.inputs})
        for npu in (npu for own in begun for npu in own):
            assert came <= before(known, exchange[npu])


def whole(phase: Phase, place: Place) -> bool:
    return phase.parts(place[0])[place[1]].whole


@pytest.mark.parametrize("strategy", ["MP2-DP5-PP2", "MP3-DP3-PP2", "MP1-DP2-PP10"])
def test_groups_take_rounds_on_one_link(strategy: str) -> None:
    for phase in switched_phases(narrow(), Strategy.parse(strategy)):
        check_ways(narrow(), phase)
        check_order(narrow(), phase)


def test_rounds_of_published_strategies_are_known() -> None:
    made = program("MP2-DP5-PP2")
    assert {one.name: (one.number, len(one.rounds)) for one in made.phases} == {
        "mp_all_reduce": (0, 1),
        "dp_all_reduce": (1, 4),
        "pp_forward": (7, 1),
        "pp_backward": (8, 1),
    }
    told = made.phase("dp_all_reduce").switched
    assert [len(one.flows) for one in (*told.tokens, *told.ends)] == [15, 5]
    assert {Flow([0], [1]), Flow([18], [19])} <= {*told.tokens[0].flows}
    assert Flow([7], [4, 5, 6]) in told.ends[0].flows
    made = program("MP3-DP3-PP2")
    assert [len(one.rounds) for one in made.phases] == [2, 6, 1, 1]
    # Those of the first round that share no link with one of the second wait for nobody.
    assert made.phase("mp_all_reduce").parts(0) == made.phase("mp_all_reduce").parts(9)
    assert len(made.phase("mp_all_reduce").parts(0)) == 1
    # One on a switch without a round before begins with the others of its flow, not long before.
    told = made.phase("mp_all_reduce").switched, made.phase("dp_all_reduce").switched
    tokens = [one.flows for one in told[0].tokens]
    assert tokens == [(Flow([4], [8]),), (Flow([4], [6, 7]),)]
    assert [one.flows for one in told[0].ends] == [(Flow([6], [4, 5]),)]
    # Behind the fourth round the second is over, too.
    assert told[1].tokens[0].flows == (Flow([1], [8, 14]), Flow([9], [4, 16]))
    assert {Flow([1], [2]), Flow([9], [10])} <= {*told[1].tokens[1].flows}
    assert program("MP20-DP1-PP1").phase("mp_all_reduce").numbers == 1


def test_an_end_queues_its_turn_before_and_the_next_one_behind() -> None:
    made = program("MP2-DP5-PP2")
    phase, flit = made.phase("dp_all_reduce"), FLIT
    size, said = made.size, made.to_dict()
    first, second, last = (made.descriptors(npu, phase) for npu in (0, 1, 3))

    def numbers(parts: list) -> list[tuple[int | None, int | None]]:
        flows = [(one.send, one.receive) for one in parts]
        return [tuple(None if f is None else f.number for f in pair) for pair in flows]

    assert numbers(first) == [(1, 1), (5, None), (None, 6)]
    assert numbers(second) == [(None, 5), (2, 2), (5, None), (None, 6)]
    assert numbers(last) == [(None, 5), (4, 4), (6, None)]
    assert {one.circuit for one in (*first, *second, *last)} == {"dp"}
    sizes = [(one.source.size, one.destination.size) for one in second]
    assert sizes == [(0, flit), (size, size), (flit, 0), (0, flit)]
    assert (second[1].source.address, second[1].destination.address) == (2 * size, 3 * size)
    assert second[0].destination.address == 11 * size
    assert made.numbers == 9
    entries = said["phases"][1]["entries"]
    assert [one["name"] for one in entries] == [
        *(f"dp_all_reduce:round_{k}" for k in range(4)),
        "dp_all_reduce:token_0",
        "dp_all_reduce:end_0",
    ]
    assert [one["number"] for one in entries] == [1, 2, 3, 4, 5, 6]
    assert "entries" not in said["phases"][0]
    assert "dp_all_reduce:token_0" in said["switches"]["l1_0"]["phases"]
    assert "dp_all_reduce:token_0" not in said["switches"]["l2"]["phases"]
    assert said["endpoints"]["npu1"]["phases"]["dp_all_reduce"]["descriptors"] == 4
    # Beside those of routes, a step of each entry waits until it is taken.
    assert made.switch_steps(0)[-1].mask


def test_copies_share_links_and_nobody_is_reported() -> None:
    """An NPU sends in one round what it has, and receives in another, with one descriptor."""
    phases = {one.name: one for one in switched_phases(narrow(), Strategy.parse("MP2-DP8-PP1-EP4"))}
    turn = phases["ep_all_to_all_1"]
    assert len(turn.rounds) > 1 and not turn.switched.tokens
    check_ways(narrow(), turn)
    for end in range(16):
        (part,) = turn.parts(end)
        assert part.whole and part.sends is not None and part.receives is not None
    assert any(part.sends != part.receives for end in range(16) for part in turn.parts(end))


def test_tokens_to_one_end_take_successive_rounds() -> None:
    """Two flows of a round on two uplinks send tokens to the same end."""
    wide = load_wafer(str(EXAMPLES / "wafer-20.yaml")).model_dump(mode="json")
    for one in wide["switches"]:
        one["ports"] -= 2 if one["above"] else 5
        one["uplinks"] //= 2
    two = Plane(WaferSpec.model_validate(wide))
    shared = 0
    for name in ("MP3-DP3-PP2", "MP6-DP3-PP1", "MP3-DP2-PP3"):
        for phase in switched_phases(two, Strategy.parse(name)):
            check_ways(two, phase)
            if len(phase.rounds) > 1:
                check_order(two, phase)
                shared += 1
    assert shared == 3


@pytest.mark.slow
def test_all_strategies_of_twenty_npus_fit_but_two_on_one_link() -> None:
    """On the published fabric four need rounds, with one link 77; all have their order."""
    counts, refused = [], []
    for one in (plane("wafer-20"), narrow()):
        in_rounds = 0
        for strategy in strategies(20):
            phases = switched_phases(one, strategy)
            if sum(phase.numbers for phase in phases) > one.wafer.protocol.phases:
                refused.append(str(strategy))
            shared = [phase for phase in phases if len(phase.rounds) > 1]
            in_rounds += bool(shared)
            for phase in shared:
                check_order(one, phase)
        counts.append(in_rounds)
    assert counts == [4, 77]
    assert refused == ["MP3-DP2-PP3", "MP5-DP2-PP2"]  # which need 17 numbers of 16


def test_without_what_is_told_the_order_is_missed() -> None:
    """The check can fail: with tokens left out, and with ends left out."""
    (phase,) = (
        one
        for one in switched_phases(narrow(), Strategy.parse("MP2-DP5-PP2"))
        if len(one.rounds) > 1
    )

    def without(kind: str) -> Phase:
        numbers = {entry.number for entry in phase.entries if kind in entry.name}

        class Broken(Phase):
            def parts(self, end: int) -> list[Part]:
                every = super().parts(end)
                return [one for one in every if not {one.sends, one.receives} & numbers]

        return Broken(phase.name, phase.circuit, phase.number, phase.flows, phase.switched)

    for kind in (":token", ":end"):
        with pytest.raises(AssertionError):
            check_order(narrow(), without(kind))
    check_order(narrow(), phase)


def test_more_numbers_than_entries_are_refused() -> None:
    wafer = narrow().wafer.with_changes(protocol={"phases": 8})
    message = (
        r"^protocol\.phases must be 9 or more for strategy MP2-DP5-PP2, not 8 "
        r"\(3 of 4 phases fit, some in rounds\)$"
    )
    with pytest.raises(ValueError, match=message):
        compile_strategy(wafer, Strategy.parse("MP2-DP5-PP2"), FLIT)


def test_flows_joined_below_shared_links_of_three_levels_are_refused() -> None:
    """Copies go in rounds there; so do flows whose sources hang on one switch."""
    one = Plane(WaferSpec.model_validate({"npus": 8, "lanes": 1, "switches": [*_high()]}))
    joined = [Flow([k, 7 - k], [k, 7 - k]) for k in range(2)]
    with pytest.raises(NoPathError, match=r"^must have at most 1 flows .*, not 2$"):
        find_rounds(one, joined, {})
    copies = find_rounds(one, [Flow([k], [7 - k]) for k in range(4)], {})
    assert len(copies.rounds) == 4 and not copies.tokens
    sums = find_rounds(one, [Flow([0, 1], [7]), Flow([2, 3], [6])], {})
    assert len(sums.rounds) == 2 and not sums.tokens


def _high() -> Iterator[dict]:
    """Yield switches of three levels with a link between any two."""
    yield {"name": "top", "chiplets": 1, "ports": 2}
    for n in range(2):
        yield {"name": f"mid_{n}", "above": "top", "chiplets": 1, "ports": 3, "uplinks": 1}
    for n in range(4):
        own = {"npus": [2 * n, 2 * n + 1], "ports": 3, "uplinks": 1, "chiplets": 1}
        yield {"name": f"low_{n}", "above": f"mid_{n // 2}", **own}


def test_one_phase_of_several_rounds_has_no_ways() -> None:
    phase = program("MP2-DP5-PP2").phase("dp_all_reduce")
    with pytest.raises(ValueError, match=r"^phase dp_all_reduce must have one round, not 4$"):
        _ = phase.paths
    assert [b.number - a.number for a, b in pairwise(phase.entries)] == [1] * 5
