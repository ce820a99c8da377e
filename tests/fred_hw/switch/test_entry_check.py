"""Contract of fred_hw.switch.entry_check, cycle by cycle."""

import random
from itertools import accumulate

import pytest

from fred_hw.compiler.configuration import Configuration
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.routing import route
from fred_hw.compiler.shape import configuration_width
from fred_hw.compiler.tracing import arriving
from fred_hw.control.phase_entry import entry_word, phase_fields
from fred_hw.spec import SwitchSpec
from fred_hw.switch.entry_check import EntryCheck
from testbench.models.golden import walk
from testbench.stimulus.phases import Phase, phase_table
from tests.fred_hw.simulation import trace

SPEC = SwitchSpec(ports=4, lanes=1)
CYCLES = 2 + SPEC.ports
FLOWS = (Flow([0, 1], [2, 3]), Flow([2], [0]))


def word(flows: tuple[Flow, ...] = FLOWS, circuit: int = 0) -> int:
    configuration = route(flows, SPEC.ports, SPEC.middle_switches).configuration
    assert configuration is not None
    return entry_word(SPEC, configuration, flows, circuit)


def lows(spec: SwitchSpec) -> dict[str, int]:
    """Return the lowest bit of each field of an entry."""
    ends = [0, *accumulate(phase_fields(spec).values())]
    return dict(zip(phase_fields(spec), ends, strict=False))


ODD = [SwitchSpec(ports=3, lanes=1), SwitchSpec(ports=7, lanes=1)]
LOWS = {spec: lows(spec) for spec in (SPEC, SwitchSpec(ports=2, lanes=1), *ODD)}
LOW = LOWS[SPEC]
GOOD = word()


def judged(entry: int) -> int:
    """Return whether an entry is right, and see that it is told in the cycle that is stated."""
    cycles = [{"entry": entry, "start": 1}, *[{"entry": entry}] * (CYCLES + 2)]
    seen = trace(EntryCheck(spec=SPEC), cycles, ["done", "right"])
    assert [done for done, _ in seen] == [int(cycle == CYCLES) for cycle in range(CYCLES + 3)]
    return seen[CYCLES][1]


def test_latency_is_two_cycles_and_one_for_each_port() -> None:
    assert judged(GOOD) == 1


@pytest.mark.parametrize(
    "entry",
    [
        word((Flow([0, 1], [2, 3]),)) | 2 << LOW["inputs"] + 6,
        GOOD ^ 1 << LOW["inputs"] + 3,
        GOOD ^ 2 << LOW["outputs"],
        GOOD | 3 << LOW["circuit"],
        GOOD & ~((1 << LOW["inputs"]) - 1),
    ],
    ids=["input without output", "input of none", "output of none", "circuit", "configuration"],
)
def test_an_entry_that_does_not_keep_flows_apart_is_wrong(entry: int) -> None:
    assert judged(entry) == 0


def delivers(entry: int, phase: Phase) -> bool:
    """Return whether an entry's configuration still carries the flows of a phase."""
    packed = entry & ((1 << configuration_width(SPEC.ports, SPEC.middle_switches)) - 1)
    configuration = Configuration.unpack(packed, SPEC.ports, SPEC.middle_switches)
    inputs = {port for flow in phase.flows for port in flow.inputs}
    sent = [frozenset({port}) if port in inputs else None for port in range(SPEC.ports)]
    want = {port: frozenset(flow.inputs) for flow in phase.flows for port in flow.outputs}
    got = walk(configuration, sent, frozenset.union)
    return got == [want.get(port) for port in range(SPEC.ports)]


def test_a_changed_configuration_is_wrong_where_it_delivers_something_else() -> None:
    entries, want = [], []
    for phase in phase_table(random.Random(1), SPEC, 8):
        good = entry_word(SPEC, phase.configuration, phase.flows, phase.circuit)
        for place in range(configuration_width(SPEC.ports, SPEC.middle_switches)):
            entries.append(good ^ 1 << place)
            want.append(int(delivers(entries[-1], phase)))
    assert {*want} == {0, 1}
    cycles = [{"entry": e, "start": int(n == 0)} for e in entries for n in range(CYCLES)]
    seen = trace(EntryCheck(spec=SPEC), [*cycles, {}], ["right"])
    assert seen[CYCLES::CYCLES] == want


def right_of(spec: SwitchSpec, entry: int) -> bool:
    """Return whether an entry brings each output what its flow sends, worked out from sets."""
    fields = {name: entry >> LOWS[spec][name] for name in LOWS[spec]}
    width = spec.ports.bit_length()
    inputs, outputs = (
        [fields[side] >> width * port & (1 << width) - 1 for port in range(spec.ports)]
        for side in ("inputs", "outputs")
    )
    packed = entry & (1 << configuration_width(spec.ports, spec.middle_switches)) - 1
    configuration = Configuration.unpack(packed, spec.ports, spec.middle_switches)
    senders = [port for port, flow in enumerate(inputs) if flow]
    want = [
        frozenset(port for port in senders if inputs[port] == flow) if flow else frozenset()
        for flow in outputs
    ]
    ends = all(flow in outputs and flow <= spec.ports for flow in inputs if flow)
    waits = all(found or not flow for found, flow in zip(want, outputs, strict=True))
    return ends and waits and arriving(configuration, senders) == want


@pytest.mark.slow
def test_every_entry_of_two_ports_is_judged_rightly() -> None:
    spec = SwitchSpec(ports=2, lanes=1)
    used = 1 << LOWS[spec]["used"]
    entries = [entry | used for entry in range(1 << LOWS[spec]["circuit"])]
    assert len(entries) == 4096
    step = 2 + spec.ports
    cycles = [{"entry": e, "start": int(n == 0)} for e in entries for n in range(step)]
    seen = trace(EntryCheck(spec=spec), [*cycles, {}], ["right"])
    assert [bool(right) for right in seen[step::step]] == [right_of(spec, e) for e in entries]


@pytest.mark.parametrize("spec", ODD, ids=lambda spec: f"{spec.ports} ports")
def test_entries_of_other_sizes_are_judged_rightly(spec: SwitchSpec) -> None:
    rng, entries = random.Random(spec.ports), []
    for phase in phase_table(rng, spec, 12):
        good = entry_word(spec, phase.configuration, phase.flows, phase.circuit)
        places = range(LOWS[spec]["circuit"])
        entries += [good, *(good ^ 1 << rng.choice(places) for _ in range(12))]
    step = 2 + spec.ports
    cycles = [{"entry": e, "start": int(n == 0)} for e in entries for n in range(step)]
    seen = trace(EntryCheck(spec=spec), [*cycles, {}], ["right"])
    want = [right_of(spec, e) for e in entries]
    assert [bool(right) for right in seen[step::step]] == want
    assert {*want} == {True, False}


def test_an_entry_that_is_not_used_is_right_whatever_it_holds() -> None:
    assert judged((1 << LOW["used"]) - 1) == 1


def test_throughput_is_one_entry_in_that_time() -> None:
    other = word((Flow([1], [0]),))
    entries = (GOOD, other, 0)
    cycles = [{"entry": e, "start": int(n == 0)} for e in entries for n in range(CYCLES)]
    seen = trace(EntryCheck(spec=SPEC), [*cycles, {}], ["done", "right"])
    told = [cycle for cycle, (done, _) in enumerate(seen) if done]
    assert told == [CYCLES, 2 * CYCLES, 3 * CYCLES]
    assert seen[CYCLES][1] == seen[2 * CYCLES][1] == 1


def test_reset_forgets_the_entry() -> None:
    cycles = [{"entry": GOOD, "start": 1}, {"rst": 1}, *[{"entry": GOOD}] * (CYCLES + 2)]
    assert not any(trace(EntryCheck(spec=SPEC), cycles, ["done"]))
