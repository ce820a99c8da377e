"""Contract of fred_hw.switch.entry_check, cycle by cycle."""

import pytest

from fred_hw.compiler.flows import Flow
from fred_hw.compiler.routing import route
from fred_hw.control.phase_entry import entry_word, phase_fields
from fred_hw.datapath.interconnect import latency_cycles
from fred_hw.spec import SwitchSpec
from fred_hw.switch.entry_check import EntryCheck
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
