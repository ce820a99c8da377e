"""Contract of fred_hw.switch.phase_table, cycle by cycle."""

from collections import deque

import pytest

from fred_hw.control.phase_entry import entry_bits
from fred_hw.protocol import GENERATION_BITS
from fred_hw.switch.phase_table import PhaseTable
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import LINK
from tests.fred_hw.switch.test_entry_check import GOOD

CHECK = 2 + LINK.ports
WRITE = {"control.write": 1, "control.number": 3, "control.entry": GOOD}
WRITE |= {"halt.stands": 1, "restart.ready": 1}
MOVES = WRITE | {"halt.stands": 0}
WRONG = WRITE | {"control.entry": GOOD ^ 1}
DONE = CHECK + 3  # a cycle each: its phase stands, its numbers start at 0, it is written
ANSWER = ["control.done", "control.accepted"]


PHASES = LINK.protocol.phases


def seen(cycles: list[dict[str, int]], watch: list[str]) -> list:
    """Return what shows once all entries are erased."""
    return trace(PhaseTable(spec=LINK, readers=1), [{}] * PHASES + cycles, watch)[PHASES:]


@pytest.mark.parametrize("wait", [0, 1, 5])
def test_latency_of_a_write_is_that_of_its_check_and_of_its_numbers(wait: int) -> None:
    cycles = [WRITE | {"restart.ready": 0}] * (DONE - 1 + wait) + [WRITE] * 2
    found = seen(cycles, [*ANSWER, "restart.valid", "restart.payload"])
    assert found == [(0, 0, 0, 3)] * (DONE - 1) + [(0, 0, 1, 3)] * (wait + 1) + [(1, 1, 0, 3)]


@pytest.mark.parametrize("wait", [1, 2, 9])
def test_a_phase_is_stopped_first_and_until_it_is_written(wait: int) -> None:
    cycles = [MOVES] * (CHECK + 1 + wait) + [WRITE] * 4
    found = seen(cycles, ["halt.asked", "update.number", "update.write"])
    stops = 1 + wait + 2  # until it stands, one for the numbers, one to write
    assert [stop for stop, *_ in found[: CHECK + 1 + stops]] == [0] * (CHECK + 1) + [1] * stops
    assert [write for *_, write in found].index(1) == CHECK + stops


def test_latency_of_a_refusal_is_two_cycles_less_and_nothing_is_written() -> None:
    found = seen([WRONG] * (CHECK + 1) + [{"control.number": 3}] * 3, [*ANSWER, "control.stored"])
    assert [answer for *answer, _ in found] == [[0, 0]] * CHECK + [[1, 0]] + [[0, 0]] * 3
    assert not any(stored for *_, stored in found)


def of_generation(generation: int) -> int:
    return GOOD | generation << entry_bits(LINK) - GENERATION_BITS


@pytest.mark.parametrize(
    ("generations", "accepted"),
    [
        ((0, 1, 2, 7), [1, 1, 1, 1]),
        ((3, 5), [1, 1]),
        ((0, 0, 1), [1, 0, 1]),
        ((7, 0, 7), [1, 0, 0]),
        ((5, 4, 5, 6), [1, 0, 0, 1]),
    ],
)
def test_generations_rise_while_packets_of_the_phase_are_queued(
    generations: tuple[int, ...], accepted: list[int]
) -> None:
    """Nothing is queued of the phase when the first is written, whatever other phases have."""
    given: list[dict[str, int]] = []
    for place, (generation, takes) in enumerate(zip(generations, accepted, strict=True)):
        write = WRITE | {"control.entry": of_generation(generation)}
        cycles = (DONE if takes else CHECK) + 1
        given += [write | {"queued": 0b1000 if place else 0b0111}] * cycles
    assert [right for done, right in seen(given, ANSWER) if done] == accepted


@pytest.mark.parametrize("rises", [True, False])
def test_no_queued_packet_outlives_the_generations_between(rises: bool) -> None:
    """All histories of three generations and three packets, with and without the rule above.

    A state has the generation of the last entry, and of each packet its generation and whether it
    is of an entry before. A switch may sit out any number of generations.
    """
    seen, waiting = {(0, ())}, deque([(0, ())])
    found = False
    while waiting:
        last, queue = waiting.popleft()
        found |= (last, True) in queue
        following = [(last, queue[:k] + queue[k + 1 :]) for k in range(len(queue))]
        if len(queue) < 3:
            following.append((last, tuple(sorted((*queue, (last, False))))))
        following += [
            (new, tuple(sorted((generation, True) for generation, _ in queue)))
            for new in range(3)
            if not queue or new > last or not rises
        ]
        waiting.extend(one for one in dict.fromkeys(following) if one not in seen)
        seen.update(following)
    assert found != rises
    assert len(seen) > 20


def test_any_generation_is_taken_once_no_packet_is_queued_and_a_phase_is_erased_at_any_time() -> (
    None
):
    erase = WRITE | {"control.entry": 0, "queued": 0b1000}
    given = [WRITE] * (DONE + 1) + [erase] * (DONE + 1)
    again = WRITE | {"queued": 0b1000}
    given += [again] * (CHECK + 1) + [WRITE] * (DONE + 1)
    assert [right for done, right in seen(given, ANSWER) if done] == [1, 1, 0, 1]


def test_latency_of_a_read_is_one_cycle() -> None:
    read = {"reads[0].enable": 1, "reads[0].number": 3, "control.number": 3}
    found = seen([WRITE] * (DONE + 1) + [{}, read, {}], ["reads[0].entry", "control.stored"])
    assert found[-1] == (GOOD, GOOD)
    assert found[-2] == (0, 0)


def test_the_scheduler_is_told_in_the_cycle_of_the_write() -> None:
    names = ("write", "number", "used", "circuit", "takes", "gives")
    found = seen([WRITE] * (DONE + 1), [f"update.{name}" for name in names])
    assert [write for write, *_ in found] == [0] * DONE + [1]
    assert found[-1][1:] == (3, 1, 0, 0b0111, 0b1101)


def test_throughput_is_one_entry_in_that_time() -> None:
    found = seen([WRITE] * 3 * (DONE + 1), ["control.done"])
    assert found == ([0] * DONE + [1]) * 3


def test_reset_forgets_what_is_under_way() -> None:
    cycles = [WRITE, WRITE, {"rst": 1}, *[{}] * (PHASES + DONE + 1)]
    assert not any(seen(cycles, ["control.done"]))


def test_reset_erases_all_entries_while_writes_wait() -> None:
    read = {"reads[0].enable": 1, "reads[0].number": 3, "control.number": 3}
    cycles = [WRITE] * (DONE + 1) + [read, {"rst": 1}, *[read] * (PHASES + 2)]
    found = seen(cycles, ["reads[0].entry", "control.stored"])
    # The memory still has it at first, which is hidden from software alone.
    assert found[DONE + 2] == (GOOD, GOOD)
    assert [stored for _, stored in found[DONE + 3 :]] == [0] * (PHASES + 2)
    assert [entry for entry, _ in found[DONE + 3 :]] == [GOOD] * (PHASES + 1) + [0]
    again = seen([{"rst": 1}, *[WRITE] * (PHASES + DONE + 1)], ["control.done"])
    assert again == [0] * (PHASES + DONE + 1) + [1]


def test_an_entry_is_read_for_software_once_its_write_is_over() -> None:
    found = seen([WRITE] * (DONE + 3) + [{"control.number": 3}] * 2, ["control.stored"])
    assert found == [0] * (DONE + 4) + [GOOD]


@pytest.mark.parametrize(
    ("readers", "kind", "text"),
    [(0, ValueError, "1 or more, not 0"), (True, TypeError, "an integer, not True")],
)
def test_wrong_readers_are_refused(readers: int, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=f"^PhaseTable readers must be {text}$"):
        PhaseTable(spec=LINK, readers=readers)


def test_the_generation_of_the_entry_goes_with_its_numbers() -> None:
    entry = GOOD | 6 << entry_bits(LINK) - GENERATION_BITS
    write = WRITE | {"control.entry": entry}
    watch = ["restart.valid", "restart.payload.key", "restart.payload.generation"]
    assert seen([write] * DONE, watch)[-1] == (1, 3, 6)
