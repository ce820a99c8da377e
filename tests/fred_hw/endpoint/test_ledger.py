"""Contract of fred_hw.endpoint.ledger, cycle by cycle."""

import pytest

from fred_hw.endpoint.ledger import Ledger
from fred_hw.protocol import ADDRESSES
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import LINK

ONLINE = LINK.protocol.online
Inputs = tuple[dict[str, int], ...]


def test_latency_from_a_write_to_what_is_stored_is_a_cycle() -> None:
    inputs = [{"write": 1, "number": 5}, {}, {"flow.phase": 1}, {}]
    seen = trace(Ledger(spec=LINK), inputs, ["stored", "changed"])
    assert seen == [(0, 0), (5, 0), (0, 1), (5, 1)]


def test_throughput_is_a_number_per_cycle_each_for_the_flow_before() -> None:
    flows = [{"flow.phase": phase} for phase in range(ONLINE)]
    flows += [{"flow.phase": ONLINE, "flow.peer": peer} for peer in (0, 1, ADDRESSES - 1)]
    writes = [{}, *({"write": 1, "number": k + 1} for k in range(len(flows)))]
    inputs = [a | b for a, b in zip([*flows, {}], writes, strict=True)]
    seen = trace(Ledger(spec=LINK), [*inputs, *flows], ["stored"])
    assert seen[len(inputs) :] == [k + 1 for k in range(len(flows))]


def test_another_flow_is_looked_up_in_the_same_cycle() -> None:
    other = {"other.phase": ONLINE, "other.peer": 2}
    inputs = [{"flow.phase": ONLINE, "flow.peer": 2}, {"write": 1, "number": 7}, {}, other]
    seen = trace(Ledger(spec=LINK), inputs, ["other_stored", "other_known"])
    assert seen == [(0, 0), (0, 0), (0, 0), (7, 1)]


def test_clear_and_reset_forget() -> None:
    write = {"write": 1, "number": 3}
    for forgets in ({"clear": 1}, {"rst": 1}):
        inputs = [{}, write, {}, forgets, {}]
        assert trace(Ledger(spec=LINK), inputs, ["stored"]) == [0, 0, 3, 3, 0]


def test_clear_forgets_that_flow_alone() -> None:
    write = {"write": 1, "number": 3}
    inputs = [
        write,
        {"flow.phase": 1},
        write | {"flow.phase": 1},
        {"flow.phase": 1, "clear": 1},
        {"flow.phase": 1},
        {},
    ]
    assert trace(Ledger(spec=LINK), inputs, ["stored"])[-2:] == [0, 3]


def test_a_flow_of_another_generation_starts_at_0_and_is_another() -> None:
    inputs = [{"write": 1, "number": 3}, {}, {"flow.generation": 5}, {"flow.generation": 5}, {}]
    seen = trace(Ledger(spec=LINK), inputs, ["stored", "changed"])
    assert seen == [(0, 0), (3, 0), (0, 1), (0, 0), (0, 1)]


@pytest.mark.parametrize("away", [(), ({"flow.phase": 1},)])
@pytest.mark.parametrize("writes", [{}, {"write": 1, "number": 9}])
def test_a_generation_that_comes_round_starts_at_0(away: Inputs, writes: dict[str, int]) -> None:
    """A phase in generations 0, 7, 0, whether anything was sent in generation 7 or not."""
    leaves = {"write": 1, "number": 6}
    inputs = [{}, {"flow.generation": 7} | leaves, {"flow.generation": 7}]
    inputs += [away[0] | writes, {}] if away else [writes]
    assert trace(Ledger(spec=LINK), inputs, ["stored"])[-1] == 0


@pytest.mark.parametrize("forgets", [{"forget": 1}, {"forget": 1, "write": 1, "number": 4}])
def test_a_phase_is_forgotten_even_as_it_is_written(forgets: dict[str, int]) -> None:
    inputs = [{"write": 1, "number": 3}, {"flow.phase": 1, **forgets}, {"flow.phase": 1}, {}]
    assert trace(Ledger(spec=LINK), inputs, ["stored"]) == [0, 0, 0, 0]


def test_other_phases_and_unicasts_are_not_forgotten() -> None:
    flows = [{"flow.phase": phase} for phase in range(ONLINE + 1)]
    writes = [{}, *[{"write": 1, "number": 3}] * len(flows)]
    inputs = [a | b for a, b in zip([*flows, {}], writes, strict=True)]
    seen = trace(Ledger(spec=LINK), [*inputs, {"forget": 0b10}, *flows], ["stored"])
    assert seen[-len(flows) :] == [3, 0, *[3] * (len(flows) - 2)]


def test_a_number_is_of_the_generation_of_the_cycle_before() -> None:
    write = {"write": 1, "number": 3, "flow.phase": 1, "flow.generation": 5}
    inputs = [{"flow.generation": 4}, write, {"flow.generation": 4}, {"flow.generation": 5}]
    assert trace(Ledger(spec=LINK), inputs, ["stored"])[2:] == [3, 0]


def test_another_flow_is_known_in_its_generation_and_seen_in_any() -> None:
    inputs = [{"write": 1, "number": 7}, {}, {"other.generation": 1}, {"other.phase": 1}]
    seen = trace(Ledger(spec=LINK), inputs, ["other_stored", "other_known", "other_seen"])
    assert seen[1:] == [(7, 1, 1), (0, 0, 1), (0, 0, 0)]


def test_a_number_may_have_a_place_in_its_packet() -> None:
    """Which makes it wider, and no more."""
    number = (1 << len(Ledger(spec=LINK).number) + 2) - 1
    inputs = [{"write": 1, "number": number}, {}, {"flow.phase": 1}]
    seen = trace(Ledger(spec=LINK, place_bits=2), inputs, ["stored", "other_stored"])
    assert seen == [(0, 0), (number, number), (0, number)]


def test_place_bits_must_not_be_negative() -> None:
    with pytest.raises(ValueError, match=r"^Ledger place_bits must be 0 or more, not -1$"):
        Ledger(spec=LINK, place_bits=-1)
