"""Contract of fred_hw.switch.core, cycle by cycle."""

import pytest

from fred_hw.compiler.flows import Flow
from fred_hw.compiler.routing import route
from fred_hw.control.phase_entry import entry_word
from fred_hw.datapath.interconnect import latency_cycles
from fred_hw.protocol import Kind
from fred_hw.spec import SwitchSpec
from fred_hw.switch.core import SwitchCore
from testbench.models.endpoint import FlitCodec
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import BARE, LINK, link_flit

PAIR = {spec.protocol.link: spec.with_changes(ports=2) for spec in (LINK, BARE)}
BOTH = pytest.mark.parametrize("link", [True, False], ids=["link", "bare"])
FLITS = 4


def entry(spec: SwitchSpec) -> int:
    """Return the entry of phase 1: from port 0 to port 1."""
    flows = (Flow([0], [1]),)
    configuration = route(flows, spec.ports, spec.middle).configuration
    assert configuration is not None
    return entry_word(spec, configuration, flows, 0)


def packet(spec: SwitchSpec, number: int) -> list[dict[str, int]]:
    """Return a largest packet of phase 1 as inputs of port 0."""
    if not spec.protocol.link:
        fields = {"valid": 1, "phase": 1, "circuit": 0}
        packets = [fields | {"data": k + 1, "last": int(k == FLITS - 1)} for k in range(FLITS)]
        return [{f"i[0].{name}": value for name, value in one.items()} for one in packets]
    codec, last = FlitCodec(spec), FLITS - 1
    fields = {"kind": Kind.DATA, "phase": 1, "sequence": number, "ticket": number, "last": last}
    none = {"credit_circuit": 3}
    flits = [codec.pack(k + 1, index=k, **fields, **none) for k in range(FLITS)]
    return [{f"i[0].{name[2:]}": v for name, v in link_flit(flit).items()} for flit in flits]


def run(spec: SwitchSpec, cycles: list[dict[str, int]]) -> tuple[list[int], list[int]]:
    """Return cycle and data of the data flits at port 1, the first of ``cycles`` being 0."""
    write = {"table.write": 1, "table.number": 1, "table.entry": entry(spec)}
    setup = [{}] * 10 + [write] * (9 if spec.protocol.link else 7) + [{}] * 5
    path = "o[1].payload." if spec.protocol.link else "o[1]."
    header = [path + "header"] if spec.protocol.link else []
    watch = ["table.accepted", "o[1].valid", path + "data", *header]
    inputs = [{"o[1].ready": 1} | cycle for cycle in [*setup, *cycles, *[{}] * 20]]
    seen = trace(SwitchCore(spec=spec), inputs, watch)
    assert [accepted for accepted, *_ in seen].count(1) == 1
    found = [
        (cycle, data)
        for cycle, (_, valid, data, *header) in enumerate(seen[len(setup) :])
        if valid and not (header and header[0] & 7)
    ]
    return [cycle for cycle, _ in found], [data for _, data in found]


@BOTH
def test_latency_and_throughput_from_port_to_port(link: bool) -> None:
    spec = PAIR[link]
    cycles, data = run(spec, [*packet(spec, 0), *packet(spec, 1)])
    start = latency_cycles(spec) + (6 if link else 4 + FLITS - 1)
    assert cycles == list(range(start, start + 2 * FLITS))
    assert data == [1, 2, 3, 4] * 2


@BOTH
def test_reset_forgets_all_packets_and_phases(link: bool) -> None:
    spec = PAIR[link]
    assert run(spec, [*packet(spec, 0), {"rst": 1}, *packet(spec, 0)]) == ([], [])


def test_what_is_no_specification_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^SwitchCore spec must be a SwitchSpec, not None$"):
        SwitchCore(spec=None)
