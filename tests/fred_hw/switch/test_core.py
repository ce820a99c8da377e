"""Contract of fred_hw.switch.core, cycle by cycle."""

import pytest

from fred_hw.compiler.flows import Flow
from fred_hw.compiler.routing import route
from fred_hw.control.phase_entry import entry_word
from fred_hw.datapath.interconnect import latency_cycles
from fred_hw.protocol import Kind
from fred_hw.switch.core import SwitchCore
from testbench.models.endpoint import Flit, FlitCodec
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import LINK, link_flit

PAIR = LINK.with_changes(ports=2)
FLITS = 4


def entry() -> int:
    """Return the entry of phase 1: from port 0 to port 1."""
    flows = (Flow([0], [1]),)
    configuration = route(flows, PAIR.ports, PAIR.middle).configuration
    assert configuration is not None
    return entry_word(PAIR, configuration, flows, 0)


def flits(number: int) -> list[Flit]:
    """Return a largest packet of phase 1."""
    codec, last = FlitCodec(PAIR), FLITS - 1
    fields = {"kind": Kind.DATA, "phase": 1, "sequence": number, "ticket": number, "last": last}
    return [codec.pack(k + 1, index=k, **fields) for k in range(FLITS)]


def packet(number: int) -> list[dict[str, int]]:
    """Return a packet as inputs of port 0."""
    return [
        {f"i[0].{name[2:]}": value for name, value in link_flit(flit).items()}
        for flit in flits(number)
    ]


def run(cycles: list[dict[str, int]]) -> tuple[list[int], list[int]]:
    """Return cycle and data of the data flits at port 1, the first of ``cycles`` being 0."""
    write = {"table.write": 1, "table.number": 1, "table.entry": entry()}
    setup = [{}] * 10 + [write] * 9 + [{}] * 5
    watch = ["table.accepted", "o[1].valid", "o[1].payload.data", "o[1].payload.header"]
    inputs = [{"o[1].ready": 1} | cycle for cycle in [*setup, *cycles, *[{}] * 20]]
    seen = trace(SwitchCore(spec=PAIR), inputs, watch)
    assert [accepted for accepted, *_ in seen].count(1) == 1
    found = [
        (cycle, data)
        for cycle, (_, valid, data, header) in enumerate(seen[len(setup) :])
        if valid and header & 7 == Kind.DATA
    ]
    return [cycle for cycle, _ in found], [data for _, data in found]


def test_latency_and_throughput_from_port_to_port() -> None:
    cycles, data = run([*packet(0), *packet(1)])
    start = latency_cycles(PAIR) + 6
    assert cycles == list(range(start, start + 2 * FLITS))
    assert data == [1, 2, 3, 4] * 2


def test_reset_forgets_all_packets_and_phases() -> None:
    assert run([*packet(0), {"rst": 1}, *packet(0)]) == ([], [])


def test_what_is_no_specification_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^SwitchCore spec must be a SwitchSpec, not None$"):
        SwitchCore(spec=None)
