"""Tests of tracemodel.astra.transport: messages that are carried, and who waits for them."""

from functools import partial

import pytest

from perfmodel.clock import Clock
from perfmodel.topology.block import BlockKind
from tracemodel.astra.network import Dimension, Network
from tracemodel.astra.transport import MODELS, Exchange

MIB = 1 << 20


def network(kind: BlockKind) -> Network:
    return Network([Dimension(kind, 16, 50, 500)])


def arrivals(net: Network, model: str, messages: list[tuple[int, int, int]]) -> list[int]:
    """Return when messages arrive that all start at 0: source, target, bytes."""
    clock = Clock(0)
    carried, found = MODELS[model](net, clock), [-1] * len(messages)

    def arrive(number: int) -> None:
        found[number] = clock.now

    for number, message in enumerate(messages):
        carried.carry(*message, partial(arrive, number))
    clock.run()
    return found


@pytest.mark.parametrize(
    ("kind", "unaware", "aware"),
    [("ring", 21_031, 60_093), ("fully_connected", 20_031, 20_031), ("switch", 20_531, 40_062)],
)
def test_a_mebibyte_from_1_to_4(kind: BlockKind, unaware: int, aware: int) -> None:
    assert arrivals(network(kind), "unaware", [(1, 4, MIB)]) == [unaware]
    assert arrivals(network(kind), "aware", [(1, 4, MIB)]) == [aware]


def test_link_serves_one_message_after_the_other() -> None:
    pair = [(0, 1, MIB), (0, 1, MIB)]
    assert arrivals(network("fully_connected"), "unaware", pair) == [20_031, 20_031]
    assert arrivals(network("fully_connected"), "aware", pair) == [20_031, 19_531 + 20_031]
    # Each direction of a link, and each pair of fully connected NPUs, has its own.
    others = [(0, 1, MIB), (1, 0, MIB), (0, 2, MIB)]
    assert arrivals(network("fully_connected"), "aware", others) == [20_031] * 3


def test_several_dimensions_are_crossed_one_after_the_other() -> None:
    both = Network([Dimension("ring", 2, 50, 500), Dimension("switch", 2, 50, 500)])
    assert arrivals(both, "unaware", [(0, 3, MIB)]) == [20_031]  # as ASTRA-sim: the first alone
    assert arrivals(both, "aware", [(0, 3, MIB)]) == [3 * 20_031]


def test_messages_meet_those_who_wait_for_them_in_order() -> None:
    clock = Clock(0)
    exchange = Exchange(MODELS["unaware"](network("switch"), clock), clock)
    log: list[tuple[str, int]] = []

    def note(what: str) -> None:
        log.append((what, clock.now))

    first, other = ("a", 0, 1, 0), ("b", 0, 1, 0)
    exchange.receive(first, partial(note, "first"))
    exchange.send(first, partial(note, "sent"))
    exchange.send(first)
    exchange.send(other)
    clock.at(5_000, lambda: exchange.receive(first, partial(note, "second")))
    clock.run()
    assert log == [("sent", 1_000), ("first", 1_000), ("second", 5_000)]
    exchange.receive(first, partial(note, "nobody"))
    exchange.receive(other, partial(note, "other"))
    clock.run()
    assert log[3:] == [("other", 5_000)]
