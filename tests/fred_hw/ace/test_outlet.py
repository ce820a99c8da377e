"""Tests of fred_hw.ace.outlet."""

from fred_hw.ace.outlet import AceOutlet
from tests.fred_hw.simulation import trace

from .works import SPEC

FREE = {"slots.ready": 1}


def test_latency_of_a_word() -> None:
    inputs = [{"words[1].valid": 1, "words[1].last": 1}, {"slots.data": 9}]
    watch = ("send[1].valid", "send[1].data", "send[1].last")
    seen = trace(AceOutlet(spec=SPEC), [{}, *inputs, {}, {}], watch, **FREE)
    assert [one[0] for one in seen] == [0, 0, 0, 0, 1]
    assert seen[4] == (1, 9, 1)


def test_throughput_while_one_circuit_waits() -> None:
    """What the link does not take of one circuit holds up no other."""
    both = {"words[0].valid": 1, "words[2].valid": 1, "send[2].ready": 1}
    watch = ("words[0].take", "words[2].take")
    seen = trace(AceOutlet(spec=SPEC), [both] * 41, watch, **FREE)
    assert sum(one[0] for one in seen) == 5
    assert all(one == (0, 1) for one in seen[-20:])


def test_word_waits_for_its_slot() -> None:
    seen = trace(AceOutlet(spec=SPEC), [{"words[0].valid": 1}] * 4, ["words[0].take"])
    assert not any(seen)


def test_reset_forgets_flits() -> None:
    inputs = [{}, {"words[1].valid": 1}, {"rst": 1}, {}, *[{}] * 4]
    assert not any(trace(AceOutlet(spec=SPEC), inputs, ["send[1].valid"], **FREE))
