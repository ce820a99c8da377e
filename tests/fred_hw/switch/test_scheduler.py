"""Contract of fred_hw.switch.scheduler, cycle by cycle."""

from collections.abc import Mapping

import pytest

from fred_hw.switch.scheduler import Scheduler
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import LINK

MP, PP, DP = range(3)
ONLINE = LINK.protocol.online
Cycle = dict[str, int]


def write(number: int, circuit: int, takes: int, gives: int) -> Cycle:
    values = {"number": number, "used": 1, "circuit": circuit, "takes": takes, "gives": gives}
    return {"halt.asked": 1, "halt.number": number, "update.write": 1} | {
        f"update.{name}": value for name, value in values.items()
    }


TABLE = [write(0, DP, 1, 2), write(1, MP, 2, 4), write(2, DP, 4, 8), write(3, PP, 0b0011, 0b1100)]
ROOM = {f"ports[{k}].room": 7 for k in range(4)}


def waits(port: int, circuit: int, phase: int) -> Cycle:
    return {f"ports[{port}].waiting": 1 << circuit, f"ports[{port}].phases[{circuit}]": phase}


LOW, HIGH, EQUAL = waits(0, DP, 0), waits(1, MP, 1), waits(2, DP, 2)
STANDS, RUNS = {"service.stands": 1}, {"service.runs": 1}
SERVED = ["service.active", "service.phase", "service.circuit"]


def seen(cycles: list[Cycle], watch: list[str]) -> list[tuple[int, ...]]:
    """Return what shows in cycles behind the writing of the table."""
    inputs: list[Mapping[str, int]] = [ROOM | cycle for cycle in [*TABLE, *cycles]]
    return trace(Scheduler(spec=LINK), inputs, watch)[len(TABLE) :]


def test_latency_is_two_cycles_from_a_packet_to_its_phase() -> None:
    found = seen([LOW | STANDS] * 4, ["load", "load_phase", *SERVED])
    assert found[:3] == [(0, 0, 0, 0, 0), (1, 0, 0, 0, 0), (0, 0, 1, 0, DP)]


def test_throughput_is_a_phase_per_cycle() -> None:
    # Both always wait and nothing is under way: they are served round robin.
    found = seen([LOW | EQUAL | STANDS] * 6, ["load", "load_phase"])
    assert found == [(0, 0), (1, 0), (1, 2), (1, 0), (1, 2), (1, 0)]


def test_the_most_urgent_circuit_goes_first() -> None:
    assert seen([LOW | HIGH | EQUAL | STANDS] * 3, SERVED)[2] == (1, 1, MP)


@pytest.mark.parametrize("under_way", range(4))
def test_preempting_is_told_once_when_the_packets_end(under_way: int) -> None:
    serve = [LOW | STANDS] * 2
    cycles = [*serve, LOW | RUNS, *[HIGH | RUNS] * (under_way + 1), HIGH, HIGH | RUNS, RUNS]
    found = seen(cycles, ["service.leaving", "load", "preempts", "service.phase"])
    start = len(serve) + 2
    assert found[start:] == [
        *[(1, 0, 0, 0)] * under_way,
        (1, 1, 1, 0),
        (0, 0, 0, 1),
        (0, 0, 0, 1),
    ]


def test_a_phase_that_is_not_under_way_is_not_preempted() -> None:
    cycles = [LOW | STANDS] * 3 + [HIGH | STANDS] * 4
    found = seen(cycles, ["load", "preempts"])
    assert [load for load, _ in found] == [0, 1, 0, 0, 1, 0, 0]
    assert [preempts for _, preempts in found] == [0] * 7


def test_one_of_the_same_circuit_waits_for_a_packet_and_preempts_nothing() -> None:
    both = LOW | EQUAL
    serve = [both | STANDS] * 2
    cycles = [*serve, *[both | RUNS] * 3, both | RUNS | {"service.ran": 1}, both, both | RUNS]
    found = seen(cycles, ["service.leaving", "load", "preempts"])
    assert found[2:] == [(0, 0, 0)] * 4 + [(1, 1, 0), (0, 0, 0)]


def test_a_phase_with_one_ready_flow_is_found_two_cycles_later() -> None:
    # Port 1 of phase 3 has no packet, but port 0 is a flow of its own.
    partly = waits(0, PP, 3) | STANDS | {"probed.inputs[0]": 1, "probed.outputs[2]": 1}
    found = seen([partly] * 5, ["probe", "load", "load_phase"])
    assert [load for _, load, _ in found] == [0, 0, 0, 1, 0]
    assert found[1][0] == found[3][2] == 3


@pytest.mark.parametrize("reaches", [0, 1])
def test_unicasts_of_a_circuit_are_served_together(reaches: int) -> None:
    cycle = waits(3, PP, ONLINE) | STANDS | {"ports[3].reaches": reaches << PP}
    found = seen([cycle] * 3, ["service.active", "service.online", *SERVED[1:]])
    assert found[2] == ((1, 1, ONLINE, PP) if reaches else (0, 0, 0, 0))


def test_ports_are_told_which_phases_they_serve() -> None:
    found = seen([{}], [f"ports[{k}].serves" for k in range(4)])[0]
    phases = LINK.protocol.phases
    want = [1 << DP * phases | 8 << PP * phases, 2 | 8 << PP * phases, 4 << DP * phases, 0]
    assert list(found) == want


@pytest.mark.parametrize("under_way", range(3))
def test_a_phase_that_is_to_change_ends_its_packets_and_is_left(under_way: int) -> None:
    stop = LOW | {"halt.asked": 1, "halt.number": 0}
    cycles = [LOW | STANDS] * 2 + [LOW | RUNS] + [stop | RUNS] * (under_way + 1) + [stop]
    cycles += [stop | STANDS] * 2 + [LOW | write(0, DP, 1, 2) | STANDS] + [LOW | STANDS] * 4
    found = seen(cycles, ["service.leaving", "halt.stands", "load", "service.active"])
    assert found[3:] == [
        (0, 0, 0, 1),
        *[(1, 0, 0, 1)] * (under_way + 2),  # nothing starts, until nothing is under way
        (0, 1, 0, 0),
        (0, 1, 0, 0),  # the change is written
        (0, 1, 0, 0),
        (0, 0, 1, 0),  # it is ready again, two cycles later
        (0, 0, 0, 1),
        (0, 0, 0, 1),
    ]


def test_another_phase_takes_the_place_of_one_that_is_to_change() -> None:
    both, stop = LOW | EQUAL, {"halt.asked": 1, "halt.number": 0}
    cycles = [LOW | STANDS] * 2 + [both | RUNS] * 2 + [both | RUNS | stop] * 2 + [both | stop] * 2
    found = seen(cycles, ["halt.stands", "load", "load_phase", "service.phase"])
    assert found[4:] == [(0, 0, 2, 0), (0, 0, 2, 0), (0, 1, 2, 0), (1, 0, 0, 2)]


def test_latency_is_a_cycle_until_a_phase_that_is_not_served_stands_still() -> None:
    stop = {"halt.asked": 1, "halt.number": 2}
    cycles = [LOW | EQUAL | STANDS] + [LOW | EQUAL | STANDS | stop] * 4
    found = seen(cycles, ["halt.stands", "load", "load_phase"])
    assert [stands for stands, *_ in found[1:]] == [0, 1, 1, 1]
    assert {phase for _, load, phase in found if load} == {0}


def test_reset_forgets_all_phases() -> None:
    cycles = [LOW | STANDS] * 3 + [{"rst": 1}] + [LOW | STANDS] * 4
    assert [active for active, *_ in seen(cycles, SERVED)] == [0, 0, 1, 1, 0, 0, 0, 0]
