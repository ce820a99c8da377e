"""Tests of fred_hw.ace.intake."""

from fred_hw.ace.intake import WRITES, AceIntake
from fred_hw.ace.memory_port import write_layout
from fred_hw.ace.reader import load_layout
from fred_hw.ace.work import receive_layout
from tests.fred_hw.simulation import trace

from .works import SPEC, packed

WORD = receive_layout(SPEC)


def expects(circuit: int, **fields: int) -> dict[str, int]:
    return {
        f"words[{circuit}].valid": 1,
        f"words[{circuit}].payload": packed(WORD, **fields),
    }


def comes(circuit: int, data: int) -> dict[str, int]:
    return {f"receive[{circuit}].valid": 1, f"receive[{circuit}].data": data}


def test_latency_of_a_sum_that_is_kept_and_stored() -> None:
    inputs = [
        {
            **expects(1, slot=1, place=3, address=70, reduce=1, keep=1, store=1, last=1, fsm=2),
            **comes(1, 5),
        },
        {"operand.data": 8},
        {},
        {},
        {},
    ]
    watch = ("operand.valid", "stores", "store", "words[1].done", "write.valid", "write.payload")
    seen = trace(AceIntake(spec=SPEC), inputs, watch)
    assert [one[0] for one in seen] == [1, 0, 0, 0, 0]
    assert [one[1] for one in seen] == [0, 0, 0, 1, 0]
    assert seen[3][2] == packed(load_layout(SPEC), circuit=2, slot=1, place=3, data=13)
    assert [one[3] for one in seen] == [0, 0, 0, 2, 0]
    assert [one[4] for one in seen] == [0, 0, 0, 0, 1]
    assert seen[4][5] == packed(write_layout(SPEC), address=70, data=13)


def test_throughput_by_turns_until_memory_takes_no_more() -> None:
    inputs = {**expects(0, store=1), **expects(2, keep=1), **comes(0, 1), **comes(2, 2)}
    watch = ("receive[0].ready", "receive[2].ready")
    seen = trace(AceIntake(spec=SPEC), [inputs] * 61, watch)
    assert all(sum(one) == 1 for one in seen)
    assert sum(one[0] for one in seen) == WRITES
    assert all(one == (0, 1) for one in seen[-20:])


def test_reset_forgets_flits() -> None:
    inputs = [
        {**expects(0, store=1, keep=1), **comes(0, 1)},
        {"rst": 1},
        {},
        *[{}] * 5,
    ]
    seen = trace(AceIntake(spec=SPEC), inputs, ("stores", "write.valid"))
    assert not any(any(one) for one in seen)
