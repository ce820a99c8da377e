"""Contract of fred_hw.switch.switch, cycle by cycle; testbench has the rest."""

import pytest

from fred_hw.control.switch_map import COMMANDS, switch_map
from fred_hw.datapath.interconnect import latency_cycles
from fred_hw.protocol import CONTROL, Kind
from fred_hw.switch.switch import ADDED_CYCLES, Switch
from testbench.models.endpoint import FlitCodec
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import kind_of
from tests.fred_hw.switch.test_core import ADDED, FLITS, PAIR, entry, flits

ACCEPTS = {"s_axil_bready": 1, "m1_axis_tready": 1}


def write(name: str, value: int) -> list[dict[str, int]]:
    address = switch_map(PAIR).register(name).address
    now = {"s_axil_awaddr": address, "s_axil_wdata": value, "s_axil_wstrb": 15}
    return [now | {"s_axil_awvalid": 1, "s_axil_wvalid": 1}, {}, {}, {}]


def packet(number: int) -> list[dict[str, int]]:
    """Return a packet of phase 1 on the most urgent circuit."""
    return [
        {"s0_axis_tvalid": 1, "s0_axis_tdata": flit.data, "s0_axis_tuser": flit.user}
        for flit in flits(number)
    ]


def greeting() -> list[dict[str, int]]:
    """Return how both neighbours greet the switch, and tell it of their space."""
    codec, protocol = FlitCodec(PAIR), PAIR.protocol
    told = {"kind": Kind.CREDIT, "circuit": CONTROL, "credit_limit": protocol.buffer_flits}
    limits = [codec.pack(**told, credit_circuit=k) for k in range(len(protocol.buffers))]
    said = [codec.handshake(session_id=9, peer_known=1, up=1), *[None] * 9, *limits]
    return [
        {f"s{k}_axis_t{name}": value for k in range(2) for name, value in shown}
        for shown in (((("valid", 1), ("user", flit.user)) if flit else ()) for flit in said)
    ]


def run(cycles: list[dict[str, int]]) -> list[tuple[int, int, int]]:
    """Return cycle, data and end of the data flits at port 1 after phase 1 was written."""
    setup = [
        *greeting(),
        *write("ENTRY", entry()),
        *write("PHASE", 1),
        *write("COMMAND", COMMANDS.index("commit")),
        *[{}] * 10,
    ]
    watch = [f"m1_axis_t{name}" for name in ("valid", "data", "last", "user")]
    inputs = [ACCEPTS | cycle for cycle in [*setup, *cycles, *[{}] * 20]]
    seen = trace(Switch(spec=PAIR), inputs, watch)[len(setup) :]
    return [
        (cycle, data, last)
        for cycle, (valid, data, last, user) in enumerate(seen)
        if valid and kind_of(user) == Kind.DATA
    ]


@pytest.mark.slow
def test_latency_and_throughput_from_port_to_port() -> None:
    assert ADDED_CYCLES == ADDED
    start = latency_cycles(PAIR) + ADDED
    want = [(start + k, k % FLITS + 1, int(k % FLITS == FLITS - 1)) for k in range(2 * FLITS)]
    assert run([*packet(0), *packet(1)]) == want


@pytest.mark.slow
def test_reset_forgets_all_packets_and_phases() -> None:
    assert run([*packet(0), {"rst": 1}, *greeting(), *packet(0)]) == []
