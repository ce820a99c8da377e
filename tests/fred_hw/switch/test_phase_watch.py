"""Contract of fred_hw.switch.phase_watch, cycle by cycle."""

import pytest

from fred_hw.switch.phase_watch import PhaseWatch
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import LINK

PP = 1
ENTRY = {
    "number": 2,
    "update.write": 1,
    "update.number": 2,
    "update.used": 1,
    "update.circuit": PP,
    "update.takes": 0b0101,
    "update.gives": 0b0010,
}
WAITS = {f"{name}[{k}]": 1 << PP for name, k in (("waiting", 0), ("waiting", 2), ("space", 1))}
HEADS = {f"heads[{k}][{PP}]": 2 for k in (0, 2)}
READY = WAITS | HEADS


def seen(cycles: list[dict[str, int]], watch: list[str]) -> list[tuple[int, ...]]:
    return trace(PhaseWatch(spec=LINK), [{"number": 2} | cycle for cycle in cycles], watch)


def test_latency_is_one_cycle_from_ports_and_from_an_update() -> None:
    watch = ["used", "circuit", "takes", "complete", "some"]
    assert seen([ENTRY, READY, {}, {}], watch) == [
        (0, 0, 0, 0, 0),
        (1, PP, 5, 0, 0),
        (1, PP, 5, 1, 1),
        (1, PP, 5, 0, 0),
    ]


def test_an_update_makes_what_was_complete_before_of_no_account() -> None:
    found = seen([ENTRY, READY, READY | ENTRY, READY, {}], ["complete", "some"])
    assert found == [(0, 0), (0, 0), (1, 1), (0, 0), (1, 1)]


def test_throughput_is_every_cycle() -> None:
    cycles = [ENTRY, READY, {}, READY, {}, READY, {}]
    assert seen(cycles, ["complete"]) == [0, 0, 1, 0, 1, 0, 1]


def test_ports_that_have_a_packet_and_space_show_in_the_same_cycle() -> None:
    assert seen([ENTRY, READY], ["there", "free"])[1] == (0b0101, 0b0010)


@pytest.mark.parametrize(
    ("change", "some"),
    [
        ({"waiting[2]": 0}, 1),
        ({"waiting[2]": 0b101}, 1),
        ({f"heads[2][{PP}]": 1}, 1),
        ({"space[1]": 0b101}, 1),
        ({"waiting[0]": 0, "waiting[2]": 0}, 0),
    ],
    ids=["no packet", "other circuit", "other phase", "no space", "none"],
)
def test_one_that_lacks_anything_is_not_complete(change: dict[str, int], some: int) -> None:
    assert seen([ENTRY, READY | change, {}], ["complete", "some"])[2] == (0, some)


def test_updates_of_other_phases_change_nothing() -> None:
    other = {"update.write": 1, "update.number": 1, "update.used": 1}
    assert seen([ENTRY, other, {}], ["used", "takes"])[2] == (1, 5)


def test_reset_forgets_the_phase() -> None:
    assert seen([ENTRY, {"rst": 1}, READY, {}], ["used", "complete"])[2:] == [(0, 0)] * 2
