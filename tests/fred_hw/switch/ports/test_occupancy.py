"""Contract of fred_hw.switch.ports.occupancy, cycle by cycle."""

from fred_hw.switch.ports.occupancy import Occupancy
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import LINK

MP, PP, DP = range(3)


def comes(phase: int) -> dict[str, int]:
    return {"enters": 1, "comes": phase}


def goes(**phases: int) -> dict[str, int]:
    """Return inputs with which packets leave circuits."""
    circuits = {("mp", "pp", "dp").index(name): phase for name, phase in phases.items()}
    leaves = sum(1 << circuit for circuit in circuits)
    return {"leaves": leaves} | {f"goes[{circuit}]": phase for circuit, phase in circuits.items()}


def queued(inputs: list[dict[str, int]]) -> list[int]:
    return trace(Occupancy(spec=LINK), inputs, ["queued"])


def unicasts(inputs: list[dict[str, int]]) -> list[int]:
    return trace(Occupancy(spec=LINK), inputs, ["unicasts"])


def test_latency_is_two_cycles() -> None:
    assert queued([comes(2), {}, {}, goes(mp=2), {}, {}]) == [0, 0, *[0b100] * 3, 0]


def test_a_packet_that_leaves_a_cycle_after_it_came_is_there_for_a_cycle() -> None:
    assert queued([comes(2), goes(dp=2), {}, {}]) == [0, 0, 0b100, 0]


def test_throughput_is_a_packet_in_and_one_from_each_circuit_per_cycle() -> None:
    inputs = [*[comes(1)] * 3, comes(1) | goes(mp=1, pp=1, dp=1), {}, goes(dp=1), {}, {}]
    assert queued(inputs) == [0, 0, *[0b0010] * 5, 0]


def test_all_packets_of_full_queues_are_counted() -> None:
    most = 3 * LINK.protocol.buffer_flits
    inputs = [*[comes(3)] * most, *[goes(pp=3)] * most, {}, {}]
    assert queued(inputs) == [0, 0, *[0b1000] * (2 * most - 1), 0]


def test_phases_are_counted_apart() -> None:
    inputs = [comes(0), comes(3), comes(LINK.protocol.online), goes(mp=3, dp=0), {}, {}]
    assert queued(inputs) == [0, 0, 0b0001, 0b1001, 0b1001, 0]


def test_latency_of_unicasts_is_two_cycles_and_those_of_all_circuits_are_counted() -> None:
    online = LINK.protocol.online
    inputs = [comes(online), comes(online), comes(1), goes(mp=online), goes(dp=online, pp=1), {}]
    assert unicasts([*inputs, {}]) == [0, 0, *[1] * 4, 0]


def test_reset_forgets_all_packets_also_those_that_are_not_counted_yet() -> None:
    assert queued([comes(1), {}, {"rst": 1}, {}, {}]) == [0, 0, 0b0010, 0, 0]
    assert queued([comes(1), {"rst": 1}, {}, {}]) == [0, 0, 0, 0]
    assert queued([comes(1), {"rst": 1} | comes(1), {}, {}]) == [0, 0, 0, 0]
