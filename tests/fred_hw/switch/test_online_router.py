"""Contract of fred_hw.switch.online_router, cycle by cycle, and among sources that send."""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest

from fred_hw.protocol import PASSES
from fred_hw.switch.online_router import OnlineRouter
from tests.fred_hw.simulation import known, simulate, trace
from tests.fred_hw.switch.test_unicast_router import heard

PORTS = 4
MP, PP, DP = range(3)
SPACE = {f"space[{j}]": 7 for j in range(PORTS)}
PATHS = [f"destination_of[{k}]" for k in range(PORTS)]


def comes(source: int, destination: int, circuit: int = PP) -> dict[str, int]:
    return {f"coming[{source}][{circuit}]": 1 << destination}


def seen(cycles: Sequence[dict[str, int]], watch: Sequence[str] = PATHS) -> list[Any]:
    return trace(
        OnlineRouter(ports=PORTS, middle_switches=3), [SPACE | one for one in cycles], watch
    )


def test_latency_is_a_cycle_to_a_path() -> None:
    watch = ["destination_of[1]", "circuit_of[1]", "circuit_to[3]", "configuration"]
    found = seen([comes(1, 3, DP), {}, {}], watch)
    assert found[0] == (0, 0, 0, 0)
    assert found[1][:3] == found[2][:3] == (8, DP, DP)
    assert heard(found[1][3], PORTS, 3) == [None, None, None, 1]


def test_throughput_is_all_paths_in_one_cycle() -> None:
    everybody = comes(0, 1) | comes(1, 2, MP) | comes(2, 3, DP) | comes(3, 0)
    turned = comes(0, 2) | comes(1, 3, MP) | comes(2, 0, DP) | comes(3, 1)
    assert seen([everybody, turned, {}])[1:] == [(2, 4, 8, 1), (4, 8, 1, 2)]


def test_a_path_stays_until_its_source_or_destination_is_wanted() -> None:
    assert seen([comes(1, 3), {}, {}, comes(0, 3), comes(0, 2), {}]) == [
        (0, 0, 0, 0),
        *[(0, 8, 0, 0)] * 3,
        (8, 0, 0, 0),
        (4, 0, 0, 0),
    ]


@pytest.mark.parametrize("space", [0b011, 0])
def test_no_path_without_space(space: int) -> None:
    assert seen([comes(1, 3, DP) | {"space[3]": space}] * 3) == [(0,) * 4] * 3


def test_the_most_urgent_packet_that_may_go_is_the_first_of_a_source() -> None:
    three = comes(0, 1, MP) | comes(0, 2, PP) | comes(0, 3, DP)
    full = {"space[1]": 6}, {"space[1]": 6, "space[2]": 5}
    found = [
        seen([three | one, {}], ["destination_of[0]", "circuit_of[0]"])[1] for one in ({}, *full)
    ]
    assert found == [(2, MP), (4, PP), (8, DP)]


def test_the_most_urgent_packet_is_the_first_of_a_destination() -> None:
    assert seen([comes(0, 3, DP) | comes(1, 3, PP) | comes(2, 3, MP), {}])[1] == (0, 0, 8, 0)
    assert seen([comes(0, 3, DP) | comes(1, 3, PP) | comes(2, 3, DP), {}])[1] == (0, 8, 0, 0)


def test_a_path_in_use_is_left_to_its_packet() -> None:
    # Another wants its destination, and its source has another packet.
    wanted = comes(0, 3) | comes(1, 2, MP)
    used = {"holds": 2} | wanted
    assert seen([comes(1, 3), used, used, {}])[1:] == [(0, 8, 0, 0)] * 3
    # One that ends before that was said is in nobody's way from the next cycle on.
    assert seen([comes(1, 3), used, wanted, wanted, {}])[2:] == [
        *[(0, 8, 0, 0)] * 2,
        (8, 4, 0, 0),
    ]


def test_another_path_follows_in_the_cycle_behind_the_last_flit() -> None:
    both = comes(0, 3) | comes(1, 2)
    used = both | {"holds": 2}
    found = seen([comes(1, 3), used, used | {"closing": 2}, both, {}])
    assert found[1:] == [*[(0, 8, 0, 0)] * 3, (8, 4, 0, 0)]


def test_only_the_path_of_a_packet_that_ends_is_handed_over_without_space() -> None:
    # Sources 0 and 2 want the destinations of 1 and 3, which have no space; 3 ends its packet.
    wanted = {"space[0]": 0, "space[1]": 0, "holds": 0b1010} | comes(0, 1) | comes(2, 0)
    ends = wanted | {"closing": 0b1000}
    found = seen([comes(1, 1) | comes(3, 0), wanted, ends, wanted | {"holds": 2}, {}])
    assert found[1:] == [*[(0, 2, 0, 1)] * 3, (0, 2, 1, 0)]


def test_reset_ends_all_paths() -> None:
    assert seen([comes(1, 3), {}, {"rst": 1}, {}]) == [
        (0,) * 4,
        *[(0, 8, 0, 0)] * 2,
        (0,) * 4,
    ]


Packets = Sequence[tuple[int, int]]
"""What a source sends on a circuit: destination and flits of each packet."""


class Sources:
    """Sources that start packets on the paths that they get.

    Parameters
    ----------
    queues : sequence of Mapping of Packets
        What each source sends, by circuit.
    middle_switches : int
        Middle subswitches.
    space, online : Callable
        Destinations that have space in a cycle; whether packets may start.
    stall : float
        Share of the cycles in which a flit is not there.
    """

    def __init__(
        self,
        queues: Sequence[Mapping[int, Packets]],
        *,
        middle_switches: int = 3,
        space: Callable[[int], int] = lambda _: -1,
        online: Callable[[int], bool] = lambda _: True,
        stall: float = 0.0,
    ) -> None:
        self.ports, self.middle_switches, self.stall = len(queues), middle_switches, stall
        self.queues = [[list(queue.get(c, ())) for c in range(3)] for queue in queues]
        self.space, self.online = space, online
        self.left, self.rng = [0] * self.ports, random.Random(7)
        self.starts: list[tuple[int, int, int, int]] = []  # cycle, source, destination, circuit
        self.flits = 0

    def run(self, cycles: int) -> "Sources":
        dut = known(OnlineRouter(ports=self.ports, middle_switches=self.middle_switches))

        async def bench(ctx: Any) -> None:
            before = [0] * self.ports
            for number in range(cycles):
                before = self._cycle(ctx, dut, number, before)
                await ctx.tick()

        simulate(dut, bench)
        return self

    def rate(self, cycles: int) -> float:
        """Return flits per port and cycle."""
        return self.flits / self.ports / cycles

    def _cycle(self, ctx: Any, dut: Any, number: int, before: list[int]) -> list[int]:
        """Play a cycle; return the paths that must still be there behind it."""
        paths = [ctx.get(path) for path in dut.destination_of]
        circuits = [ctx.get(circuit) for circuit in dut.circuit_of]
        word, space, now = ctx.get(dut.configuration), self.space(number), Counter[str]()
        sources: list[int | None] = [None] * self.ports
        for k, path in enumerate(paths):
            assert not before[k] or path == before[k], "a path in use has changed"
            if path:
                end = path.bit_length() - 1
                assert path == 1 << end and sources[end] is None, "two sources at a destination"
                assert ctx.get(dut.circuit_to[end]) == circuits[k]
                sources[end] = k
        # More ports are for the tests of the paths alone, as this takes long.
        assert self.ports > 5 or heard(word, self.ports, self.middle_switches) == sources
        stays = [0] * self.ports
        for k, (queues, path, c) in enumerate(zip(self.queues, paths, circuits, strict=True)):
            ctx.set(dut.space[k], 7 if space >> k & 1 else 0)
            for circuit, queue in enumerate(queues):
                ctx.set(dut.coming[k][circuit], 1 << queue[0][0] if queue else 0)
            moves = self.rng.random() >= self.stall
            if self.left[k]:
                self.left[k] -= moves
                self.flits += moves
            elif queues[c] and path & space & 1 << queues[c][0][0] and self.online(number):
                destination, flits = queues[c].pop(0)
                self.starts.append((number, k, destination, c))
                now["starts"] |= 1 << k
                self.left[k] = flits - 1
                self.flits += 1
            stays[k] = path if self.left[k] else 0
            now["holds"] |= (self.left[k] > 0) << k
            now["closing"] |= (self.left[k] == 1) << k
        for name in ("closing", "starts", "holds"):
            ctx.set(getattr(dut, name), now[name])
        return stays


def turns(source: int, ports: int, flits: int, packets: int = 300) -> Packets:
    """Return packets of a source to all others, one after the other."""
    return [((source + 1 + k % (ports - 1)) % ports, flits) for k in range(packets)]


@pytest.mark.slow
@pytest.mark.parametrize(("flits", "period"), [(1, 2), (2, 2), (3, 3), (8, 8)])
@pytest.mark.parametrize("middle_switches", [2, 3])
def test_all_to_all_goes_at_full_rate_but_for_packets_of_one_flit(
    flits: int, period: int, middle_switches: int
) -> None:
    found = Sources(
        [{DP: turns(k, 8, flits)} for k in range(8)], middle_switches=middle_switches
    ).run(100)
    for k in range(8):
        cycles = [cycle for cycle, source, *_ in found.starts if source == k]
        assert cycles[0] == 1
        if middle_switches == 3:
            assert {later - now for now, later in pairwise(cycles)} == {period}
    assert middle_switches == 3 or found.rate(100) > 0.5 * flits / period


def test_circuits_go_together() -> None:
    queues = [{k % 3: [((k + 1) % 4, 4)] * 30} for k in range(4)]
    assert Sources(queues).run(80).rate(80) > 0.97


@pytest.mark.slow_after_first
@pytest.mark.parametrize("middle_switches", [2, 3])
@pytest.mark.parametrize("flits", [1, 2, 3, 8])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_sources_take_fair_turns_at_a_destination(
    count: int, flits: int, middle_switches: int
) -> None:
    queues = [{PP: [(3, flits)] * 40 if k < count else []} for k in range(PORTS)]
    cycles = 30 * max(flits, 2)
    starts = Sources(queues, middle_switches=middle_switches).run(cycles).starts
    order = [source for _, source, *_ in starts]
    # A source of packets of one flit sends two in a turn.
    turn = count * (2 if flits == 1 else 1)
    assert len(order) >= cycles // flits * (0.9 if middle_switches == 3 else 0.4)
    for first in range(0, len(order) - turn + 1, turn):
        assert set(order[first : first + turn]) == set(range(count)), order


def test_a_destination_without_space_holds_up_nobody_else() -> None:
    queues = [{PP: [(2, 3)] * 9}, {PP: [(3, 3)] * 9}, {PP: [(3, 3)] * 9}, {}]
    found = Sources(queues, space=lambda _: 0b1011).run(60)
    assert [source for _, source, *_ in found.starts] == [1, 2] * 9


@pytest.mark.parametrize("flits", [4, 6, 8])
def test_an_urgent_packet_does_not_starve_behind_others_of_its_source(flits: int) -> None:
    # Packets to 3 start in the middle of those of source 0 to 2, as long as these go on.
    busy: Packets = [(3, flits)] * 100
    queues = [{MP: [(3, 1)], DP: [(2, flits)] * 100}, {MP: busy}, {MP: busy}, {}]
    starts = Sources(queues, space=lambda n: -1 if n > 1 else 0b0111).run(20 * flits).starts
    mine = [circuit for _, source, _, circuit in starts if source == 0]
    # The first starts before there is space for it, and lets nothing pass.
    assert mine.index(MP) == PASSES + 1


def test_with_two_subswitches_a_blocked_packet_does_not_starve() -> None:
    # The way from 6 to 2 has a link that those from 0 and from 4 to 3 take by turns.
    busy: Packets = [(3, 4)] * 60
    queues: list[dict[int, Packets]] = [{} for _ in range(8)]
    queues[0] = queues[4] = {PP: busy}
    queues[6] = {PP: [(2, 4)] * 9}
    starts = Sources(queues, middle_switches=2, space=lambda n: -1 if n > 4 else ~4).run(100).starts
    mine = [number for number, (_, source, *_) in enumerate(starts) if source == 6]
    assert len(mine) == 9 and all(later - now <= 4 for now, later in pairwise(mine))


@pytest.mark.slow_after_first
@pytest.mark.parametrize("middle_switches", [2, 3])
@pytest.mark.parametrize("ports", [2, 4, pytest.param(5, marks=pytest.mark.slow)])
def test_no_end_is_ever_in_two_paths_and_every_packet_goes(
    ports: int, middle_switches: int
) -> None:
    rng = random.Random(10 * ports + middle_switches)
    packets, cycles = 12, 300 * ports
    lengths = [1, 1, 2, 3, 6]
    queues = [
        {
            c: [
                (rng.choice([0, rng.randrange(ports)]), rng.choice(lengths)) for _ in range(packets)
            ]
            for c in range(3)
        }
        for _ in range(ports)
    ]
    spaces = [rng.getrandbits(ports) | rng.getrandbits(ports) for _ in range(cycles)]
    online = [rng.random() < 0.95 for _ in range(cycles // 3) for _ in range(4)]
    found = Sources(
        queues,
        middle_switches=middle_switches,
        space=spaces.__getitem__,
        online=online.__getitem__,
        stall=0.2,
    ).run(cycles)
    assert not any(any(queue) for queue in found.queues) and not any(found.left)
    assert len(found.starts) == 3 * ports * packets
