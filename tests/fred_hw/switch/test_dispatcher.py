"""Contract of fred_hw.switch.dispatcher, cycle by cycle."""

from fred_hw.switch.dispatcher import Dispatcher
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import LINK

PP = 1
# Phase 2 on PP: port 0 to port 3.
SERVED = {
    "service.active": 1,
    "service.phase": 2,
    "service.circuit": PP,
    "entry.inputs[0]": 1,
    "entry.outputs[3]": 1,
    "entry.configuration": 77,
    "heads[0].waiting": 1 << PP,
    f"heads[0].descriptor[{PP}].phase": 2,
    f"heads[0].descriptor[{PP}].sequence": 9,
    "heads[0].valid": 1,
    "heads[0].word": 5,
    "injections[3].room": 7,
}
FLIT = ["heads[0].start", "heads[0].take", "flits[0].valid", "flits[0].data", "injections[3].start"]


def seen(cycles: list[dict[str, int]], watch: list[str]) -> list:
    return trace(Dispatcher(spec=LINK), [SERVED | cycle for cycle in cycles], watch)


def test_latency_is_none_for_flits_and_one_cycle_for_room() -> None:
    found = seen([{}, {}], [*FLIT, "moving"])
    assert found == [(0, 0, 0, 5, 0, 0), (1, 1, 1, 5, 1, 1)]
    descriptor = seen([{}, {}], ["injections[3].descriptor.sequence", "configuration"])
    assert descriptor[1] == (9, 77)


def test_throughput_is_a_flit_per_cycle_and_packets_without_a_gap() -> None:
    cycles = [{}, *[{"heads[0].last": n % 2} for n in range(6)]]
    found = seen(cycles, ["heads[0].start", "heads[0].take", "heads[0].finish"])
    assert found[1:] == [(1, 1, 0), (0, 1, 1)] * 3


def test_nothing_starts_while_it_may_not() -> None:
    for name, value in (("hold", 1), ("service.leaving", 1), ("service.active", 0)):
        assert seen([{name: value}] * 3, ["flits[0].valid"]) == [0, 0, 0]


def test_what_goes_on_is_told_to_the_scheduler() -> None:
    watch = ["service.runs", "service.stands", "service.ran"]
    found = seen(
        [{}, {}, {"heads[0].last": 1, "service.leaving": 1}, {"service.leaving": 1}], watch
    )
    assert found == [(0, 1, 0), (1, 0, 1), (0, 0, 0), (0, 1, 0)]


def test_a_unicast_goes_to_its_peer_and_is_told_its_source() -> None:
    unicast = {"service.online": 1, "service.phase": LINK.protocol.online}
    unicast |= {
        f"heads[0].descriptor[{PP}].phase": LINK.protocol.online,
        f"heads[0].descriptor[{PP}].peer": 3,
    }
    watch = ["flits[0].valid", "injections[3].start", "injections[3].descriptor.peer"]
    # Room counts a cycle late, then a path is found, then the packet starts.
    assert seen([unicast] * 3, watch)[2] == (1, 1, 0)


def test_reset_forgets_the_packet_under_way() -> None:
    nothing = {"heads[0].waiting": 0, "heads[0].valid": 0}
    found = seen([{}, {}, nothing | {"rst": 1}, nothing], ["service.stands"])
    assert found == [1, 0, 0, 1]
