"""Cycles of the outputs of fred_hw.endpoint.endpoint that say what became of flits and the link."""

import pytest

from fred_hw.endpoint.endpoint import Endpoint
from fred_hw.protocol import KINDS
from testbench.models.endpoint import Flit
from tests.fred_hw.simulation import trace

from .test_endpoint import ACK, CODEC, DP, MP, SPEC, at, data, message, run


@pytest.mark.parametrize(
    ("name", "flit"),
    [
        ("kind_error", CODEC.pack(kind=len(KINDS), circuit=MP)),
        ("length_error", data(0, *range(SPEC.protocol.packet_flits + 1))[0]),
        ("refused", CODEC.handshake(session_id=9, digest=SPEC.digest ^ 1)),
    ],
)
def test_what_is_wrong_with_a_flit_is_told_in_the_next_cycle(name: str, flit: Flit) -> None:
    one = run(cycles=30, flits={20: flit})
    assert one.watch == {name: [21]}
    # An end that does not fit takes the link down, from the cycle behind.
    assert [up for _, up in one.state] == ([1] * 22 + [0] * 8 if name == "refused" else [1] * 30)


def test_a_flit_that_is_kept_and_one_without_space_are_told_in_the_next_cycle() -> None:
    space = SPEC.protocol.buffer_flits + SPEC.protocol.packet_flits
    flits = [f for n in range(5) for f in data(n, 1, 2, 3, 4)]
    one = run(cycles=40, flits=at(5, flits), takes=lambda _: False)
    assert one.watch["receive_came"] == list(range(6, 6 + space))
    assert one.watch["overflow"] == [6 + space]


def test_a_circuit_is_idle_until_the_cycle_behind_a_flit_and_two_behind_the_last_ack() -> None:
    packets = {MP: [[5], [6]], DP: [[7]]}
    flits = {20: message(ACK, 1), 25: message(ACK, 2)}
    one = run(cycles=40, packets=packets, start={MP: 2, DP: 4}, flits=flits)
    assert one.taken == [2, 3, 4]
    low = [
        [cycle for cycle, (idle, _) in enumerate(one.state) if not idle >> k & 1] for k in range(3)
    ]
    assert low == [list(range(3, 27)), [], list(range(5, 40))]


def test_the_link_is_up_two_cycles_behind_the_handshake_that_names_this_end() -> None:
    said = {3: CODEC.handshake(session_id=9), 12: CODEC.handshake(session_id=9, peer_known=1)}
    inputs = [{"m_axis_tready": 1} for _ in range(20)]
    for cycle, flit in said.items():
        inputs[cycle] |= {"s_axis_tvalid": 1, "s_axis_tuser": flit.user}
    assert trace(Endpoint(spec=SPEC), inputs, ["up"]) == [0] * 14 + [1] * 6
