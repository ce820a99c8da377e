"""Contract of fred_hw.switch.scheduler, cycle by cycle."""

import random
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from fred_hw.switch.scheduler import SEEK_CYCLES, Scheduler
from fred_hw.switch.scheduler_signatures import PhaseUpdate
from tests.fred_hw.simulation import known, port, simulate, trace
from tests.fred_hw.specs import LINK

MP, PP, DP = range(3)
ONLINE = LINK.protocol.online
Cycle = dict[str, int]


def write(number: int, circuit: int, takes: int, gives: int) -> Cycle:
    values = {"number": number, "used": 1, "circuit": circuit, "takes": takes, "gives": gives}
    return stop(number) | {"update.write": 1} | {f"update.{k}": v for k, v in values.items()}


def stop(number: int) -> Cycle:
    return {"halt.asked": 1, "halt.number": number}


def waits(port: int, circuit: int, phase: int) -> Cycle:
    return {f"ports[{port}].waiting": 1 << circuit, f"ports[{port}].phases[{circuit}]": phase}


def unicast(circuit: int) -> Cycle:
    return waits(3, circuit, ONLINE) | {"ports[3].reaches": 1 << circuit}


TABLE = [write(0, DP, 1, 2), write(1, MP, 2, 4), write(2, DP, 4, 8), write(3, PP, 0b0011, 0b1100)]
SPACE = {f"ports[{k}].space": 7 for k in range(4)}
LOW, HIGH, EQUAL = waits(0, DP, 0), waits(1, MP, 1), waits(2, DP, 2)
PARTLY = waits(0, PP, 3) | {"probed.inputs[0]": 1, "probed.outputs[2]": 1}
"""Port 1 of phase 3 has no packet, but port 0 is a flow of its own."""
STANDS, RUNS = {"service.stands": 1, "service.rests": 1}, {"service.runs": 1}
SERVED = ["service.active", "service.phase", "service.circuit"]  # of a circuit its bit is high
READ, LOAD = ["read", "next_phase"], "service.load"
SERVE = [LOW | STANDS] * 3  # phase 0 is loaded in cycle 2, and served from the next one on


def seen(cycles: list[Cycle], watch: list[str]) -> list[Any]:
    """Return what shows in cycles behind the writing of the table."""
    inputs: list[Mapping[str, int]] = [SPACE | cycle for cycle in [*TABLE, *cycles]]
    return trace(Scheduler(spec=LINK), inputs, watch)[len(TABLE) :]


def loads(cycles: list[Cycle]) -> list[tuple[int, int]]:
    """Return in which cycles something is loaded, and the phase that is served then."""
    found = seen([*cycles, STANDS], [LOAD, *READ, "service.following", *SERVED[:2]])
    for before, now, behind in zip(found, found[1:], found[2:], strict=False):
        if now[0]:
            assert (before[1], behind[4], now[3]) == (1, 1, behind[5])
            # Unicasts have no entry.
            assert behind[5] in (ONLINE, before[2])
    return [(t, found[t + 1][-1]) for t, row in enumerate(found[:-1]) if row[0]]


def test_latency_is_three_cycles_from_a_packet_to_its_phase() -> None:
    found = seen([EQUAL | STANDS] * 5, [*READ, LOAD, *SERVED])
    assert found == [
        (0, 0, 0, 0, 0, 0),
        (1, 2, 0, 0, 0, 0),
        (1, 2, 1, 0, 0, 0),
        (0, 0, 0, 1, 2, 1 << DP),
        (0, 0, 0, 1, 2, 1 << DP),
    ]


def test_what_was_just_loaded_is_not_loaded_again_from_an_older_choice() -> None:
    # In the cycle of a load the same is chosen again, as it is not served yet.
    for packet in (LOW, HIGH, EQUAL, unicast(MP), unicast(PP), unicast(DP)):
        assert [cycle for cycle, _ in loads([packet | STANDS] * 14)] == [2]


def test_throughput_is_a_phase_in_two_cycles() -> None:
    # Both always wait and nothing is under way: they are served round robin.
    assert loads([LOW | EQUAL | STANDS] * 10) == [(2, 0), (4, 2), (6, 0), (8, 2)]


@pytest.mark.parametrize(
    ("packets", "phase", "circuit"),
    [
        (LOW | HIGH | EQUAL | unicast(PP), 1, MP),
        (LOW | EQUAL | unicast(PP), ONLINE, PP),
        (LOW | EQUAL | unicast(DP), 0, DP),
        (HIGH | unicast(DP), 1, MP),
    ],
)
def test_the_most_urgent_circuit_goes_first(packets: Cycle, phase: int, circuit: int) -> None:
    assert seen([packets | STANDS] * 4, SERVED)[3] == (1, phase, 1 << circuit)


def test_one_that_is_more_urgent_takes_the_place_of_what_was_chosen_before() -> None:
    # Nothing is loaded while a packet is under way: what follows is chosen anew in each cycle.
    cycles = [*SERVE, *[LOW | EQUAL | RUNS] * 4, *[LOW | EQUAL | HIGH | RUNS] * 2, HIGH, HIGH]
    assert loads(cycles) == [(2, 0), (9, 1)]


@pytest.mark.parametrize("under_way", range(4))
def test_preempting_is_told_once_when_the_packets_end(under_way: int) -> None:
    cycles = [*SERVE, LOW | RUNS, *[HIGH | RUNS] * (under_way + 2), HIGH, HIGH | RUNS, RUNS]
    found = seen(cycles, ["service.leaving", LOAD, "preempts", "service.phase"])
    assert found[len(SERVE) :] == [
        (0, 0, 0, 0),
        *[(0, 0, 0, 0)] * 2,  # its packet waits
        *[(1, 0, 0, 0)] * under_way,
        (1, 1, 1, 0),
        (0, 0, 0, 1),
        (0, 0, 0, 1),
    ]


def test_what_a_packet_gives_way_to_is_not_forgotten() -> None:
    # It is ready for a cycle alone: what is served takes the space that it waits for.
    cycles = [*SERVE, LOW | RUNS, LOW | HIGH | RUNS, *[LOW | RUNS] * 4, LOW, LOW]
    found = seen(cycles, ["service.leaving", LOAD, "service.phase"])
    assert found[len(SERVE) :] == [
        *[(0, 0, 0)] * 3,
        *[(1, 0, 0)] * 3,
        (1, 1, 0),
        (0, 0, 1),
    ]


def test_a_phase_that_is_not_under_way_is_not_preempted() -> None:
    cycles = [LOW | STANDS] * 4 + [HIGH | STANDS] * 4
    found = seen(cycles, [LOAD, "preempts"])
    assert [load for load, _ in found] == [0, 0, 1, 0, 0, 0, 1, 0]
    assert [preempts for _, preempts in found] == [0] * 8


def test_one_of_the_same_circuit_waits_for_a_packet_and_preempts_nothing() -> None:
    both = LOW | EQUAL
    runs = [both | RUNS] * 3 + [both | RUNS | {"service.ran": 1 << DP}, both | RUNS, both]
    found = seen([both | STANDS] * 3 + runs * 2, ["service.leaving", LOAD, "preempts"])
    assert found[3:] == ([(0, 0, 0)] * 4 + [(1, 0, 0), (1, 1, 0)]) * 2


def test_one_that_is_less_urgent_waits_until_nothing_was_under_way_for_a_cycle() -> None:
    cycles = [HIGH | STANDS] * 3 + [HIGH | LOW | RUNS | {"service.ran": 1}] * 4 + [HIGH | LOW] * 2
    found = seen([*cycles, *[HIGH | LOW | STANDS] * 2], ["service.leaving", LOAD, "service.phase"])
    assert found[3:] == [(0, 0, 1)] * 7 + [(1, 1, 1)]


def test_a_phase_with_one_ready_flow_is_found_two_cycles_later() -> None:
    found = seen([PARTLY | STANDS] * 7, ["probe", *READ, LOAD, *SERVED[:2]])
    assert [probe for probe, *_ in found] == [0, 3, 3, 3, 3, 0, 0]
    assert [row[1:] for row in found] == [
        *[(0, 0, 0, 0, 0)] * 3,
        (1, 3, 0, 0, 0),
        (1, 3, 1, 0, 0),
        (0, 0, 0, 1, 3),
        (0, 0, 0, 1, 3),
    ]


@pytest.mark.parametrize("reaches", [0, 1])
def test_unicasts_of_a_circuit_are_served_together(reaches: int) -> None:
    cycle = waits(3, PP, ONLINE) | STANDS | {"ports[3].reaches": reaches << PP}
    found = seen([cycle] * 4, ["service.active", "service.online", *SERVED[1:]])
    assert found[2] == (0, 0, 0, 0)
    assert found[3] == ((1, 1, ONLINE, 1 << PP) if reaches else (0, 0, 0, 0))


@pytest.mark.parametrize("under_way", range(SEEK_CYCLES + 3))
def test_unicasts_keep_their_place_for_a_while_or_a_packet(under_way: int) -> None:
    # It is served from cycle 3 on, the phase from the one behind its load.
    cycles = [LOW | unicast(PP) | STANDS] * 3 + [LOW | unicast(PP) | RUNS] * under_way
    first = 3 + max(SEEK_CYCLES, under_way + 1)
    found = loads([*cycles, *[LOW | unicast(PP) | STANDS] * SEEK_CYCLES * 2])
    assert SEEK_CYCLES == 4
    assert found[:3] == [(2, ONLINE), (first, 0), (first + 2, ONLINE)]


@pytest.mark.parametrize("later", range(SEEK_CYCLES + 2))
def test_unicasts_give_way_to_a_more_urgent_phase_at_once(later: int) -> None:
    cycles = [unicast(PP) | STANDS] * (1 + later) + [unicast(PP) | HIGH | STANDS] * 3
    # That of cycle 1 is chosen in the cycle of a load, and therefore again.
    assert loads([*cycles, STANDS]) == [(2, ONLINE), (max(4, 3 + later), 1)]


@pytest.mark.parametrize("start", [0, 1, 2, 9])
def test_unicasts_give_way_to_a_phase_of_their_circuit_once_a_packet_started(
    start: int,
) -> None:
    both = LOW | unicast(DP)
    # Phase 0 first, then unicasts from cycle 5 on.
    cycles = [both | STANDS] * 5 + [both | RUNS] * start + [both | {"service.ran": 1 << DP}]
    assert loads([*cycles, both, both]) == [(2, 0), (4, ONLINE), (6 + start, 0)]


def test_unicasts_of_all_circuits_are_served_together() -> None:
    all_of_them = waits(3, MP, ONLINE) | waits(2, DP, ONLINE) | unicast(PP)
    all_of_them |= {f"ports[{k}].reaches": 7 for k in (2, 3)}
    for first in (MP, PP, DP):
        assert loads([unicast(first) | STANDS] * 3 + [all_of_them | STANDS] * 9) == [(2, ONLINE)]


@pytest.mark.parametrize(
    ("circuit", "leaves"), [(MP, [0] * 6), (PP, [0] * 3 + [1] * 3), (DP, [0] * 2 + [1] * 4)]
)
def test_unicasts_are_as_urgent_as_the_most_urgent_of_them(circuit: int, leaves: list[int]) -> None:
    # Phase 3 is on PP; the packet that starts two cycles later is a turn of its circuit.
    first = [unicast(DP) | unicast(circuit) | STANDS] * 3
    both = unicast(circuit) | waits(0, PP, 3) | waits(1, PP, 3) | RUNS
    start = both | {"service.ran": 1 << circuit}
    assert seen([*first, both, both, start, *[both] * 3], ["service.leaving"])[3:] == leaves


@pytest.mark.parametrize("name", ["service.under", "waiting"])
def test_a_less_urgent_phase_waits_for_unicasts_under_way_and_behind_them(name: str) -> None:
    more = {name: 1 << MP} if name == "service.under" else unicast(MP)
    cycles = [unicast(MP) | LOW | STANDS] * 3 + [LOW | more | RUNS] * 9 + [LOW | RUNS] * 4
    # What was under way or ready in the cycle before counts.
    assert seen(cycles, ["service.leaving"]) == [0] * 13 + [1] * 3


def test_less_urgent_unicasts_do_not_hold_up_a_phase() -> None:
    # Those on DP go on and on, one on MP comes at times and goes: phase 3 on PP gets its turn.
    steady = unicast(DP) | waits(0, PP, 3) | waits(1, PP, 3)
    cycles = [unicast(DP) | STANDS] * 3
    for _ in range(3):
        cycles += [steady | RUNS | unicast(MP)] * 3 + [steady | RUNS | {"service.ran": 1 << DP}] * 5
    served = seen([*cycles, *[steady] * 2], ["service.phase"])
    assert set(served[3:12]) == {ONLINE} and served[-1] == 3


def test_round_robin_of_a_virtual_channel_has_unicasts_among_its_phases() -> None:
    both, turn = LOW | EQUAL | unicast(DP), 2 + 2 + 1 + SEEK_CYCLES
    first = [(2, 0), (4, 2), (6, ONLINE)]
    found = loads([both | STANDS] * 2 * (turn + 1))
    assert found == [*first, *((cycle + turn, phase) for cycle, phase in first)]


def test_round_robin_of_a_circuit_goes_on_behind_phases_that_preempt_it() -> None:
    # A phase is under way when the urgent one comes, each time, and goes on until it has ended.
    steps = [STANDS | HIGH, RUNS | HIGH, HIGH, STANDS]
    cycles = [LOW | EQUAL | steps[cycle % 4] for cycle in range(24)]
    assert loads(cycles) == [(2 * k, (2, 1, 0, 1)[k % 4]) for k in range(1, 12)]
    assert [cycle for cycle, told in enumerate(seen(cycles, ["preempts"])) if told] == [
        *range(6, 24, 4)
    ]


@pytest.mark.parametrize("cycle", range(1, 5))
def test_the_entry_of_a_phase_that_is_looked_at_is_seen_a_cycle_later(cycle: int) -> None:
    bare = [waits(0, PP, 3) | STANDS] * 9
    shown = [PARTLY | STANDS if k == cycle else one for k, one in enumerate(bare)]
    assert loads(shown) == ([] if cycle == 1 else [(cycle + 2, 3)])


def test_phases_are_looked_at_one_after_the_other_but_for_those_that_stand_still() -> None:
    packets = EQUAL | waits(0, PP, 3)
    cycles = [write(2, DP, 0b0110, 0b1000), *[packets] * 5, *[packets | stop(2)] * 4]
    probes = [(0, 0)] * 2 + [(1, phase) for phase in (2, 3, 2, 3, 2, 3, 3, 3)]
    assert seen(cycles, ["probes", "probe"]) == probes


@pytest.mark.parametrize("later", range(2, 5))
def test_a_flow_that_has_no_space_any_more_is_not_loaded(later: int) -> None:
    full = PARTLY | {"ports[2].space": 0}
    cycles = [HIGH | STANDS] * 3 + [PARTLY | RUNS] * 5 + [full | RUNS] * later
    assert loads([*cycles, full | STANDS, full | STANDS]) == [(2, 1)]


def test_ports_are_told_which_phases_they_serve() -> None:
    found = seen([{}], [f"ports[{k}].serves" for k in range(4)])[0]
    phases = LINK.protocol.phases
    want = [1 << DP * phases | 8 << PP * phases, 2 | 8 << PP * phases, 4 << DP * phases, 0]
    assert list(found) == want


@pytest.mark.parametrize("under_way", range(3))
def test_a_phase_that_is_to_change_ends_its_packets_and_is_left(under_way: int) -> None:
    halt = LOW | stop(0)
    cycles = [*SERVE, LOW | RUNS] + [halt | RUNS] * (under_way + 1) + [halt]
    cycles += [halt | STANDS] * 2 + [LOW | write(0, DP, 1, 2) | STANDS] + [LOW | STANDS] * 5
    found = seen(cycles, ["service.leaving", "halt.stands", "read", LOAD, "service.active"])
    assert found[3:] == [
        (0, 0, 0, 0, 1),
        (0, 0, 0, 0, 1),
        *[(1, 0, 0, 0, 1)] * (under_way + 2),  # nothing starts, until nothing is under way
        (0, 1, 0, 0, 0),
        (0, 1, 0, 0, 0),  # the change is written
        (0, 1, 0, 0, 0),
        (0, 0, 1, 0, 0),  # it is ready again, two cycles later
        (0, 0, 1, 1, 0),
        (0, 0, 0, 0, 1),
        (0, 0, 0, 0, 1),
    ]


def test_another_phase_takes_the_place_of_one_that_is_to_change() -> None:
    both, halt = LOW | EQUAL, stop(0)
    cycles = [*SERVE] + [both | RUNS] * 2 + [both | RUNS | halt] * 2 + [both | halt] * 3
    found = seen(cycles, ["halt.stands", LOAD, "next_phase", "service.phase"])
    assert found[5:] == [(0, 0, 2, 0), (0, 0, 2, 0), (0, 1, 2, 0), (1, 0, 0, 2), (1, 0, 0, 2)]


@pytest.mark.parametrize("packet", [EQUAL, PARTLY], ids=["whole", "a flow"])
@pytest.mark.parametrize("first", range(8))
def test_latency_until_a_phase_stands_still_around_its_choice(first: int, packet: Cycle) -> None:
    number, load = (2, 2) if packet is EQUAL else (3, 4)
    cycles = [packet | STANDS | (stop(number) if k >= first else {}) for k in range(12)]
    found = seen(cycles, ["halt.stands", LOAD, "service.active"])
    # It is known a cycle later; what was loaded by then is served and left again.
    loaded = first >= load
    served = range(load + 1, max(load + 1, first + 1) + 1) if loaded else ()
    stands = first + 1 + loaded
    want = [(k >= stands, loaded and k == load, k in served) for k in range(12)]
    assert found[1:] == want[1:]  # in the first one the last of the table still stands still


def test_what_follows_is_kept_from_one_that_must_stand_still() -> None:
    # Phase 2 was chosen and must stand still: in the next cycle another one is loaded.
    cycles = [LOW | EQUAL | STANDS] * 3 + [LOW | EQUAL | HIGH | STANDS | stop(2)] * 4
    assert loads(cycles) == [(2, 0), (5, 1)]


@pytest.mark.parametrize("last", range(6))
def test_reset_forgets_all_phases(last: int) -> None:
    both = LOW | HIGH | STANDS
    cycles = [both] * last + [both | {"rst": 1}] + [both] * 6
    outputs = ["halt.stands", "probe", *READ, LOAD, "service.leaving", *SERVED]
    found = seen(cycles, [*outputs, *(f"ports[{k}].serves" for k in range(4))])
    assert [row[6] for row in found[: last + 1]] == [0, 0, 0, 1, 1, 1][: last + 1]
    assert [sum(row) for row in found[last + 1 :]] == [0] * 6


def test_paths_are_from_what_runs_and_stands_to_loading_alone() -> None:
    signals = ["service.runs", "service.stands", "service.rests", "service.ran", "service.under"]
    signals += ["halt.asked", "halt.number"]
    signals += [f"update.{name}" for name in PhaseUpdate.signature(LINK).members]
    hints = ("waiting", "space", "reaches", "phases")
    signals += ["probed", *(f"ports[{k}].{name}" for k in range(4) for name in hints)]
    outputs = ["halt.stands", "probe", *READ, LOAD, "preempts", "service.leaving", *SERVED]
    outputs += [f"ports[{k}].serves" for k in range(4)]
    unit, found = known(Scheduler(spec=LINK)), set()

    cycles = [*TABLE, *SERVE, *[LOW | EQUAL | RUNS] * 3, *[HIGH | RUNS | stop(3)] * 2, HIGH]

    async def bench(ctx: Any) -> None:
        for cycle in cycles:
            given = dict.fromkeys(signals, 0) | SPACE | cycle
            for name, value in given.items():
                ctx.set(port(unit, name), value)
            before = [ctx.get(port(unit, name)) for name in outputs]
            for name in signals:
                one = port(unit, name)
                value = ctx.get(one)
                ctx.set(one, ~value & (1 << len(one)) - 1)
                after = [ctx.get(port(unit, name)) for name in outputs]
                ctx.set(one, value)
                pairs = zip(outputs, before, after, strict=True)
                found.update((name, other) for other, old, new in pairs if old != new)
            await ctx.tick()

    simulate(unit, bench)
    paths = {LOAD: ("runs",), "preempts": ("runs", "stands")}
    assert found == {(f"service.{k}", output) for output, late in paths.items() for k in late}


class Traffic:
    """Packets that come and go at random, and phases that change at random times."""

    takes = (0b0001, 0b0010, 0b0100, 0b1100)
    """Of each phase; phase 3 has a flow for each of its ports."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.circuits = [DP, MP, DP, PP]
        self.heads: dict[tuple[int, int], int] = {}
        self.probe = self.flits = self.stands = self.circuit = 0
        self.asked = -99
        self.writes = [self.change(number) for number in range(4)]

    def change(self, number: int) -> Cycle:
        return write(number, self.circuits[number], self.takes[number], 0b1111)

    def cycle(self, served: Mapping[str, int]) -> Cycle:
        """Return the inputs of the next cycle, of which registers are known."""
        if self.writes:
            return SPACE | STANDS | self.writes.pop(0)
        inputs = SPACE | self._packets(served) | self._halt(served["halt.stands"])
        if self.probe == 3:
            inputs |= {f"probed.{e}[{k}]": k - 1 for e in ("inputs", "outputs") for k in (2, 3)}
        self.probe = served["probe"]
        return inputs

    def _packets(self, served: Mapping[str, int]) -> Cycle:
        """Let packets come, and the one that is under way go on, or another one start."""
        rng = self.rng
        for place in [(k, circuit) for k in range(4) for circuit in range(3)]:
            mine = [n for n, c in enumerate(self.circuits) if c == place[1]]
            mine = [n for n in mine if self.takes[n] >> place[0] & 1]
            if place not in self.heads and rng.random() < 0.15:
                self.heads[place] = rng.choice(mine * 14 + [ONLINE])
        inputs = {}
        for k in range(4):
            waiting = [circuit for circuit in range(3) if (k, circuit) in self.heads]
            inputs |= {f"ports[{k}].waiting": sum(1 << circuit for circuit in waiting)}
            inputs |= {f"ports[{k}].phases[{c}]": self.heads[k, c] for c in waiting}
            inputs |= {f"ports[{k}].reaches": 7}
        phase, circuit = served["service.phase"], served["service.circuit"]
        # Unicasts of all circuits are served together.
        mine = [
            p for p, n in self.heads.items() if n == phase and (n == ONLINE or circuit >> p[1] & 1)
        ]
        starts = served["service.active"] and not served["service.leaving"] and mine
        if not self.flits and starts and rng.random() < 0.5:
            del self.heads[mine[0]]
            self.flits, self.circuit = rng.randrange(4), mine[0][1]
            return inputs | {"service.ran": 1 << self.circuit}
        self.flits, inside = max(self.flits - 1, 0), self.flits
        inputs |= {"service.under": (inside > 0) << self.circuit}
        rests = {f"service.{name}": int(not inside) for name in ("stands", "rests")}
        return inputs | {"service.runs": int(inside > 1)} | rests

    def _halt(self, stands: int) -> Cycle:
        """Make a phase stand still, and change it a few cycles later."""
        if self.asked < 0:
            # Nothing is asked in the cycle behind a change.
            self.asked = -1 if self.asked == -99 else self.rng.randrange(-24, 4)
        elif self.stands:
            self.stands -= 1
            if not self.stands:
                number, self.asked = self.asked, -99
                self.circuits[number] = self.rng.randrange(3)
                self.heads = {p: n for p, n in self.heads.items() if n != number}
                return self.change(number)
        elif stands:
            self.stands = self.rng.randrange(1, 4)
        return stop(self.asked) if self.asked >= 0 else {}


@cache
def storm(cycles: int = 4500) -> list[dict[str, int]]:
    """Return inputs and outputs in each cycle of random traffic."""
    unit, traffic, rows = known(Scheduler(spec=LINK)), Traffic(1), []
    watch = ["halt.stands", "probe", *READ, LOAD, "preempts", "service.leaving", "service.online"]
    watch += SERVED
    kept: dict[str, int] = {}

    async def bench(ctx: Any) -> None:
        for _ in range(cycles):
            inputs = traffic.cycle({name: ctx.get(port(unit, name)) for name in watch})
            for name, value in (dict.fromkeys(kept, 0) | inputs).items():
                if kept.get(name) != value:
                    ctx.set(port(unit, name), value)
                    kept[name] = value
            rows.append(kept | {name: ctx.get(port(unit, name)) for name in watch})
            await ctx.tick()

    simulate(unit, bench)
    return rows[len(TABLE) :]


@pytest.mark.slow
def test_a_phase_that_stands_still_never_is_served_in_a_storm() -> None:
    still: list[int] = []
    kinds = dict.fromkeys(("served", "chosen", "other"), 0)
    for before, row in pairwise(storm()):
        if row["halt.asked"] and not before["halt.asked"]:
            number = row["halt.number"]
            kind = "served" if row["service.active"] and row["service.phase"] == number else "other"
            kinds["chosen" if row["read"] and row["next_phase"] == number else kind] += 1
        if row["halt.stands"] and row["halt.asked"]:
            still = [row["halt.number"]] * 4  # and until what was written is loaded
        elif still:
            still.pop()
        assert not (still and row["service.active"] and row["service.phase"] == still[0])
    assert min(kinds.values()) >= 15


@pytest.mark.slow
def test_what_is_loaded_was_read_before_and_not_served_in_a_storm() -> None:
    rows = storm()
    found: list[int] = []
    last: int | None = None  # phase whose entry is there
    for before, row, behind in zip(rows, rows[1:], rows[2:], strict=False):
        if before["read"]:
            last = before["next_phase"]
        if row[LOAD]:
            assert last is not None and behind["service.active"]
            assert behind["service.phase"] in (ONLINE, last)
            assert not behind[LOAD]
            assert any(row[name] != behind[name] for name in SERVED)
            found.append(behind["service.phase"])
    assert set(found) == {0, 1, 2, 3, ONLINE}
    assert len(found) >= 300
