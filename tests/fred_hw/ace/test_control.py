"""Tests of fred_hw.ace.control."""

import pytest

from fred_hw.ace.control import AceControl
from fred_hw.ace.endpoint_map import CAUSES, COUNTERS, causes_of, endpoint_map
from tests.fred_hw.simulation import trace

from .works import SPEC, TABLE, TWO

MAP = endpoint_map(SPEC)
HANDS = {"s_axil_wstrb": 15, "s_axil_bready": 1, "s_axil_rready": 1}


def at(register: str, index: int = 0) -> int:
    return MAP.register(register).address + 4 * index


def write(register: str, value: int) -> list[dict[str, int]]:
    """Return the inputs of a write, with its answer."""
    first = {
        "s_axil_awvalid": 1,
        "s_axil_awaddr": at(register),
        "s_axil_wvalid": 1,
        "s_axil_wdata": value,
    }
    return [first, {}, {}]


def read(register: str, index: int = 0) -> list[dict[str, int]]:
    """Return the inputs of a read; the answer is there behind them."""
    return [{"s_axil_arvalid": 1, "s_axil_araddr": at(register, index)}, {}, {}]


def test_latency_of_done_and_of_an_error_to_the_interrupt() -> None:
    for register, bit, event in (("DONE_ENABLE", 2, "done"), ("IRQ_ENABLE", 256, "partner")):
        enable = write(register, bit)
        value = 2 if event == "done" else 1
        seen = trace(AceControl(spec=SPEC), [*enable, {event: value}, {}, {}], ["irq"], **HANDS)
        assert seen == [0, 0, 0, 0, 0, 1]


def test_throughput_of_counters_is_an_event_a_cycle() -> None:
    place = list(COUNTERS).index("memory_writes")
    inputs = [{"counts": 1 << place}] * 5 + [{}, {}] + read("MEMORY_WRITES")
    seen = trace(AceControl(spec=SPEC), inputs, ["s_axil_rdata"], **HANDS)
    assert seen[-1] == 5


def test_counters_of_two_ports_count_two_in_a_cycle() -> None:
    """Of each counter as many as are told: 1, 2 and 0, of the one beside it 3."""
    place = list(COUNTERS).index("memory_reads")
    told = [number << 2 * place | 3 << 2 * place + 2 for number in (1, 2, 0, 2)]
    inputs = [*({"counts": one} for one in told), {}, {}]
    for name, want in (("MEMORY_READS", 5), ("MEMORY_WRITES", 12), ("CYCLES", 0)):
        seen = trace(AceControl(spec=TWO), inputs + read(name), ["s_axil_rdata"], **HANDS)
        assert seen[-1] == want


def test_descriptor_goes_to_its_circuit() -> None:
    inputs = [
        *write("SEND_FLOW", 1),
        *write("RECEIVE_FLOW", 1 << 9),
        *write("BYTES", 4),
        *write("COMMAND", 2 | 1 << 8),
        *[{}] * 8,
    ]
    seen = trace(AceControl(spec=SPEC), inputs, ["valid"], **HANDS, ready=7)
    assert [one for one in seen if one] == [2]


WORKS, WAITS, RESTS = {"busy": 2}, {"idle": 5}, {"busy": 0}
"""The second virtual channel has a descriptor, awaits acks of its packets alone, and rests."""

Inputs = list[dict[str, int]]


def during(state: dict[str, int], *inputs: Inputs) -> Inputs:
    """Return inputs one after another, with some that stay as they are."""
    return [state | one for part in inputs for one in part]


def forgotten(*inputs: Inputs, asked: int = 0b101, ready: int = 7) -> int | None:
    """Return the phases that are forgotten when FORGET is written; None if that is an error."""
    given = during({}, *inputs, read("ERROR"))
    watch = ["forget", "s_axil_rdata"]
    seen = trace(AceControl(spec=SPEC), given, watch, **HANDS, ready=ready, idle=7)
    (found,) = {one for one, _ in seen if one} or {0}
    locked = 1 << list(CAUSES).index("locked")
    assert seen[-1][1] & locked == (0 if found else locked)
    return found or None


def forget(asked: int) -> Inputs:
    return [*write("FORGET", asked), {}, {}]


def command(send: int, receive: int, operation: int = 2) -> Inputs:
    """Return the writes of a descriptor of the second virtual channel, up to COMMAND."""
    return [
        *write("SEND_FLOW", send),
        *write("RECEIVE_FLOW", receive),
        *write("COMMAND", operation | 1 << 8),
    ]


KEPT, PREPARED = 1 << 9, [{}] * 8


@pytest.mark.parametrize(
    ("send", "receive", "wanted"),
    [(2, KEPT, None), (KEPT, 2, None), (2, 2, None), (3, 1, 0b101), (0x102, KEPT, 0b101)],
    ids=["send", "receive", "both", "other phases", "unicast"],
)
@pytest.mark.parametrize("state", [WORKS, WAITS], ids=["busy", "not idle"])
def test_phase_of_a_descriptor_is_not_forgotten_before_its_virtual_channel_rests(
    send: int, receive: int, wanted: int | None, state: dict[str, int]
) -> None:
    works = during(WORKS, command(send, receive), PREPARED)
    assert forgotten(works, during(state, forget(0b101))) == wanted
    assert forgotten(works, [RESTS], during(state, forget(0b101))) == 0b101


def test_virtual_channels_that_did_not_get_a_descriptor_hold_up_none_of_its_phases() -> None:
    """They have had no rest since before."""
    works = during({"busy": 7, "idle": 2}, command(2, KEPT), PREPARED)
    assert forgotten(works, during({"busy": 5, "idle": 2}, [{}], forget(0b101))) == 0b101


def test_phase_of_a_descriptor_that_is_prepared_is_not_forgotten() -> None:
    assert forgotten(command(2, KEPT), forget(0b101)) is None
    assert forgotten(command(3, 1), forget(0b101)) == 0b101


def test_descriptor_that_is_refused_holds_up_no_phase() -> None:
    works = during(WORKS, PREPARED, forget(0b101))
    assert forgotten(command(2, KEPT), works, ready=0) == 0b101
    assert forgotten(command(2, KEPT, operation=7), works) == 0b101


def test_phases_of_two_descriptors_are_held_up_until_the_virtual_channel_rests() -> None:
    works = during(WORKS, command(0, KEPT), PREPARED, command(KEPT, 2), PREPARED)
    for phase in (0, 2):
        assert forgotten(works, during(WORKS, forget(1 << phase))) is None
        assert forgotten(works, [RESTS], during(WORKS, forget(1 << phase))) == 1 << phase


def test_phase_that_was_forgotten_may_have_another_generation() -> None:
    def error(*between: Inputs) -> int:
        first, second = (command(2 | generation << 12, KEPT) for generation in (0, 8))
        inputs = during({}, first, PREPARED, *between, second, PREPARED, read("ERROR"))
        return trace(AceControl(spec=SPEC), inputs, ["s_axil_rdata"], **HANDS, ready=7, idle=7)[-1]

    flow = 1 << list(CAUSES).index("flow")
    assert error(forget(0b100)) == 0
    assert error(forget(0b11)) == error() == flow


def test_reset_clears_what_is_done() -> None:
    inputs = [{"done": 7}, *read("COMPLETED", 2), {"rst": 1}, *read("COMPLETED", 2)]
    seen = trace(AceControl(spec=SPEC), inputs, ["s_axil_rdata"], **HANDS)
    assert (seen[4], seen[-1]) == (1, 0)


def table_write(register: str, value: int) -> list[dict[str, int]]:
    """Return the inputs of a write to an endpoint with a schedule table."""
    first, *rest = write("ADDRESS", value)
    return [first | {"s_axil_awaddr": endpoint_map(TABLE).register(register).address}, *rest]


def table_command(generation: int, entry: int) -> list[dict[str, int]]:
    """Return the writes that send in a phase, as an entry or not, and their end."""
    return [
        *table_write("SEND_FLOW", 1 | generation << 12),
        *table_write("RECEIVE_FLOW", 1 << 9),
        *table_write("BYTES", 4),
        *table_write("COMMAND", 2 | entry << 16),
        *[{}] * 8,
    ]


def test_entry_with_a_phase_is_refused_and_leaves_no_generation() -> None:
    """A descriptor of another generation is no error; a third one still is."""
    refused, flow = (1 << list(causes_of(TABLE)).index(one) for one in ("schedule", "flow"))
    assert table_reads(table_command(0, 1)) == refused
    assert table_reads(table_command(0, 1), table_command(5, 0)) == refused
    assert table_reads(table_command(5, 0), table_command(5, 1), table_command(5, 0)) == refused
    assert (
        table_reads(table_command(0, 1), table_command(5, 0), table_command(6, 0)) == refused | flow
    )


def table_reads(*inputs: list[dict[str, int]], register: str = "ERROR") -> int:
    """Return what a register of an endpoint with a schedule table holds in the end."""
    read_it = read("ADDRESS")
    read_it[0]["s_axil_araddr"] = endpoint_map(TABLE).register(register).address
    given = [one for part in (*inputs, read_it) for one in part]
    return trace(AceControl(spec=TABLE), given, ["s_axil_rdata"], **HANDS, ready=7)[-1]


ENTRY = [
    *table_write("SEND_FLOW", 0x103),
    *table_write("RECEIVE_FLOW", 1 << 9),
    *table_write("BYTES", 4),
    *table_write("COMMAND", 2 | 1 << 8 | 1 << 16),
    *[{}] * 8,
]
START, CLEAR = table_write("SCHEDULE", 1), table_write("SCHEDULE", 2)


def test_entry_is_kept_and_runs_until_its_virtual_channel_ends() -> None:
    status = "SCHEDULE_STATUS"
    assert table_reads(ENTRY, register=status) == 1 << 16
    begun = [*ENTRY, *START, *[{}] * 6]
    assert table_reads(begun, register=status) & 1 == 1
    assert table_reads(begun, [{"done": 2}], [{}] * 6, register=status) == 1 << 16
    assert table_reads(ENTRY, CLEAR, register=status) == 0


@pytest.mark.parametrize("what", [START, CLEAR, table_write("COMMAND", 1)])
def test_running_schedule_refuses_commands(what: list[dict[str, int]]) -> None:
    locked = 1 << list(causes_of(TABLE)).index("locked")
    assert table_reads(ENTRY, START, what) == locked
    assert table_reads(ENTRY, START, [{}] * 6, [{"done": 2}], [{}] * 6, what) == 0


def test_entry_that_waits_forever_is_an_error_of_the_schedule() -> None:
    refused = 1 << list(causes_of(TABLE)).index("schedule")
    assert table_reads(table_write("ENTRY_DEPENDENCIES", 1 << 6), ENTRY) == refused
    assert table_reads(ENTRY, ENTRY) == 0
    full = 1 << list(causes_of(TABLE)).index("full")
    assert table_reads(*[ENTRY] * 7) == full
