"""Tests of fred_hw.ace.prepare."""

import re
from typing import Any

import pytest

from fred_hw.ace.prepare import REASONS, AcePrepare, descriptor_layout
from fred_hw.ace.work import work_layout
from fred_hw.protocol import FULL_GENERATION_BITS
from fred_hw.spec import SwitchSpec
from tests.fred_hw.simulation import trace

from .works import SPEC, TABLE, packed, ring_work

KEEP = {"keep": 1}
FLOWS: dict[str, Any] = {"send": {"number": 1}, "receive": {"number": 1}}
RING: dict[str, Any] = {
    "bytes": 22,
    "block_bytes": 6,
    "message_bytes": 4,
    "members": 4,
    "rank": 2,
    "fsms": 2,
    **FLOWS,
}
EXCHANGE: dict[str, Any] = {"bytes": 8, "receive_bytes": 6, **FLOWS}


def prepared(operation: int, circuit: int = 0, space: int = 7, **fields: Any) -> list[Any]:
    """Return ``valid``, ``refused`` and ``o``, cycle by cycle, from the descriptor on."""
    given = packed(descriptor_layout(), **fields)
    return trace(
        AcePrepare(spec=SPEC),
        [
            {"operation": operation, "circuit": circuit, "descriptor": given},
            *[{}] * (80 if fields.get("members") == 65 else 14),
        ],
        ("valid", "refused", "o"),
        ready=space,
    )


def refusal(*arguments: int, **fields: Any) -> str | None:
    """Return why a descriptor is refused."""
    seen = [one[1] for one in prepared(*arguments, **fields) if one[1]]
    return REASONS[seen[0].bit_length() - 1] if seen else None


def ring(operation: str, rank: int) -> int:
    """Return the work of a ring in the flows of ``FLOWS``."""
    flow = {"phase": 1}
    named = packed(work_layout(SPEC), send=flow, receive=flow, sets_send=1, sets_receive=1)
    return ring_work(operation, rank=rank, total=11, message=2) | named


def test_latency_of_a_ring_and_of_an_exchange() -> None:
    seen = prepared(3, 2, **RING)
    assert [(k, one[0]) for k, one in enumerate(seen) if one[0]] == [(11, 4)]
    assert seen[11][2] == ring("all_reduce", 2)
    seen = prepared(2, 1, **EXCHANGE)
    assert [(k, one[0]) for k, one in enumerate(seen) if one[0]] == [(4, 2)]
    work = work_layout(SPEC).from_bits(seen[4][2])
    assert (work.total, work.direct, work.expected) == (4, 3, 3)
    assert (work.steps, work.receives) == (1, 0)


@pytest.mark.parametrize("operation", ["all_reduce", "reduce_scatter", "all_gather"])
def test_rings_of_all_kinds(operation: str) -> None:
    number = ["all_reduce", "reduce_scatter", "all_gather"].index(operation) + 3
    for rank in range(4):
        seen = prepared(number, **(RING | {"rank": rank}))
        assert seen[11][2] == ring(operation, rank)


@pytest.mark.parametrize(
    ("reason", "operation", "fields"),
    [
        ("operation", 6, {}),
        ("alignment", 3, {"source": 1}),
        ("alignment", 3, {"message_bytes": 5}),
        ("flow", 3, {"send": {"number": 4}}),
        ("size", 3, {"members": 1}),
        ("size", 3, {"members": 65}),
        ("size", 3, {"rank": 4}),
        ("size", 3, {"fsms": 0}),
        ("size", 3, {"fsms": 3}),
        ("size", 3, {"message_bytes": 6}),
        ("size", 3, {"message_bytes": 0}),
        ("size", 3, {"block_bytes": 4}),
        ("size", 3, {"block_bytes": 24}),
        ("size", 3, {"source": 1 << 40}),
        ("size", 3, {"bytes": 1 << 31}),
        (None, 3, {"send": {"number": 127, "kind": 1}}),
        (None, 3, {"block_bytes": 22}),
        # Buffers may end where memory does, not behind it.
        (None, 3, {"source": (1 << 40) - 22, "destination": (1 << 40) - 22}),
        ("size", 3, {"source": (1 << 40) - 20}),
        ("size", 5, {"destination": (1 << 40) - 20}),
        (None, 2, {"destination": (1 << 40) - 6, "receive_bytes": 6}),
        ("size", 2, {"destination": (1 << 40) - 4, "receive_bytes": 6}),
    ],
)
def test_what_is_refused(reason: str | None, operation: int, fields: dict[str, Any]) -> None:
    assert refusal(operation, **(RING | fields)) == reason


@pytest.mark.parametrize(
    ("operation", "fields"),
    [
        (3, {"receive_bytes": 5}),
        (3, {"receive_bytes": 1 << 31}),
        (2, {"block_bytes": 5, "message_bytes": 1 << 31, "members": 0}),
        (1, {"bytes": 5, "receive_bytes": 1 << 31, "source": 1 << 63, "block_bytes": 0}),
    ],
)
def test_fields_that_an_operation_has_no_use_for_do_not_matter(
    operation: int, fields: dict[str, Any]
) -> None:
    assert refusal(operation, **(RING | fields)) is None


@pytest.mark.parametrize(
    ("reason", "operation", "kept", "fields"),
    [
        ("flow", 2, ["send"], {}),
        ("flow", 2, ["receive"], {}),
        ("flow", 3, ["send"], {}),
        ("flow", 3, ["receive"], {}),
        (None, 2, ["send"], {"bytes": 0}),
        (None, 2, ["receive"], {"receive_bytes": 0}),
        (None, 1, ["send", "receive"], {}),
    ],
)
def test_flow_that_is_used_cannot_stay_as_it_is(
    reason: str | None, operation: int, kept: list[str], fields: dict[str, Any]
) -> None:
    given = {**RING, "receive_bytes": 6, **dict.fromkeys(kept, KEEP)} | fields
    assert refusal(operation, **given) == reason


def flows(send: tuple[int, int] | None, receive: tuple[int, int] | None = None) -> int:
    """Return a descriptor that sets flows: phase and generation of each, or one that stays."""
    said = {
        name: {"keep": 1} if one is None else {"number": one[0], "generation": one[1]}
        for name, one in (("send", send), ("receive", receive))
    }
    return packed(descriptor_layout(), **said)


def refusals(*steps: tuple[str, int]) -> list[int]:
    """Return which descriptors are refused; each step is one, or phases to forget."""
    inputs: list[dict[str, int]] = []
    for what, value in steps:
        given = {"operation": 1, "descriptor": value} if what == "set" else {"forget": value}
        inputs += [given, *[{}] * 5]
    seen = trace(AcePrepare(spec=SPEC), inputs, ["refused"], ready=7)
    refused = [sum(seen[first : first + 6]) for first in range(0, len(seen), 6)]
    kinds = [what for what, _ in steps]
    return [one for one, what in zip(refused, kinds, strict=True) if what == "set"]


FLOW_REFUSED = 1 << REASONS.index("flow")


@pytest.mark.parametrize("side", [0, 1])
def test_a_phase_has_one_generation_until_it_is_forgotten(side: int) -> None:
    def named(phase: int, generation: int) -> tuple[str, int]:
        flow = phase, generation
        return "set", flows(None, flow) if side else flows(flow)

    steps = [named(1, 0), named(1, 0), named(2, 5), named(1, 1), ("forget", 0b10), named(1, 1)]
    steps += [named(2, 6), named(2, 5), named(1, 2)]
    wrong = FLOW_REFUSED
    assert refusals(*steps) == [0, 0, 0, wrong, 0, wrong, 0, wrong]


@pytest.mark.parametrize("bit", range(FULL_GENERATION_BITS))
@pytest.mark.parametrize("side", ["send", "receive"])
def test_generations_are_compared_whole(side: str, bit: int) -> None:
    """Also where packets have the same lowest bits, as after eight writings of a phase."""
    first, other = ({"number": 1, "generation": one} for one in (0x5A5A, 0x5A5A ^ 1 << bit))
    keep = {"send": KEEP, "receive": KEEP}
    sets = [packed(descriptor_layout(), **(keep | {side: one})) for one in (first, other)]
    steps = [("set", sets[0]), ("set", sets[1]), ("forget", 0b10), ("set", sets[1])]
    assert refusals(*steps) == [0, FLOW_REFUSED, 0]


def test_packets_get_the_lowest_bits_of_a_generation() -> None:
    flow = {"number": 1, "generation": 0x5A5D}
    work = work_layout(SPEC).from_bits(
        prepared(2, **(EXCHANGE | {"send": flow, "receive": flow}))[4][2]
    )
    assert (work.send.generation, work.receive.generation) == (5, 5)


def test_both_flows_of_a_descriptor_are_compared_with_each_other_and_with_before() -> None:
    steps = [flows((1, 0), (1, 1)), flows((1, 3), (2, 4)), flows((2, 4), (1, 3))]
    steps += [flows((2, 4), (1, 4)), flows((2, 3), (1, 3))]
    wrong = FLOW_REFUSED
    assert refusals(*(("set", one) for one in steps)) == [wrong, 0, 0, wrong, wrong]


@pytest.mark.parametrize("side", ["send", "receive"])
@pytest.mark.parametrize("other", ["kind", "keep"])
def test_unicast_and_a_flow_that_stays_name_no_phase_of_their_number(side: str, other: str) -> None:
    """Neither when a phase was named before, nor as one that is named itself."""
    sets = {"send": KEEP, "receive": KEEP}
    flow = {"number": 1, "generation": 5}
    phase = packed(descriptor_layout(), **(sets | {side: flow}))
    second = packed(descriptor_layout(), **(sets | {side: {"number": 1, other: 1}}))
    assert refusals(("set", phase), ("set", second), ("set", phase)) == [0, 0, 0]
    assert refusals(("set", second), ("set", phase), ("set", second)) == [0, 0, 0]


def test_descriptor_that_is_discarded_leaves_no_generation() -> None:
    """It names its phases while it is prepared, as every descriptor does."""
    steps = [(flows((1, 5)), 1), (flows((1, 0), (2, 3)), 0), (flows((1, 5)), 0), (flows(None), 0)]
    inputs = [
        {"operation": int(not cycle), "descriptor": one, "discards": discards}
        for one, discards in steps
        for cycle in range(6)
    ]
    seen = trace(AcePrepare(spec=SPEC), inputs, ("refused", "phases"), ready=7)
    refused = [sum(one for one, _ in seen[first : first + 6]) for first in range(0, len(seen), 6)]
    assert refused == [0, 0, FLOW_REFUSED, 0]
    named = [[phases for _, phases in seen[first : first + 6]] for first in range(0, len(seen), 6)]
    assert named == [[0, *[phases] * 4, 0] for phases in (0b10, 0b110, 0b10, 0)]


def test_full_queue_and_no_such_circuit() -> None:
    assert refusal(2, 1, 0b101, **(EXCHANGE | FLOWS)) == "full"
    assert refusal(2, 3, **EXCHANGE) == "operation"


def test_throughput_is_one_at_a_time_and_reset_forgets_it() -> None:
    given = {"operation": 2, "descriptor": packed(descriptor_layout(), **(EXCHANGE | FLOWS))}
    other = {"operation": 1, "circuit": 1}
    unit = AcePrepare(spec=SPEC)
    seen = trace(unit, [given, other, *[{}] * 8], ("valid", "busy"), ready=7)
    assert [one[0] for one in seen if one[0]] == [1]
    assert [one[1] for one in seen] == [0, 1, 1, 1, 1, 0, 0, 0, 0, 0]
    seen = trace(unit, [given, {"rst": 1}, *[{}] * 8], ["valid"], ready=7)
    assert not any(seen)


def test_flits_that_memory_cannot_address_are_refused() -> None:
    spec = SwitchSpec(ports=2, lanes=3)
    message = "lanes must give an endpoint flits of 1, 2, 4, ... bytes, not 6"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        AcePrepare(spec=spec)


def reduced(sent: int, received: int, size: int, comes: int, **other: Any) -> Any:
    """Return the work of an ``exchange_reduce``, or why it is refused; all in flits.

    Other fields of the descriptor replace those, as registers have them.
    """
    fields = {
        "source": 2 * sent,
        "destination": 2 * received,
        "bytes": 2 * size,
        "receive_bytes": 2 * comes,
        "send": {"number": 1, "kind": 1},
        "receive": {"number": 2, "kind": 1},
    }
    given = packed(descriptor_layout(), **(fields | other))
    first = {"operation": 6, "circuit": 1, "descriptor": given}
    seen = trace(AcePrepare(spec=TABLE), [first, *[{}] * 8], ("valid", "refused", "o"), ready=7)
    if refused := [one[1] for one in seen if one[1]]:
        return REASONS[refused[0].bit_length() - 1]
    (found,) = [one for one in seen if one[0]]
    assert (seen.index(found), found[0]) == (4, 2)
    return work_layout(TABLE).from_bits(found[2])


@pytest.mark.parametrize(("sent", "received"), [(100, 130), (130, 100), (100, 105), (105, 100)])
def test_exchange_that_reduces_is_a_reduce_scatter_of_two_blocks_anywhere(
    sent: int, received: int
) -> None:
    work = reduced(sent, received, 5, 5)
    assert work.source + work.first_offset == sent
    assert work.source + work.last_offset == work.destination + work.last_offset == received
    assert work.total == abs(sent - received) + 5
    assert (work.block, work.message, work.last_place, work.first_place) == (5, 4, 4, 0)
    assert (work.parts, work.steps, work.receives, work.reduces, work.stores) == (2, 1, 1, 1, 0)
    assert (work.direct, work.expected) == (0, 5)


def test_exchange_that_reduces_may_send_or_receive_alone() -> None:
    work = reduced(100, 200, 5, 0)
    assert (work.source + work.first_offset, work.total, work.block) == (100, 5, 5)
    assert (work.parts, work.steps, work.receives, work.direct, work.expected) == (1, 1, 0, 0, 0)
    work = reduced(100, 200, 0, 5)
    assert work.source + work.last_offset == work.destination + work.last_offset == 200
    # The first part of a chunk, which would be sent, is beyond the buffer and has no flits.
    assert (work.total, work.first_offset, work.last_offset) == (5, 5, 0)
    assert (work.parts, work.steps, work.receives, work.reduces, work.expected) == (2, 0, 1, 1, 5)


@pytest.mark.parametrize(
    ("reason", "flits", "fields"),
    [
        ("flow", (5, 5), {"send": KEEP}),
        ("flow", (5, 5), {"receive": KEEP}),
        ("flow", (0, 5), {"receive": KEEP}),
        (None, (0, 5), {"send": KEEP}),
        (None, (5, 0), {"receive": KEEP}),
        ("alignment", (5, 5), {"receive_bytes": 11}),
        ("alignment", (0, 5), {"receive_bytes": 11}),
        ("size", (0, 5), {"receive_bytes": 1 << 31}),
        # A buffer may end where memory does, not behind it.
        (None, (0, 5), {"destination": (1 << 40) - 10}),
        ("size", (0, 5), {"destination": (1 << 40) - 8}),
        (None, (5, 0), {"source": (1 << 40) - 10}),
        ("size", (5, 0), {"source": (1 << 40) - 8}),
        ("size", (5, 5), {"source": (1 << 40) - 8, "destination": (1 << 40) - 100}),
        ("size", (5, 5), {"source": (1 << 40) - 100, "destination": (1 << 40) - 8}),
    ],
)
def test_exchange_that_reduces_is_checked_as_an_exchange(
    reason: str | None, flits: tuple[int, int], fields: dict[str, Any]
) -> None:
    found = reduced(100, 200, *flits, **fields)
    assert (found if isinstance(found, str) else None) == reason


@pytest.mark.parametrize(
    ("reason", "fields"),
    [
        ("size", (100, 200, 5, 4)),
        ("size", (100, 104, 5, 5)),
        ("size", (104, 100, 5, 5)),
        ("size", (100, 100, 5, 5)),
        ("size", (0, (1 << 24) - 4, 5, 5)),
        ("size", ((1 << 30), 0, 5, 5)),
    ],
)
def test_blocks_that_no_exchange_reduces(reason: str, fields: tuple[int, int, int, int]) -> None:
    assert reduced(*fields) == reason
    near = reduced(0, (1 << 24) - 6, 5, 5)
    assert near.total == (1 << 24) - 1
