"""Contract of fred_hw.switch.entry_check, cycle by cycle."""

import random

import pytest

from fred_hw.compiler.configuration import Configuration
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.routing import route
from fred_hw.compiler.shape import configuration_width
from fred_hw.control.phase_entry import entry_word, phase_fields
from fred_hw.datapath.interconnect import latency_cycles
from fred_hw.spec import SwitchSpec
from fred_hw.switch.entry_check import EntryCheck
from testbench.models.golden import walk
from testbench.stimulus.phases import Phase, phase_table
from tests.fred_hw.simulation import trace

SPEC = SwitchSpec(ports=4, lanes=1)
CYCLES = 2 + latency_cycles(SPEC.with_changes(adder_registers=0))
FLOWS = (Flow([0, 1], [2, 3]), Flow([2], [0]))


def word(flows: tuple[Flow, ...] = FLOWS, circuit: int = 0) -> int:
    configuration = route(flows, SPEC.ports, SPEC.middle).configuration
    assert configuration is not None
    return entry_word(SPEC, configuration, flows, circuit)


LOW: dict[str, int] = {}
offset = 0
for name, bits in phase_fields(SPEC).items():
    LOW[name] = offset
    offset += bits
GOOD = word()


def judged(entry: int) -> int:
    """Return whether an entry is right, and see that it is told in the cycle that is stated."""
    cycles = [{"entry": entry, "start": 1}, *[{"entry": entry}] * (CYCLES + 2)]
    seen = trace(EntryCheck(spec=SPEC), cycles, ["done", "right"])
    assert [done for done, _ in seen] == [int(cycle == CYCLES) for cycle in range(CYCLES + 3)]
    return seen[CYCLES][1]


def test_latency_is_two_cycles_and_those_of_the_interconnect() -> None:
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
    packed = entry & ((1 << configuration_width(SPEC.ports, SPEC.middle)) - 1)
    configuration = Configuration.unpack(packed, SPEC.ports, SPEC.middle)
    inputs = {port for flow in phase.flows for port in flow.inputs}
    sent = [frozenset({port}) if port in inputs else None for port in range(SPEC.ports)]
    want = {port: frozenset(flow.inputs) for flow in phase.flows for port in flow.outputs}
    got = walk(configuration, sent, frozenset.union)
    return got == [want.get(port) for port in range(SPEC.ports)]


def test_a_changed_configuration_is_wrong_where_it_delivers_something_else() -> None:
    entries, want = [], []
    for phase in phase_table(random.Random(1), SPEC, 8):
        good = entry_word(SPEC, phase.configuration, phase.flows, phase.circuit)
        for place in range(configuration_width(SPEC.ports, SPEC.middle)):
            entries.append(good ^ 1 << place)
            want.append(int(delivers(entries[-1], phase)))
    assert {*want} == {0, 1}
    cycles = [{"entry": e, "start": int(n == 0)} for e in entries for n in range(CYCLES)]
    seen = trace(EntryCheck(spec=SPEC), [*cycles, {}], ["right"])
    assert seen[CYCLES::CYCLES] == want


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
