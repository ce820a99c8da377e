"""Contract of fred_hw.switch.dispatcher, cycle by cycle."""

import random
from typing import Any

import pytest

from fred_hw.switch.dispatcher import Dispatcher
from tests.fred_hw.simulation import known, port, simulate, trace
from tests.fred_hw.specs import LINK
from tests.fred_hw.switch.test_unicast_router import heard

PP = 1
ONLINE = LINK.protocol.online
# Phase 2 on PP: port 0 to port 3.
ENTRY = {"entry.inputs[0]": 1, "entry.outputs[3]": 1, "entry.configuration": 77}
LOAD = ENTRY | {"service.load": 1, "service.active": 0}
SERVED = {
    "service.active": 1,
    "service.phase": 2,
    "service.circuit": 1 << PP,
    "heads[0].waiting": 1 << PP,
    "heads[0].of_phase": 1 << PP,
    f"heads[0].descriptor[{PP}].sequence": 9,
    "heads[0].valid": 7,
    "injections[3].space": 7,
}
FLIT = ["heads[0].start", "heads[0].take", "injections[3].start", "injections[3].fire", "moving"]


def seen(cycles: list[dict[str, int]], watch: list[str]) -> list:
    return trace(Dispatcher(spec=LINK), [SERVED | cycle for cycle in cycles], watch)


def waiting(k: int) -> dict[str, int]:
    """Return a packet of phase 2 at a port."""
    return {
        f"heads[{k}].waiting": 1 << PP,
        f"heads[{k}].of_phase": 1 << PP,
        f"heads[{k}].descriptor[{PP}].sequence": 20 + k,
        f"heads[{k}].valid": 7,
    }


def test_latency_is_none_for_flits_and_for_space() -> None:
    space, none = {}, {"injections[3].space": 0}
    missing = {"heads[0].valid": 0}
    found = seen([LOAD | none, none, space, missing, none], FLIT)
    assert found == [(0,) * 5] * 2 + [(1,) * 5, (0,) * 5, (0, 1, 0, 1, 1)]
    watch = ["injections[3].descriptor.sequence", "injections[3].circuit", "heads[0].circuit"]
    assert seen([LOAD, {}], watch)[1] == (9, PP, PP)


def test_throughput_is_a_flit_per_cycle_and_packets_without_a_gap() -> None:
    cycles = [
        LOAD,
        *[{"heads[0].last": 7 * (n % 2)} for n in range(6)],
        *[{"heads[0].last": 7}] * 2,
    ]
    found = seen(cycles, ["heads[0].start", "heads[0].take", "heads[0].finish"])
    assert found[1:] == [(1, 1, 0), (0, 1, 1)] * 3 + [(1, 1, 1)] * 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hold", 1),
        ("service.leaving", 1),
        ("service.active", 0),
        ("heads[0].waiting", 0b101),
        ("heads[0].of_phase", 0b101),
        ("injections[3].space", 0b101),
    ],
)
def test_nothing_starts_while_it_may_not(name: str, value: int) -> None:
    watch = ["heads[0].start", "heads[0].take", "injections[3].fire", "moving"]
    assert seen([LOAD, *[{name: value}] * 2], watch) == [(0, 0, 0, 0)] * 3
    # What has started goes on.
    assert seen([LOAD, {}, {name: value}], watch)[1:] == [(1, 1, 1, 1), (0, 1, 1, 1)]


def test_the_entry_with_load_is_served_from_the_next_cycle_on() -> None:
    other = {"entry.inputs[1]": 1, "entry.outputs[2]": 1, "entry.configuration": 99}
    third = {"entry.inputs[2]": 1, "entry.outputs[1]": 1, "entry.configuration": 11}
    rest = waiting(1) | waiting(2) | {f"injections[{k}].space": 7 for k in range(4)}
    last = {"heads[0].last": 7}
    cycles = [LOAD, third, other | last, other | last | {"service.load": 1}, third, third, {}]
    found = seen(
        [rest | cycle for cycle in cycles],
        [
            *[f"heads[{k}].take" for k in range(3)],
            *[f"injections[{k}].fire" for k in range(4)],
            "configuration",
        ],
    )
    ours, others = (1, 0, 0, 0, 0, 0, 1), (0, 1, 0, 0, 0, 1, 0)
    assert [cycle[:-1] for cycle in found[1:]] == [ours] * 3 + [others] * 3
    # The word of the interconnect comes a cycle behind the flits that it is for.
    assert [cycle[-1] for cycle in found[2:]] == [77] * 3 + [99] * 2


def test_flows_of_an_entry_go_each_for_itself() -> None:
    entry = LOAD | {"entry.inputs[1]": 2, "entry.inputs[2]": 2}
    entry |= {"entry.outputs[0]": 2, "entry.outputs[1]": 2}
    rest = {f"injections[{k}].space": 7 for k in range(4)} | waiting(1)
    both = rest | waiting(2)
    found = seen(
        [entry | both, rest, both, both | {"heads[1].last": 7, "heads[2].last": 7}, rest],
        [
            *[f"heads[{k}].take" for k in range(4)],
            *[f"injections[{k}].fire" for k in range(4)],
            "injections[1].descriptor.sequence",
        ],
    )
    first, all_go = (1, 0, 0, 0, 0, 0, 0, 1), (1, 1, 1, 0, 1, 1, 0, 1)
    assert [cycle[:8] for cycle in found[1:]] == [first, all_go, all_go, first]
    assert found[2][8] == 21


@pytest.mark.parametrize(
    ("end", "bad", "longer"),
    [
        ({"heads[0].last": 7, "heads[1].last": 7}, 0, 0),
        ({"heads[0].last": 7}, 1, 0b10),
        ({"heads[1].valid": 0, "heads[1].broken": 7}, 1, 0),
    ],
    ids=["equal", "longer", "broken"],
)
def test_an_end_that_is_bad_is_reported(end: dict[str, int], bad: int, longer: int) -> None:
    watch = ["heads[0].finish", "heads[1].finish", "injections[3].last", "injections[3].bad"]
    cycles = [LOAD | {"entry.inputs[1]": 1}, waiting(1), waiting(1) | end]
    found = seen(cycles, [*watch, "longer"])
    assert found[1:] == [(0,) * 5, (1, 1, 1, bad, longer)]


def test_what_goes_on_is_told_to_the_scheduler() -> None:
    leaving, last = {"service.leaving": 1}, {"heads[0].last": 7}
    found = seen(
        [LOAD, {}, {}, last | leaving, leaving, last],
        ["service.runs", "service.stands", "service.ran", "service.under"],
    )
    assert found == [
        (0, 1, 0, 0),
        (0, 0, 1 << PP, 0),
        (1, 0, 0, 1 << PP),
        (0, 0, 0, 1 << PP),
        (0, 1, 0, 0),
        (0, 0, 1 << PP, 0),
    ]


def unicast(k: int, destination: int, circuit: int = PP) -> dict[str, int]:
    """Return a unicast at a port."""
    return {
        f"heads[{k}].waiting": 1 << circuit,
        f"heads[{k}].valid": 7,
        f"heads[{k}].descriptor[{circuit}].phase": ONLINE,
        f"heads[{k}].exits[{circuit}]": destination,
        f"heads[{k}].coming[{circuit}]": 1 << destination,
    }


UNICASTS = {"service.active": 1, "service.online": 1, "service.phase": ONLINE}
UNICASTS |= {"service.circuit": 1 << PP} | {f"injections[{k}].space": 7 for k in range(4)}


def test_a_unicast_goes_to_its_exit_with_the_addresses_that_it_has() -> None:
    ends = {"destination": 127, "source": 96}
    said = {f"heads[2].descriptor[{PP}].{name}": value for name, value in ends.items()}
    told = [f"injections[3].descriptor.{name}" for name in ends]
    watch = ["heads[2].take", "injections[3].start", *told]
    cycles = [UNICASTS | unicast(2, 3) | said] * 5
    found = trace(Dispatcher(spec=LINK), cycles, [*watch, "configuration"])
    assert [cycle[0] for cycle in found] == [0, 1, 1, 1, 1]
    assert found[1][:4] == (1, 1, 127, 96)
    assert heard(found[2][4], 4, LINK.middle_switches) == [None, None, None, 2]


def test_unicasts_of_all_circuits_go_together() -> None:
    packets = [unicast(k, (k + 1) % 4, k % 3) for k in range(4)]
    cycle = UNICASTS | packets[0] | packets[1] | packets[2] | packets[3]
    watch = [f"heads[{k}].take" for k in range(4)] + [f"heads[{k}].circuit" for k in range(4)]
    watch += [f"injections[{k}].circuit" for k in range(4)] + ["service.ran", "service.under"]
    found = trace(Dispatcher(spec=LINK), [cycle] * 3, watch)
    assert found[1] == (1, 1, 1, 1, 0, 1, 2, 0, 0, 0, 1, 2, 7, 0)
    assert found[2] == (1, 1, 1, 1, 0, 1, 2, 0, 0, 0, 1, 2, 0, 7)


def test_an_entry_does_not_touch_unicasts() -> None:
    cycles = [UNICASTS | unicast(2, 3) | ENTRY | {"service.load": 1}] * 5
    found = trace(Dispatcher(spec=LINK), cycles, ["heads[0].take", "heads[2].take"])
    assert found[1:] == [(0, 1)] * 4


@pytest.mark.parametrize("count", [2, 3, 4])
def test_unicasts_of_one_flit_take_fair_turns(count: int) -> None:
    one = UNICASTS.copy()
    for k in range(count):
        one |= unicast(k, 3) | {f"heads[{k}].last": 7}
    found = trace(Dispatcher(spec=LINK), [one] * 80, [f"heads[{k}].take" for k in range(4)])
    order = [takes.index(1) for takes in found if any(takes)]
    assert len(order) >= 75
    assert all(sum(takes) <= 1 for takes in found)
    # Each sends two in a turn.
    for first in range(0, len(order) - 2 * count + 1, 2 * count):
        assert set(order[first : first + 2 * count]) == set(range(count))


@pytest.mark.parametrize("end", [{"last": 7}, {"valid": 0, "broken": 7}], ids=["last", "broken"])
def test_unicasts_of_several_flits_take_fair_turns(end: dict[str, int]) -> None:
    both = UNICASTS | unicast(0, 3) | unicast(1, 3)
    both |= {f"heads[{k}].descriptor[{PP}].length": 2 for k in range(2)}
    ends = {f"heads[{k}].{name}": value for k in range(2) for name, value in end.items()}
    cycles = [both | (ends if number % 3 == 0 else {}) for number in range(30)]
    found = trace(Dispatcher(spec=LINK), cycles, ["heads[0].start", "heads[1].start"])
    starts = [(number, *start) for number, start in enumerate(found) if any(start)]
    assert starts == [(1 + 3 * n, 1 - n % 2, n % 2) for n in range(10)]


def test_reset_forgets_the_packet_under_way_and_online_paths() -> None:
    nothing = {"heads[0].waiting": 0, "heads[0].valid": 0}
    found = seen([LOAD, {}, nothing | {"rst": 1}, nothing], ["service.stands"])
    assert found == [1, 0, 0, 1]
    one = UNICASTS | unicast(2, 3)
    cycles = [*[one] * 4, one | {"rst": 1}, *[one] * 4]
    found = trace(Dispatcher(spec=LINK), cycles, ["heads[2].start"])
    assert found == [0, 1, 0, 0, 0, 0, 1, 0, 0]


class Unicasts:
    """Unicasts at the ports of a dispatcher, which flits of may be late."""

    def __init__(self, rng: random.Random, packets: int) -> None:
        self.rng, self.dut = rng, known(Dispatcher(spec=LINK))
        ports = range(LINK.ports)
        flits = [1, 1, 2, 3]
        self.queues = [
            [
                [(rng.choice([0, *ports]), rng.choice(flits)) for _ in range(packets)]
                for _ in range(3)
            ]
            for _ in ports
        ]
        self.under_way: dict[int, tuple[int, int, int]] = {}  # destination, circuit, flits left
        self.before: dict[int, int] = {}  # sources of the flits of the last cycle

    async def cycle(self, ctx: Any) -> None:
        """Offer what there is, and check what is taken of it and where it goes."""
        dut, rng = self.dut, self.rng
        sources = heard(ctx.get(dut.configuration), LINK.ports, LINK.middle_switches)
        # A flit finds its way under the word of the cycle behind the one that it is taken in.
        assert all(sources[end] == source for end, source in self.before.items())
        for k, queues in enumerate(self.queues):
            inside = self.under_way.get(k)
            now = {f"injections[{k}].space": rng.getrandbits(3) | rng.getrandbits(3)}
            now[f"heads[{k}].waiting"] = sum(
                (bool(queue) and not (inside and inside[1] == c)) << c
                for c, queue in enumerate(queues)
            )
            for c, queue in enumerate(queues):
                now |= {f"heads[{k}].coming[{c}]": 1 << queue[0][0] if queue else 0}
                if queue:
                    now[f"heads[{k}].descriptor[{c}].phase"] = ONLINE
                    now[f"heads[{k}].exits[{c}]"] = queue[0][0]
                    now[f"heads[{k}].descriptor[{c}].length"] = queue[0][1] - 1
                    now[f"heads[{k}].descriptor[{c}].source"] = 100 + k
            self._set(ctx, now)
        for k, queues in enumerate(self.queues):
            inside, queue = self.under_way.get(k), queues[ctx.get(dut.heads[k].circuit)]
            offered = rng.random() < 0.8 if inside else bool(queue)
            flits = inside[2] if inside else queue[0][1] if queue else 0
            last = offered and flits == 1
            self._set(ctx, {f"heads[{k}].valid": 7 * offered, f"heads[{k}].last": 7 * last})
        self._check(ctx)

    def _set(self, ctx: Any, values: dict[str, int]) -> None:
        for name, value in values.items():
            ctx.set(port(self.dut, name), value)

    def _check(self, ctx: Any) -> None:
        dut, fires, told = self.dut, {}, {}
        for k, head in enumerate(dut.heads):
            circuit = ctx.get(head.circuit)
            if ctx.get(head.start):
                destination, flits = self.queues[k][circuit].pop(0)
                assert destination not in {end for end, *_ in self.under_way.values()}
                self.under_way[k] = destination, circuit, flits
                told[destination] = k
            if ctx.get(head.take):
                assert ctx.get(head.valid), "a flit that is not there"
                end, own, left = self.under_way[k]
                assert circuit == own
                fires[end] = k, left == 1
                self.under_way[k] = end, own, left - 1
        for k, injection in enumerate(dut.injections):
            assert bool(ctx.get(injection.fire)) == (k in fires)
            assert bool(ctx.get(injection.start)) == (k in told)
            assert k not in told or ctx.get(injection.descriptor.source) == 100 + told[k]
            if k in fires:
                assert ctx.get(injection.circuit) == self.under_way[fires[k][0]][1]
                assert bool(ctx.get(injection.last)) == fires[k][1]
        self.under_way = {k: one for k, one in self.under_way.items() if one[2]}
        self.before = {end: source for end, (source, _) in fires.items()}


@pytest.mark.slow
def test_flits_of_unicasts_go_to_their_destinations() -> None:
    bench = Unicasts(random.Random(5), 20)

    async def test(ctx: Any) -> None:
        for name, value in UNICASTS.items():
            ctx.set(port(bench.dut, name), value)
        for _ in range(600):
            await bench.cycle(ctx)
            await ctx.tick()

    simulate(bench.dut, test)
    assert not any(any(queues) for queues in bench.queues) and not bench.under_way
