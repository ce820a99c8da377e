"""Contract of fred_hw.mesh.router_input, cycle by cycle."""

from collections.abc import Sequence
from typing import Any

import pytest

from fred_hw.mesh.plan import DIRECTIONS
from fred_hw.mesh.router_input import RouterInput
from fred_hw.protocol import CONTROL, Kind
from testbench.models.endpoint import Flit
from tests.fred_hw.mesh.links import CODEC, packet
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import MESH, link_flit

EAST, LOCAL = DIRECTIONS.index("east"), DIRECTIONS.index("local")
HEAD = ["head.here", "head.valid", "head.last", "head.broken", "head.coming"]
START, TAKE = {"head.start": 1, "head.take": 1}, {"head.take": 1}


def seen(
    flits: Sequence[Flit | None], watch: Sequence[str], more: dict[int, dict[str, int]]
) -> list[Any]:
    """Return what the input of the router in the north west shows; ``more`` is by cycle."""
    cycles = [{} if flit is None else link_flit(flit) for flit in flits]
    inputs = [one | more.get(cycle, {}) for cycle, one in enumerate(cycles)]
    return trace(RouterInput(mesh=MESH, directions=DIRECTIONS), inputs, watch)


def test_latency_is_two_cycles_to_the_head_and_three_to_where_it_goes() -> None:
    found = seen([*packet(2, 2), *[None] * 3], HEAD, {})
    east = 1 << EAST
    assert [one[0] for one in found] == [0, 0, 1, 1, 1]
    assert [one[-1] for one in found] == [0, 0, 0, east, east]


def test_latency_from_a_flit_that_is_taken_is_a_cycle() -> None:
    more = {2: START, 3: TAKE | {"head.finish": 1}}
    found = seen([*packet(2, 0), *[None] * 4], ["flit.valid", "flit.data"], more)
    assert [data for valid, data in found if valid] == [1, 2]
    assert [valid for valid, _ in found] == [0, 0, 0, 1, 1, 0]


def test_throughput_is_a_flit_per_cycle_on_any_circuit() -> None:
    one, two = (packet(4, 1, circuit=c) for c in (0, 2))
    more = {k: TAKE | ({"head.start": 1} if k in (2, 6) else {}) for k in range(2, 10)}
    more |= {k: more[k] | {"head.finish": 1} for k in (5, 9)}
    more |= {k: more[k] | {"head.circuit": 2} for k in range(6, 10)}
    found = seen([*one, *two, *[None] * 4], ["flit.valid", "flit.data", "came"], more)
    assert [data for valid, data, _ in found if valid] == [1, 2, 3, 4] * 2
    assert [came for _, _, came in found[1:9]] == [1] * 8


def test_messages_go_by_the_way_of_their_destination() -> None:
    ack = {"kind": Kind.ACK, "circuit": CONTROL, "unicast": 1, "sequence": 7}
    flits = [CODEC.pack(**ack, destination=address) for address in (0, 1)]
    found = seen([*flits, None], ["message.valid", "exit", "message.payload.sequence"], {})
    assert found == [(0, 0, 0), (1, LOCAL, 7), (1, EAST, 7)]


@pytest.mark.parametrize(
    "flits",
    [
        packet(1, MESH.plan.addresses),
        [CODEC.pack(1, kind=Kind.DATA, phase=0)],
        [CODEC.pack(kind=Kind.ACK, circuit=CONTROL, phase=0)],
        [CODEC.pack(kind=Kind.NACK, circuit=CONTROL, unicast=1, destination=127)],
    ],
    ids=["packet to nowhere", "packet of a phase", "ack of a phase", "nack to nowhere"],
)
def test_what_has_no_way_is_dropped_and_told(flits: list[Flit]) -> None:
    watch = ["route", "dropped", "message.valid", "head.here", "credit.here.limit[0]"]
    found = seen([*flits, *packet(1, 1, link_sequence=1), *[None] * 5], watch, {})
    assert [one[:3] for one in found[:3]] == [(0, 0, 0), (1, 1, 0), (0, 0, 0)]
    # What comes behind it is not concerned, and its space is free.
    assert found[-1][3] == 1
    assert found[-1][4] == MESH.protocol.buffer_flits + 1


def test_the_rest_of_a_packet_that_breaks_off_is_reported() -> None:
    timeout = MESH.protocol.packet_timeout_cycles
    first = packet(3, 1)[:1]
    found = seen([*first, *[None] * (timeout + 6)], HEAD, {3: START})
    assert [one[3] for one in found].index(1) == timeout + 3


def test_what_waits_for_two_ticks_is_thrown_away() -> None:
    found = seen(
        [*packet(1, 1), *[None] * 7], ["stuck", "head.here"], {4: {"tick": 1}, 6: {"tick": 1}}
    )
    assert found[6:] == [(0, 1), (1, 0)]


def test_reset_forgets_all_packets() -> None:
    found = seen([*packet(2, 1), *[None] * 4], HEAD, {3: {"rst": 1}})
    assert found[3][0] == 1
    assert [(one[0], one[-1]) for one in found[4:]] == [(0, 0)] * 2
