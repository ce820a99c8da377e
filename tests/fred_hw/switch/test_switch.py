"""Contract of fred_hw.switch.switch, cycle by cycle; testbench has the rest."""

import pytest

from fred_hw.control.switch_map import COMMANDS, switch_map
from fred_hw.datapath.interconnect import latency_cycles
from fred_hw.switch.switch import Switch, added_cycles
from tests.fred_hw.simulation import trace
from tests.fred_hw.switch.test_core import FLITS, PAIR, entry

SPEC = PAIR[False]
ACCEPTS = {"s_axil_bready": 1, "m1_axis_tready": 1}


def write(name: str, value: int) -> list[dict[str, int]]:
    address = switch_map(SPEC).register(name).address
    now = {"s_axil_awaddr": address, "s_axil_wdata": value, "s_axil_wstrb": 15}
    return [now | {"s_axil_awvalid": 1, "s_axil_wvalid": 1}, {}, {}, {}]


def packet() -> list[dict[str, int]]:
    """Return a packet of phase 1 on the most urgent circuit."""
    flits = [{"tdata": k + 1, "tuser": 1, "tlast": int(k == FLITS - 1)} for k in range(FLITS)]
    return [
        {f"s0_axis_{name}": value for name, value in (flit | {"tvalid": 1}).items()}
        for flit in flits
    ]


def run(cycles: list[dict[str, int]]) -> list[tuple[int, int, int]]:
    """Return cycle, data and end of the flits at port 1 after phase 1 was written."""
    setup = [
        *write("ENTRY", entry(SPEC)),
        *write("PHASE", 1),
        *write("COMMAND", COMMANDS.index("commit")),
        *[{}] * 10,
    ]
    watch = [f"m1_axis_t{name}" for name in ("valid", "data", "last")]
    inputs = [ACCEPTS | cycle for cycle in [*setup, *cycles, *[{}] * 20]]
    seen = trace(Switch(spec=SPEC), inputs, watch)[len(setup) :]
    return [(cycle, data, last) for cycle, (valid, data, last) in enumerate(seen) if valid]


def test_latency_and_throughput_from_port_to_port() -> None:
    # Without the link layer a packet starts when all of it is there.
    start = latency_cycles(SPEC) + added_cycles(SPEC) + FLITS - 1
    want = [(start + k, k % FLITS + 1, int(k % FLITS == FLITS - 1)) for k in range(2 * FLITS)]
    assert run([*packet(), *packet()]) == want


def test_reset_forgets_all_packets_and_phases() -> None:
    assert run([*packet(), {"rst": 1}, *packet()]) == []


def test_what_is_no_specification_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^Switch spec must be a SwitchSpec, not 'small-4'$"):
        Switch(spec="small-4")
