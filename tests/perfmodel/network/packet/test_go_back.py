"""Tests of perfmodel.network.packet.go_back: a window of packets that are sent again."""

import pytest

from perfmodel.clock import Clock
from perfmodel.network.packet.go_back import Packets
from perfmodel.switch_timing.endpoint import load_endpoint_record

TIMING = load_endpoint_record("endpoint")
TIMEOUT = TIMING.record.spec.protocol.timeout_cycles


class Link:
    """A link that takes a packet as soon as it is offered, a flit in each cycle."""

    def __init__(self) -> None:
        self.clock = Clock(0.0)
        self.sent: list[tuple[float, int]] = []
        self.until = 0.0
        self.packets = Packets(self.clock, TIMING, self.offer, lambda: None)

    def offer(self) -> None:
        self.clock.at(max(self.clock.now, self.until), self.start)

    def start(self) -> None:
        self.until = self.clock.now + 8
        now = self.clock.now
        number = self.packets.start()
        self.sent.append((now, number))

    def run(self, last: float) -> None:
        """Simulate up to a cycle: without acks a source never ends."""
        self.clock.at(last, self.stop)
        with pytest.raises(StopIteration):
            self.clock.run()

    def stop(self) -> None:
        raise StopIteration

    def ack(self, at: float, number: int, kind: str = "ack") -> None:
        self.clock.at(at, self.packets.heard, kind, number)


def test_packets_leave_as_they_are_read_behind_the_first_chunk() -> None:
    link = Link()
    link.packets.begin(128 + 12, 10)
    link.ack(400, 18)
    link.run(2000)
    assert link.sent[:2] == [(10 + 128, 0), (10 + 136, 1)]
    assert link.sent[16:] == [(10 + 128 + 128, 16), (10 + 128 + 136, 17)]
    assert link.packets.size(17) == 4 and link.packets.idle and link.packets.given


def test_a_short_chunk_is_loaded_as_soon_as_it_is_there() -> None:
    link = Link()
    link.packets.begin(4, 10)
    link.run(100)
    assert link.sent == [(14, 0)] and not link.packets.idle


def test_the_window_waits_for_acks() -> None:
    link = Link()
    link.packets.begin(80 * 8, 0)
    link.ack(900, 1)
    link.run(1000)
    assert [number for _, number in link.sent] == list(range(65))
    assert link.sent[-1] == (908, 64) and not link.packets.given


def test_without_an_ack_all_are_sent_again_from_the_oldest_on() -> None:
    link = Link()
    link.packets.begin(3 * 8, 0)
    link.ack(50, 1)
    link.run(50 + 2 * TIMEOUT - 1)
    again = 50.0 + TIMEOUT
    assert link.sent == [(24, 0), (32, 1), (40, 2), (again, 1), (again + 8, 2)]


def test_a_nack_names_the_packet_that_goes_on() -> None:
    link = Link()
    link.packets.begin(4 * 8, 0)
    link.ack(70, 1, "nack")
    link.ack(90, 3)  # what is acknowledged meanwhile is not sent again
    link.ack(200, 4)
    link.run(300)
    assert [number for _, number in link.sent] == [0, 1, 2, 3, 1, 2, 3]
    assert link.packets.idle


def test_answers_beyond_what_was_sent_are_ignored() -> None:
    link = Link()
    link.packets.begin(8, 0)
    link.ack(2, 1)
    link.ack(3, 5)
    link.run(50)
    assert link.sent == [(8, 0)] and not link.packets.idle
