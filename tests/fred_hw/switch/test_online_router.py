"""Contract of fred_hw.switch.online_router, cycle by cycle, and among sources that send."""

import random
from collections.abc import Callable, Sequence
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from fred_hw.switch.online_router import OnlineRouter
from tests.fred_hw.simulation import simulate, trace
from tests.fred_hw.switch.test_unicast_router import heard

PORTS = 4
ALL = (1 << PORTS) - 1
ON = {"online": 1, "room": ALL}
CONNECTED = ["connected"]


def waits(**peers: int) -> dict[str, int]:
    """Return sources that wait, as ``s1=3`` for source 1 to destination 3."""
    pairs = {int(name[1:]): peer for name, peer in peers.items()}
    bits = sum(1 << source for source in pairs)
    return ON | {"waits": bits} | {f"peers[{source}]": peer for source, peer in pairs.items()}


def seen(cycles: list[dict[str, int]], watch: list[str]) -> list:
    return trace(OnlineRouter(ports=PORTS, middle=3), cycles, watch)


def test_latency_is_two_cycles_to_a_path() -> None:
    cycles = [waits(s1=3), waits(s1=3), waits(s1=3) | {"here": 2}, ON]
    found = seen(cycles, ["connected", "destination_of[1]"])
    assert found == [(0, 0), (0, 0), (2, 8), (2, 8)]


@pytest.mark.parametrize("other", [{"s2": 3}, {"s1": 2}], ids=["destination", "source"])
def test_latency_is_a_cycle_more_if_an_idle_path_must_end_first(other: dict[str, int]) -> None:
    cycles = [waits(s1=3), ON, *[waits(**other)] * 4]
    assert seen(cycles, CONNECTED) == [0, 0, 2, 2, 0, 4 if "s2" in other else 2]


def test_throughput_is_one_path_per_cycle_round_robin() -> None:
    everybody = waits(s0=1, s1=2, s2=3, s3=0)
    cycles = [everybody | {"here": here} for here in (0, 0, 1, 3, 7, 15)]
    assert seen(cycles, CONNECTED) == [0, 0, 1, 3, 7, 15]


def test_a_path_stays_until_it_is_wanted() -> None:
    assert seen([waits(s1=3), *[ON] * 3, *[waits(s0=2)] * 2, {}, {}], CONNECTED)[2:] == [
        *[2] * 4,
        *[3] * 2,
    ]


def test_no_path_without_room_or_the_default_index() -> None:
    for name, value in (("room", 0b0111), ("online", 0)):
        assert seen([waits(s1=3) | {name: value}] * 4, CONNECTED) == [0] * 4


def test_a_source_that_had_its_turn_waits_for_others() -> None:
    # Source 1 is picked in cycle 1, and nobody else: it stays picked until the packet has ended.
    both, one = waits(s0=2, s1=2), waits(s1=2)
    cycles = [both, both, both | {"here": 1}, one | {"inside": 1}]
    cycles += [one | {"inside": 1, "closing": 1}, both, both | {"here": 2}]
    assert seen(cycles, CONNECTED) == [0, 0, 1, 1, 1, 0, 2]


def test_a_pick_that_must_wait_is_given_up_for_another_that_need_not() -> None:
    both, third = waits(s0=2, s1=2), waits(s1=2, s2=3)
    cycles = [both, both, waits(s0=2, s1=2, s2=3) | {"here": 1}, third | {"inside": 1}]
    cycles += [third | {"inside": 1, "here": 4}, waits(s1=2) | {"inside": 5, "closing": 1}]
    cycles += [waits(s1=2) | {"inside": 4}] * 2
    assert seen(cycles, CONNECTED) == [0, 0, 1, 1, 5, 5, 4, 6]


def test_a_pick_is_kept_if_the_path_that_it_waits_for_ends_in_this_cycle() -> None:
    # Source 0 may be picked in cycle 3, but the idle path to destination 3 ends then.
    both = waits(s2=3, s0=1)
    cycles = [waits(s1=3), ON, waits(s2=3), both, both, both | {"here": 4}, both | {"here": 5}]
    assert seen(cycles, CONNECTED) == [0, 0, 2, 2, 0, 4, 5]


def test_a_path_of_packets_of_one_flit_gives_way_behind_the_first() -> None:
    both = waits(s0=2, s1=2)
    cycles = [both, both, both | {"here": 1}, both | {"ended": 1}, both, both | {"here": 2}]
    found = seen(cycles, ["gives_way", "connected"])
    assert found == [(0, 0), (0, 0), (0, 1), (1, 1), (0, 0), (0, 2)]
    alone = waits(s0=2)
    cycles = [alone, alone, alone | {"here": 1}, *[alone | {"here": 1, "ended": 1}] * 2]
    assert seen(cycles, ["gives_way", "connected"])[2:] == [(0, 1)] * 3
    cycles = [both, both, both | {"here": 1}, both | {"ended": 1, "online": 0}]
    assert seen(cycles, ["gives_way"])[3] == 0


def test_reset_ends_all_paths() -> None:
    cycles = [waits(s1=3), ON, ON | {"rst": 1}, *[ON] * 3]
    assert seen(cycles, CONNECTED) == [0, 0, 2, 0, 0, 0]
    picked = [waits(s1=3), ON | {"rst": 1}, *[ON] * 3]
    assert seen(picked, CONNECTED) == [0] * 5


Packets = list[tuple[int, int]]
"""What a source sends: destination and flits of each packet."""


class Sources:
    """Sources that start their packets as soon as they may, and move a flit in every cycle.

    Parameters
    ----------
    queues : sequence of Packets
        What each source sends.
    middle : int
        Middle subswitches.
    since : sequence of int
        Cycle from which on each source has its packets; 0 for those beyond the last.
    room, online : Callable
        Destinations that have room in a cycle; whether it is one of the default index, which is
        so until all packets under way have ended.
    """

    def __init__(
        self,
        queues: Sequence[Packets],
        *,
        middle: int = 3,
        since: Sequence[int] = (),
        room: Callable[[int], int] = lambda _: ALL,
        online: Callable[[int], bool] = lambda _: True,
    ) -> None:
        self.ports, self.middle = len(queues), middle
        self.queues = [list(queue) for queue in queues]
        self.since = [*since, *[0] * (self.ports - len(since))]
        self.room, self.online = room, online
        self.left = [0] * self.ports  # flits of the packets under way
        self.starts: list[tuple[int, int, int]] = []  # cycle, source and destination
        self.cycles: list[Any] = []
        self.circuit = 1

    def run(self, cycles: int) -> "Sources":
        dut = OnlineRouter(ports=self.ports, middle=self.middle)

        async def bench(ctx: Any) -> None:
            ended = 0
            for number in range(cycles):
                ended = self._cycle(ctx, dut, number, ended)
                await ctx.tick()

        simulate(dut, bench)
        return self

    def _cycle(self, ctx: Any, dut: Any, number: int, ended: int) -> int:
        """Play a cycle; return the sources whose packet of one flit has started and ended."""
        may = self.online(number)
        online = may or any(self.left)
        self.circuit = self.circuit if online else number % 3
        room, waiting = self.room(number), 0
        for k, queue in enumerate(self.queues):
            if online and queue and not self.left[k] and number >= self.since[k]:
                waiting |= 1 << k
            ctx.set(dut.peers[k], queue[0][0] if queue else 0)
        now = {
            "online": int(online),
            "circuit": self.circuit,
            "waits": waiting,
            "room": room,
            "inside": sum((left > 0) << k for k, left in enumerate(self.left)),
            "closing": sum((left == 1) << k for k, left in enumerate(self.left)),
            "ended": ended,
        }
        for name, value in now.items():
            ctx.set(getattr(dut, name), value)
        reached = [ctx.get(at) for at in dut.destination_of]
        peers = [queue[0][0] if waiting >> k & 1 else None for k, queue in enumerate(self.queues)]
        mine = sum(
            (peer is not None and reached[k] >> peer & 1) << k for k, peer in enumerate(peers)
        )
        now["here"] = mine & ~ctx.get(dut.gives_way)
        ctx.set(dut.here, now["here"])
        word, connected = ctx.get(dut.configuration), ctx.get(dut.connected)
        now |= {"connected": connected, "reached": reached, "peers": peers, "word": word}
        self.cycles.append(SimpleNamespace(**now))
        return self._move(number, now["here"] if may else 0, room)

    def _move(self, number: int, here: int, room: int) -> int:
        ended = 0
        for k, queue in enumerate(self.queues):
            if self.left[k]:
                self.left[k] -= 1
            elif here >> k & 1 and room >> queue[0][0] & 1:
                destination, flits = queue.pop(0)
                self.starts.append((number, k, destination))
                self.left[k] = flits - 1
                ended |= (flits == 1) << k
        return ended


@pytest.mark.parametrize("middle", [2, 3])
@pytest.mark.parametrize("flits", [1, 2, 3, 4, 6, 7])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_sources_take_fair_turns_at_a_destination(count: int, flits: int, middle: int) -> None:
    queues = [[(3, flits)] * 40 if k < count else [] for k in range(PORTS)]
    starts = Sources(queues, middle=middle).run(30 * (flits + 2)).starts
    # Another path ends with the packet, or in the cycle behind its only flit; then a path is found.
    assert {then - now for (now, *_), (then, *_) in pairwise(starts)} == {max(flits, 2) + 1}
    order = [source for _, source, _ in starts]
    assert len(order) >= 25 and set(order[:count]) == set(range(count))
    for first in range(0, len(order) - count + 1, count):
        assert set(order[first : first + count]) == set(range(count)), order


@pytest.mark.parametrize("flits", [1, 3])
def test_a_destination_without_room_holds_up_nobody_else(flits: int) -> None:
    queues = [[(2, flits)] * 9, [(3, flits)] * 9, [(3, flits)] * 9, []]
    found = Sources(queues, room=lambda _: 0b1011).run(18 * (flits + 2))
    order = [source for _, source, _ in found.starts]
    assert order == [1, 2] * 9


@pytest.mark.parametrize("late", [10, 11, 12, 13])
@pytest.mark.parametrize("flits", [1, 2, 3, 5])
def test_a_source_without_a_path_gets_one_when_others_end(flits: int, late: int) -> None:
    # With two middle subswitches 1 has no path to 1 beside those of 2 to 0 and 0 to 2: they are in
    # different subswitches, as 0 went to 1 when 2 got its path.
    queues = [[(1, 1), *[(2, flits)] * 40], [(1, 2)], [(0, flits)] * 40, []]
    found = Sources(queues, middle=2, since=[0, late]).run(60)
    assert {at.connected for at in found.cycles[8:late]} == {0b101}
    start = next(cycle for cycle, source, _ in found.starts if source == 1)
    # Picked in the first cycle, it is refused in the next. No path is kept behind the packet that
    # is under way two cycles later, and it is picked again in every other cycle.
    assert late + 2 < start <= late + flits + 5
    order = [source for cycle, source, _ in found.starts if cycle > start]
    assert {0, 2} <= set(order)


def test_idle_paths_end_for_a_source_without_one() -> None:
    found = Sources([[(1, 1), (2, 3)], [(1, 2)], [(0, 6)], []], middle=2, since=[0, 16]).run(24)
    # Picked, refused, and picked again in the cycle in which the others end.
    assert [at.connected for at in found.cycles[15:21]] == [5, 5, 5, 5, 0, 2]
    assert found.starts[-1] == (20, 1, 1)


def test_packets_without_room_keep_nobody_from_a_path() -> None:
    queues = [[(1, 1), *[(2, 3)] * 9], [(1, 2)], [(0, 3)] * 9, []]
    full = range(14, 40)
    found = Sources(
        queues, middle=2, since=[0, 15], room=lambda n: 0b1010 if n in full else ALL
    ).run(40)
    start = next(cycle for cycle, source, _ in found.starts if source == 1)
    assert start <= 21


def test_a_source_without_a_path_lets_others_go_while_its_destination_has_no_room() -> None:
    queues = [[(1, 1), *[(2, 3)] * 40], [(1, 2)], [(0, 3)] * 40, [(3, 3)] * 40]
    closes = range(11, 40)
    found = Sources(
        queues, middle=2, since=[0, 10, 0, 20], room=lambda n: 0b1101 if n in closes else ALL
    ).run(60)
    first = {source: [c for c, s, _ in found.starts if s == source] for source in range(PORTS)}
    assert first[3][0] in range(22, 30)
    assert first[1][0] in range(42, 50)


def check_paths(now: Any, ports: int, middle: int) -> None:
    """Check that paths are apart, and that the interconnect has them and no others."""
    sources: list[int | None] = [None] * ports
    for k, at in enumerate(now.reached):
        assert at & (at - 1) == 0 and (at != 0) == now.connected >> k & 1
        if at:
            assert sources[at.bit_length() - 1] is None, "two sources at a destination"
            sources[at.bit_length() - 1] = k
    assert heard(now.word, ports, middle) == sources


def check_changes(cycles: Sequence[Any], middle: int) -> None:
    """Check which paths came and ended with the second last of some cycles."""
    *_, was, now = cycles
    pairs = list(enumerate(zip(was.reached, now.reached, strict=True)))
    new = {k: after for k, (before, after) in pairs if after and before != after}
    assert len(new) <= 1
    for k, at in new.items():
        peers = [cycle.peers[k] for cycle in cycles[:-1]]
        assert was.online and not was.reached[k] and at in {1 << p for p in peers if p is not None}
    # One without room for its packet may end where there may be no path for another.
    room = sum((middle > 2 or at & was.room != 0) << k for k, at in enumerate(was.reached))
    used = (was.here & room) | (was.inside & ~was.closing)
    for k, (before, after) in pairs:
        if before and not after:
            assert not used >> k & 1, "a path that is used has ended"
            # The want is seen a cycle before, if the default index has been left since.
            end = before.bit_length() - 1
            wants = [(j, peer) for cycle in cycles[:-1] for j, peer in enumerate(cycle.peers)]
            wanted = any(peer is not None and (j == k) != (peer == end) for j, peer in wants)
            assert middle < 3 or wanted, "a path that nobody wants has ended"


@pytest.mark.parametrize("middle", [2, 3])
@pytest.mark.parametrize("ports", [2, 4, 5])
def test_no_end_is_ever_in_two_paths_and_every_packet_goes(ports: int, middle: int) -> None:
    rng = random.Random(10 * ports + middle)
    packets, cycles = 40, 500 * ports
    queues = [
        [
            (rng.choice([0, rng.randrange(ports)]), rng.choice([1, 1, 2, 3, 6]))
            for _ in range(packets)
        ]
        for _ in range(ports)
    ]
    rooms = [rng.getrandbits(ports) | rng.getrandbits(ports) for _ in range(cycles)]
    online = [rng.random() < 0.95 for _ in range(cycles // 3) for _ in range(4)]
    found = Sources(queues, middle=middle, room=rooms.__getitem__, online=online.__getitem__).run(
        cycles
    )
    for number in range(2, len(found.cycles)):
        check_paths(found.cycles[number], ports, middle)
        check_changes(found.cycles[number - 2 : number + 1], middle)
    assert not any(found.queues) and not any(found.left)
    assert len(found.starts) == ports * packets
