"""Tests of perfmodel.network.packet.answers: when a destination acknowledges what has come."""

import pytest

from fred_hw.protocol import ProtocolSpec
from perfmodel.clock import Clock
from perfmodel.network.packet.answers import Answers, Heard

PROTOCOL = ProtocolSpec(ack_interval=4, nack_timeout_cycles=64, timeout_cycles=1024)
CYCLES = 4.0


class Circuit:
    """A circuit of an endpoint, and when acks of it leave."""

    def __init__(self, clock: Clock[float], heard: Heard) -> None:
        self.acks: list[float] = []
        self.clock = clock
        self.answers = Answers(clock, PROTOCOL, CYCLES, heard, self.say)

    def say(self, cycles: float) -> None:
        self.acks.append(self.clock.now + cycles)

    def packet(self, at: float, flits: int = 8) -> None:
        self.clock.at(at, self.answers.come, flits)
        self.clock.at(at + flits - 1, self.answers.ended)


def acks(*begins: float, others: tuple[float, ...] = ()) -> list[float]:
    """Return when acks leave of packets that begin to come, beside those of another flow."""
    clock, heard = Clock(0.0), Heard()
    own, other = Circuit(clock, heard), Circuit(clock, heard)
    for at in begins:
        own.packet(at)
    for at in others:
        other.packet(at)
    clock.run()
    return own.acks


def test_an_interval_of_packets_is_acknowledged_at_once() -> None:
    assert acks(0, 8, 16, 24) == [31 + CYCLES]
    assert acks(0, 8, 16, 24, 32) == [31 + CYCLES, 39 + 16 + CYCLES]


@pytest.mark.parametrize(("second", "expected"), [(23, [46.0]), (24, [27.0, 51.0])])
def test_a_pause_of_a_quarter_of_nack_timeout_cycles_is_acknowledged(
    second: int, expected: list[float]
) -> None:
    """Sixteen cycles without a flit behind the one at 7: the next comes at 24 or later."""
    assert acks(0, second) == [one + (0 if len(expected) > 1 else 4) for one in expected]


def test_flits_of_others_put_it_off_until_nack_timeout_cycles_of_its_own() -> None:
    assert acks(0, others=(8, 16)) == [23 + 16 + CYCLES]
    assert acks(0, others=tuple(range(8, 200, 8))) == [7 + 64 + CYCLES]


def test_none_waits_for_more_than_half_of_the_timeout() -> None:
    """With pauses that are too short all the time, and an interval that is too long."""
    clock, heard = Clock(0.0), Heard()
    circuit = Circuit(clock, heard)
    spec = ProtocolSpec(
        ack_interval=32, window_packets=64, nack_timeout_cycles=128, timeout_cycles=1024
    )
    circuit.answers = Answers(clock, spec, CYCLES, heard, circuit.say)
    for at in range(0, 800, 30):
        circuit.packet(at)
    clock.run()
    assert circuit.acks[0] == 7 + 512 + CYCLES


def test_what_is_forgotten_is_not_acknowledged() -> None:
    clock, heard = Clock(0.0), Heard()
    circuit, told = Circuit(clock, heard), list[bool]()
    circuit.packet(0)
    for at in (10.0, 11.0):
        clock.at(at, lambda: told.append(circuit.answers.forget()))
    clock.run()
    assert told == [True, False] and not circuit.acks
