"""Contract of fred_hw.switch.phase_table, cycle by cycle."""

import pytest

from fred_hw.control.phase_entry import entry_bits
from fred_hw.datapath.interconnect import latency_cycles
from fred_hw.spec import SwitchSpec
from fred_hw.switch.phase_table import PhaseTable
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import BARE, LINK
from tests.fred_hw.switch.test_entry_check import GOOD

CHECK = 2 + latency_cycles(BARE.with_changes(adder_registers=0))
WRITE = {"control.write": 1, "control.number": 3, "control.entry": GOOD, "halt.stands": 1}
MOVES = WRITE | {"halt.stands": 0}
WRONG = WRITE | {"control.entry": GOOD ^ 1}
ANSWER = ["control.done", "control.accepted"]


def seen(cycles: list[dict[str, int]], watch: list[str], spec: SwitchSpec = BARE) -> list:
    return trace(PhaseTable(spec=spec, readers=1), cycles, watch)


@pytest.mark.parametrize("wait", [0, 1, 5])
def test_latency_of_a_write_is_that_of_its_check_and_of_its_numbers(wait: int) -> None:
    bare = seen([WRITE] * (CHECK + 3), ANSWER)
    assert bare == [(0, 0)] * (CHECK + 2) + [(1, 1)]
    ready = [WRITE] * (CHECK + 2 + wait) + [WRITE | {"restart.ready": 1}] + [WRITE]
    link = seen(ready, [*ANSWER, "restart.valid", "restart.payload"], LINK)
    assert link == [(0, 0, 0, 3)] * (CHECK + 2) + [(0, 0, 1, 3)] * (wait + 1) + [(1, 1, 0, 3)]


@pytest.mark.parametrize("wait", [1, 2, 9])
@pytest.mark.parametrize("spec", [BARE, LINK], ids=["bare", "link"])
def test_a_phase_is_stopped_first_and_until_it_is_written(wait: int, spec: SwitchSpec) -> None:
    link = spec is LINK
    stands = WRITE | ({"restart.ready": 1} if link else {})
    cycles = [MOVES] * (CHECK + 1 + wait) + [stands] * 4
    found = seen(cycles, ["halt.asked", "update.number", "update.write"], spec)
    stops = 1 + wait + 1 + link  # until it stands, one for the numbers, one to write
    assert [stop for stop, *_ in found[: CHECK + 1 + stops]] == [0] * (CHECK + 1) + [1] * stops
    assert [write for *_, write in found].index(1) == CHECK + stops


def test_latency_of_a_refusal_is_two_cycles_less_and_nothing_is_written() -> None:
    found = seen([WRONG] * (CHECK + 1) + [{"control.number": 3}] * 3, [*ANSWER, "control.stored"])
    assert [answer for *answer, _ in found] == [[0, 0]] * CHECK + [[1, 0]] + [[0, 0]] * 3
    assert not any(stored for *_, stored in found)


def test_latency_of_a_read_is_one_cycle() -> None:
    read = {"reads[0].enable": 1, "reads[0].number": 3, "control.number": 3}
    found = seen([WRITE] * (CHECK + 3) + [{}, read, {}], ["reads[0].entry", "control.stored"])
    assert found[-1] == (GOOD, GOOD)
    assert found[-2] == (0, 0)


def test_the_scheduler_is_told_in_the_cycle_of_the_write() -> None:
    names = ("write", "number", "used", "circuit", "takes", "gives")
    found = seen([WRITE] * (CHECK + 3), [f"update.{name}" for name in names])
    assert [write for write, *_ in found] == [0] * (CHECK + 2) + [1]
    assert found[-1][1:] == (3, 1, 0, 0b0111, 0b1101)


def test_throughput_is_one_entry_in_that_time() -> None:
    found = seen([WRITE] * 3 * (CHECK + 3), ["control.done"])
    assert found == ([0] * (CHECK + 2) + [1]) * 3


def test_reset_forgets_what_is_under_way() -> None:
    cycles = [WRITE, WRITE, {"rst": 1}, *[{}] * (CHECK + 3)]
    assert not any(seen(cycles, ["control.done"]))


@pytest.mark.parametrize(
    ("readers", "kind", "text"),
    [(0, ValueError, "1 or more, not 0"), (True, TypeError, "an integer, not True")],
)
def test_wrong_readers_are_refused(readers: int, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=f"^PhaseTable readers must be {text}$"):
        PhaseTable(spec=BARE, readers=readers)


def test_the_generation_of_the_entry_goes_with_its_numbers() -> None:
    entry = GOOD | 6 << entry_bits(BARE)
    write = WRITE | {"control.entry": entry}
    watch = ["restart.valid", "restart.payload.key", "restart.payload.generation"]
    assert seen([write] * (CHECK + 3), watch, LINK)[-1] == (1, 3, 6)
