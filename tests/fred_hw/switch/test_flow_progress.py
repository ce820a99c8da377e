"""Contract of fred_hw.switch.flow_progress, cycle by cycle."""

from typing import Any

import pytest

from fred_hw.protocol import Kind
from fred_hw.switch.flow_progress import FlowProgress
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import LINK

# A flow goes from port 0 to ports 1 and 2, another one from port 3 to itself. Packet 5 is due.
FLOW = {"inputs[0]": 1, "outputs[1]": 1, "outputs[2]": 1, "inputs[3]": 2, "outputs[3]": 2}
FLOW |= {f"due[{k}]": 5 for k in range(3)} | {"due[3]": 7}
ENDS = ["progress.inputs", "progress.outputs", "progress.due"]
LAGS = [*(f"progress.lag[{k}]" for k in range(4)), "progress.moved"]
SUMS = ["progress.before", "progress.after"]


def case(port: int, kind: Kind = Kind.ASK, number: int = 0, **rest: int) -> dict[str, int]:
    fields = {"port": port, "kind": int(kind), "number": number} | rest
    return {f"served.{name}": value for name, value in fields.items()}


def acked(*numbers: int) -> dict[str, int]:
    return {f"acked[{k}]": number for k, number in enumerate(numbers)}


def run(*cases: dict[str, int]) -> list[Any]:
    """Return what shows when each case is new for 4 cycles."""
    cycles = [FLOW | one | {"gather": int(k == 0)} for one in cases for k in range(4)]
    return trace(FlowProgress(spec=LINK), cycles, [*ENDS, *LAGS, *SUMS])


ASK = case(0, from_input=1) | acked(0, 3, 4, 0)


def test_latency_to_ends_lags_and_the_largest_of_them() -> None:
    found = run(ASK)
    ends, lags = (0b0001, 0b0110, 5), (0, 2, 1, 0, 0)
    assert found == [
        (0, 0, 0, *[0] * 5, 0, 0),
        (*ends, *[0] * 5, 0, 0),
        (*ends, *lags, 0, 0),
        (*ends, *lags, 2, 2),
    ]


def test_throughput_is_a_case_in_four_cycles() -> None:
    other = case(3, Kind.ACK, 6) | acked(0, 3, 4, 5)
    found = run(other, ASK, other)
    assert found[3] == found[11] == (0b1000, 0b1000, 7, 0, 0, 0, 2, 1, 2, 1)
    assert found[7] == (0b0001, 0b0110, 5, 0, 2, 1, 0, 0, 2, 2)


@pytest.mark.parametrize(
    ("number", "moved", "after"),
    [(2, 0, 3), (3, 1, 2), (5, 1, 1), (6, 1, 1), (10, 1, 1), (11, 0, 3)],
)
def test_an_ack_moves_its_output_forward_within_the_window(
    number: int, moved: int, after: int
) -> None:
    # The window has 8 packets; an ack beyond what is due is not behind.
    found = run(case(1, Kind.ACK, number) | acked(0, 2, 4, 0))[3]
    assert found[7:] == (moved, 3, after)


def test_an_ack_ahead_of_what_is_due_is_not_behind() -> None:
    numbers = 1 << LINK.protocol.fields["sequence"]
    window = LINK.protocol.window_packets
    one = case(0, from_input=1) | acked(0, (5 - window) % numbers, (4 - window) % numbers, 0)
    assert run(one)[2][3:7] == (0, window, 0, 0)


def test_only_an_ack_of_an_output_moves() -> None:
    assert run(case(1, Kind.NACK, 4) | acked(0, 2, 4, 0))[3][7:] == (0, 3, 3)
    strange = case(1, Kind.ACK, 4, from_input=1) | acked(0, 2, 4, 0)
    assert run(strange)[3][7] == 0


def test_a_port_without_a_flow_has_no_ends() -> None:
    assert run(case(1, from_input=1))[3][:2] == (0, 0)


def test_reset_clears_all() -> None:
    cycles = [FLOW | ASK | {"gather": 1}] * 5 + [{"rst": 1}, {}]
    found = trace(FlowProgress(spec=LINK), cycles, [*ENDS, *LAGS, *SUMS])
    assert any(found[4])
    assert found[6] == (0,) * 10
