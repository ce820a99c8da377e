"""Tests of perfmodel.network.packet.packets: what waits for what at routers, worked by hand."""

from perfmodel.clock import Clock
from perfmodel.network.packet.packets import Packet, Routers, Shared
from perfmodel.network.packet.router_sizes import Sizes

SIZES = Sizes(
    circuits=2,
    packet_flits=8,
    buffer_flits=16,
    hop_cycles=10,
    follow_cycles=10,
    message_cycles=2,
    link_cycles=4,
    credit_cycles=3,
)

ROOMY = SIZES._replace(buffer_flits=72)


def ends(
    sizes: Sizes, *sent: tuple[str, int, int, tuple[int, ...]], acks: int = 0
) -> list[tuple[int, float]]:
    """Return which packets of some (source, circuit, flits, path), sent at once, came when.

    So many acks cross the first link of the first one while that is on it.
    """
    clock, found = Clock(0.0), list[tuple[int, float]]()
    routers = Routers(clock, sizes)
    for number, (source, circuit, flits, path) in enumerate(sent):

        def came(packet: Packet, number: int = number) -> None:
            found.append((number, clock.now + packet.flits - 1))
            clock.after(packet.flits, routers.taken, packet)

        routers.send(source, Packet(circuit, flits, path, came))
        if not number:
            for _ in range(acks):
                routers.answer(path[:1])
    clock.run()
    return found


def test_a_lone_packet_takes_its_hops_and_its_flits() -> None:
    assert ends(SIZES, ("a", 0, 8, (0, 1, 2))) == [(0, 10 + 10 + 4 + 7)]


def test_an_ack_takes_a_cycle_of_each_link() -> None:
    two = ("a", 0, 8, (0,)), ("a", 0, 8, (0,))
    assert ends(SIZES, *two, acks=8) == [(0, 11), (1, 27)]
    clock, found = Clock(0.0), list[float]()
    Routers(clock, SIZES).answer((0, 1, 2), lambda: found.append(clock.now))
    clock.run()
    assert found == [3 * 4 + 2 * 2]


def test_no_packet_overtakes_another_one_of_its_circuit() -> None:
    """The second one of a flit finds the path that the first one had to wait for."""
    sent = [("a", 0, 1, (0, 1)), ("b", 0, 8, (2, 1)), ("a", 0, 1, (0, 1)), ("a", 0, 8, (0, 1))]
    for flits in (1, 2, 8):
        own = [(one, circuit, min(count, flits), route) for one, circuit, count, route in sent]
        came = [number for number, _ in ends(ROOMY._replace(follow_cycles=9), *own)]
        assert [number for number in came if number != 1] == [0, 2, 3]


def test_the_more_urgent_circuit_goes_first_but_no_packet_is_cut_short() -> None:
    sent = [("a", 1, 8, (0,)), ("a", 1, 8, (0,)), ("b", 0, 8, (0,)), ("c", 0, 8, (0,))]
    assert ends(SIZES, *sent) == [(0, 11), (2, 19), (3, 27), (1, 35)]


def test_sources_of_one_circuit_take_turns() -> None:
    sent = [("a", 0, 8, (0,)), ("a", 0, 8, (0,)), ("a", 0, 8, (0,)), ("b", 0, 8, (0,))]
    assert [number for number, _ in ends(SIZES, *sent)] == [0, 3, 1, 2]


def test_a_packet_waits_until_the_next_queue_has_space_for_a_largest_one() -> None:
    """The first leaves its queue at 10; 8 cycles and a credit later the third may go."""
    sent = [("a", 0, 8, (0, 1))] * 3
    assert ends(SIZES, *sent) == [(0, 21), (1, 29), (2, 21 + 10 + 11)]
    assert ends(SIZES._replace(buffer_flits=24), *sent)[-1] == (2, 37)


def test_what_waits_at_the_head_of_a_queue_holds_up_its_own_circuit_alone() -> None:
    """A source of circuit 0 keeps link 1 busy; what is behind, for link 2, waits or does not."""
    busy = [("z", 0, 8, (1,))] * 4
    other = [("a", 1, 8, (0, 1)), ("a", 1, 8, (0, 2))]
    assert dict(ends(ROOMY, *busy, *other))[5] == 32 + 8 + 4 + 7
    urgent = [("a", 1, 8, (0, 1)), ("b", 0, 8, (0, 2))]
    assert dict(ends(ROOMY, *busy, *urgent))[5] == 8 + 10 + 4 + 7


def test_space_is_told_of_flit_by_flit() -> None:
    """Behind 12 flits in a queue of 16 a packet goes when four have left, from 10 on."""
    sent = [("a", 0, 8, (0, 1)), ("a", 0, 4, (0, 1)), ("a", 0, 8, (0, 1))]
    assert dict(ends(SIZES, *sent))[2] == 10 + 4 + 3 + 10 + 4 + 7


def test_a_path_is_as_long_as_its_packet_while_acks_have_a_queue() -> None:
    """Eight of them behind the first packet; the second of the same link waits for them."""
    assert dict(ends(ROOMY, ("a", 0, 8, (1,)), ("a", 0, 8, (2,)), acks=8)) == {0: 11, 1: 8 + 4 + 7}
    three = dict(ends(ROOMY, *[("a", 0, 8, (1,))] * 2, ("a", 0, 8, (2,)), acks=8))
    assert three == {0: 11, 1: 16 + 4 + 7, 2: 16 + 4 + 7}
    more = dict(ends(ROOMY, *[("a", 0, 8, (1,))] * 2, ("a", 0, 8, (2,)), acks=12))
    assert more == {0: 11, 1: 20 + 4 + 7, 2: 4 + 16 + 4 + 7}


def test_a_packet_of_another_circuit_has_to_find_the_path_anew() -> None:
    sent = [("a", 0, 8, (0, 1)), ("b", 0, 8, (0,)), ("a", 1, 8, (0, 1))]
    assert dict(ends(ROOMY._replace(follow_cycles=9), *sent))[2] == 16 + 10 + 4 + 7


def test_a_packet_takes_less_where_the_path_has_stayed() -> None:
    """Between two packets of one way the link carries one that ends there."""
    sent = [("a", 0, 8, (0, 1)), ("b", 0, 8, (0,)), ("a", 0, 8, (0, 1))]
    assert dict(ends(ROOMY, *sent))[2] == 16 + 10 + 4 + 7
    assert dict(ends(ROOMY._replace(follow_cycles=9), *sent)) == {0: 21, 1: 19, 2: 16 + 9 + 4 + 7}


def test_what_is_urgent_does_not_lose_its_turn_to_the_acks_of_its_link() -> None:
    """Its link carries as much beside data: no other way of the source goes ahead meanwhile."""
    sent = [("a", 0, 8, (1,))] * 3 + [("a", 1, 8, (2,))] * 3
    for acks in (8, 12):
        assert [number for number, _ in ends(ROOMY, *sent, acks=acks)][:3] == [0, 1, 2]


def test_a_source_waits_for_an_urgent_packet_that_three_others_have_passed() -> None:
    """Whenever link 1 is free the source is at work on link 2, for four cycles more."""
    sent = [("z", 1, 8, (1,))] * 10 + [("a", 1, 4, (2,)), ("a", 0, 8, (1,))]
    sent += [("a", 1, 8, (2,))] * 10
    assert dict(ends(ROOMY, *sent))[11] == 4 + 3 * 8 + 4 + 4 + 7


def test_a_port_is_shared_by_flits() -> None:
    clock, found = Clock(0.0), list[tuple[str, float]]()
    port = Shared(clock)
    port.add(0, [(8, lambda: found.append(("a", clock.now)))])
    port.add(1, [(4, lambda: found.append(("b", clock.now)))])
    port.add(1, [(4, lambda: found.append(("c", clock.now)))])
    clock.run()
    assert found == [("b", 8), ("a", 16), ("c", 16)]
    port.add(0, [(3, lambda: found.append(("d", clock.now)))])
    clock.run()
    assert found[-1] == ("d", 19)


SLOW = ROOMY._replace(paces={1: 2.0})
"""Link 1 carries a flit in two cycles."""


def test_a_slow_link_has_a_flit_in_so_many_cycles_and_so_have_those_behind_it() -> None:
    clock, found = Clock(0.0), list[float]()
    routers = Routers(clock, SLOW)

    def came(packet: Packet) -> None:
        found.extend((clock.now, packet.cycles))

    routers.send("a", Packet(0, 8, (0, 1, 2), came))
    clock.run()
    assert found == [10 + 10 + 4, 16]


def test_acks_take_as_long_as_flits_of_a_slow_link() -> None:
    clock, found = Clock(0.0), list[float]()
    routers = Routers(clock, SLOW)
    for _ in range(3):
        routers.answer((1,))
    routers.send("a", Packet(0, 8, (1,), lambda _: found.append(clock.now)))
    clock.run()
    assert found == [3 * 2 + 4]


def test_what_waits_for_a_slow_link_holds_up_others_when_its_output_is_full() -> None:
    """There is space for a packet, and for as many flits more as are inside of the switch."""
    first, other = ("a", 0, 8, (1,)), ("a", 0, 8, (2,))

    def leaves(inside: float, *sent: tuple[str, int, int, tuple[int, ...]]) -> float:
        return dict(ends(SLOW._replace(inside_flits=inside), *sent))[len(sent) - 1] - 4 - 7

    assert leaves(0, first, other) == 8
    assert leaves(0, first, first, other) == 16
    # The third one starts when the first is on the link, and then takes no longer than others.
    assert leaves(0, first, first, first, other) == 16 + 8
    assert leaves(0, first, first, first, first, other) == 32 + 8
    assert leaves(8, first, first, first, first, other) == 24 + 8


def test_what_has_waited_is_there_at_once() -> None:
    """A packet that comes in 16 cycles from 10 on has its next link at 16: 10 of them are left."""
    clock, found = Clock(0.0), list[float]()
    routers = Routers(clock, SLOW)
    for source, flits, path in (("a", 8, (1, 2)), *[("b", 8, (2,))] * 4):
        routers.send(source, Packet(0, flits, path, lambda packet: found.append(packet.cycles)))
    clock.run()
    assert found == [8, 8, 10, 8, 8]


def test_one_flit_has_the_next_of_its_queue_behind_it_where_a_path_stays_for_a_cycle() -> None:
    sent = [("a", 0, 1, (0,)), ("a", 0, 1, (0,)), ("a", 0, 8, (0,)), ("b", 0, 8, (0,))]
    assert [number for number, _ in ends(SIZES, *sent)] == [0, 3, 1, 2]
    again = SIZES._replace(short_again=True)
    assert [number for number, _ in ends(again, *sent)] == [0, 1, 3, 2]
    assert [number for number, _ in ends(again, sent[0], sent[2], sent[3])] == [0, 1, 2]


def test_space_of_a_quick_packet_is_not_told_of_before_that_of_a_slow_one() -> None:
    """Whoever waits is told of the last one in order, or would wait for ever."""
    small = SLOW._replace(buffer_flits=16)
    mixed = [("a", 0, 8, (1, 2)), ("a", 0, 8, (3, 2)), ("b", 0, 8, (0, 2))] * 6
    assert len(ends(small, *mixed)) == 18


def test_queues_take_turns_in_the_order_of_their_ports() -> None:
    """All are there at 10; the first one is on the link, and it is not who comes that decides."""
    sent = [("a", 0, 8, (2, 9)), ("b", 0, 8, (3, 9)), ("c", 0, 8, (1, 9))]
    for ports, order in (({1: 5, 2: 2, 3: 0}, [0, 2, 1]), ({1: 0, 2: 2, 3: 5}, [0, 1, 2])):
        assert [number for number, _ in ends(ROOMY._replace(ports=ports), *sent)] == order


def test_an_ack_goes_ahead_of_what_waits_for_a_slow_link_but_of_two_flits() -> None:
    """The link has flits at 0, 2, 4 and so on; what is offered at 3 and 4 is behind those of 4."""
    for sent, leaves in ((2, 4), (3, 6), (4, 6), (5, 8), (14, 16), (15, 16), (16, 16), (17, 17)):
        clock, found = Clock(0.0), list[float]()
        routers = Routers(clock, SLOW)
        routers.send("a", Packet(0, 8, (1,), lambda _: None))

        def came(clock: Clock[float] = clock, found: list[float] = found) -> None:
            found.append(clock.now - SLOW.link_cycles)

        clock.at(sent, routers.answer, (1,), came)
        clock.run()
        assert found == [leaves], sent


def test_who_is_next_is_known_when_the_packet_before_has_passed_a_switch() -> None:
    """The third one has at 24, and there is space at 32: who comes between waits for its turn.

    Then one flit goes, behind which is who has come meanwhile, not the next one of its queue.
    """
    again = SLOW._replace(short_again=True)
    for comes, order in ((23, "aaacaa"), (28, "aaaaca"), (33, "aaaaac")):
        clock, found = Clock(0.0), list[str]()
        routers = Routers(clock, again)

        def send(source: str, flits: int, routers: Routers = routers, found: list[str] = found):
            routers.send(source, Packet(0, flits, (1,), lambda _: found.append(source)))

        for flits in (8, 8, 8, 1, 8):
            send("a", flits)
        clock.at(comes, send, "c", 8)
        clock.run()
        assert "".join(found) == order
