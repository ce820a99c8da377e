"""Tests of perfmodel.network.packet.ring_flow: what is sent again, worked by hand."""

from perfmodel.clock import Clock
from perfmodel.network.packet.packets import Packet
from perfmodel.network.packet.ring_flow import Flow


def sent(
    count: int,
    acks: dict[float, int],
    timeout: int,
    until: float,
    window: int = 128,
) -> list[tuple[float, int]]:
    """Return when which packets start: a link takes one every 10 cycles, acks come at times."""
    clock, found, queue = Clock(0.0), list[tuple[float, int]](), list[Packet]()
    flow = Flow(clock, timeout, window, 1, (5,), queue.append)

    def serve() -> None:
        if queue:
            packet = queue.pop(0)
            assert packet.starts is not None and (packet.circuit, packet.path) == (1, (5,))
            packet.starts(packet)
            found.append((clock.now, packet.number))
            assert packet.flits == 8 - packet.number
        if clock.now + 10 < until:
            clock.after(10, serve)

    for number in range(count):
        flow.add(8 - number, lambda _: None)
    for time, number in acks.items():
        clock.at(time, flow.heard, number)
    clock.after(0, serve)
    clock.at(until, flow.heard, count)
    clock.run()
    return found


def test_packets_go_once_and_in_order_while_acks_come() -> None:
    wanted = [(0, 0), (10, 1), (20, 2), (30, 3)]
    assert sent(4, {25: 1, 45: 4}, 50, 200) == wanted


def test_without_an_ack_in_time_all_from_the_oldest_on_go_again() -> None:
    """Progress at 25 begins the wait anew: it ends at 75; that of before ended at 50."""
    first = [(0, 0), (10, 1), (20, 2)]
    assert sent(3, {25: 1}, 50, 110) == [*first, (80, 1), (90, 2)]
    assert sent(3, {}, 45, 70) == [*first, (50, 0), (60, 1)]


def test_what_is_acknowledged_meanwhile_does_not_go_again() -> None:
    """One was offered already, and the last one goes in its place."""
    first = [(0, 0), (10, 1), (20, 2)]
    assert sent(3, {46: 2}, 45, 85) == [*first, (50, 2)]
    assert sent(3, {46: 3}, 45, 85) == [*first, (50, 2)]


def test_no_more_than_a_window_is_on_its_way() -> None:
    """The third may go when the first is acknowledged, the next two with the second ack."""
    starts = [(0, 0), (10, 1), (30, 2), (50, 3), (60, 4)]
    assert sent(5, {25: 1, 45: 3}, 200, 200, window=2) == starts
