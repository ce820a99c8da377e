"""Every setting of every micro-switch does what its contract says, in Amaranth's simulator."""

from collections.abc import Sequence
from typing import Any

import pytest

from fred_hw.compiler.connections import BOTH, connections, every_connection
from fred_hw.compiler.shape import split_count
from fred_hw.datapath.interconnect import Interconnect, latency_cycles
from fred_hw.datapath.microswitch import DMicroswitch, RDMicroswitch, RMicroswitch
from fred_hw.datapath.steering import Demultiplexer, Multiplexer
from fred_hw.spec import SwitchSpec
from tests.fred_hw.datapath.flits import check_latency, check_reset, check_throughput
from tests.fred_hw.simulation import known, simulate, trace

SPEC = SwitchSpec(ports=4, middle_switches=2, format="int8", lanes=1, adder_registers=1)


def outputs(unit: Any, word: int, inputs: Sequence[int | None], latency: int) -> list[int | None]:
    """Return what one cycle of flits becomes; before and after it nothing may come out."""
    unit = known(unit)
    ports = unit.i if isinstance(unit.i, list) else [unit.i]
    ends = unit.o if isinstance(unit.o, list) else [unit.o]
    seen: list[list[int | None]] = []

    async def bench(ctx: Any) -> None:
        for cycle in range(latency + 3):
            ctx.set(unit.configuration, word if cycle == 0 else 0)
            for port, flit in zip(ports, inputs, strict=True):
                ctx.set(port.valid, int(cycle == 0 and flit is not None))
                ctx.set(port.data, flit or 0)
            seen.append([ctx.get(o.data) if ctx.get(o.valid) else None for o in ends])
            await ctx.tick()

    simulate(unit, bench)
    idle: list[int | None] = [None] * len(ends)
    assert seen[:latency] == [idle] * latency and seen[latency + 1 :] == [idle] * 2
    return seen[latency]


UNITS = pytest.mark.parametrize(
    ("kind", "latency"), [(RMicroswitch, 2), (RDMicroswitch, 2), (DMicroswitch, 1)]
)


@UNITS
def test_latency(kind: Any, latency: int) -> None:
    check_latency(kind(spec=SPEC), 1, "i[0]", "o[0]", latency)


@UNITS
def test_throughput_is_a_flit_per_cycle(kind: Any, latency: int) -> None:
    check_throughput(kind(spec=SPEC), 1, "i[0]", "o[0]", latency)


@UNITS
def test_reset_loses_the_flits_inside(kind: Any, latency: int) -> None:
    check_reset(kind(spec=SPEC), 1, "i[0]", "o[0]", latency)


@pytest.mark.parametrize("to0", range(4))
@pytest.mark.parametrize("to1", range(4))
def test_r_routes_to_destinations_and_reduces_where_they_meet(to0: int, to1: int) -> None:
    want: list[int | None] = [None, None]
    for output in (0, 1):
        takes = [value for value, to in ((3, to0), (4, to1)) if to == output + 1]
        want[output] = sum(takes) if takes else None  # code 3 names no output: idle
    assert outputs(RMicroswitch(spec=SPEC), to0 | to1 << 2, [3, 4], 2) == want


@pytest.mark.parametrize("word", range(16))
def test_rd_selects_or_reduces_for_each_output(word: int) -> None:
    selections = [word & 3, word >> 2]
    values = [None, None, None, 7] if 3 in selections else [None, 3, 4]  # only one of the two
    want = [values[selection] for selection in selections]
    assert outputs(RDMicroswitch(spec=SPEC), word, [3, 4], 2) == want


@pytest.mark.parametrize("word", range(16))
def test_d_takes_sources_and_distributes_where_they_agree(word: int) -> None:
    values = [None, 3, 4, None]
    want = [values[word & 3], values[word >> 2]]
    assert outputs(DMicroswitch(spec=SPEC), word, [3, 4], 1) == want


@pytest.mark.parametrize("missing", [0, 1])
def test_a_reduction_that_lacks_an_operand_sends_nothing(missing: int) -> None:
    flits = [None if port == missing else 5 for port in range(2)]
    assert outputs(RMicroswitch(spec=SPEC), 0b0101, flits, 2) == [None, None]
    assert outputs(RDMicroswitch(spec=SPEC), 0b1111, flits, 2) == [None, None]


@pytest.mark.parametrize(("kind", "words"), [(RMicroswitch, 16), (RDMicroswitch, 16)])
def test_what_is_not_valid_leaves_zeros(kind: Any, words: int) -> None:
    for word in range(words):
        unit = kind(spec=SPEC)
        # Other data in each cycle: nothing behind may change with it.
        idle = [{"configuration": word, "i[0].data": k & 1, "i[1].data": -k & 7} for k in range(8)]
        seen = trace(unit, idle, [f"o[{index}].data" for index in range(2)])
        assert seen[2:] == [(0, 0)] * 6


@pytest.mark.parametrize("code", range(4))
def test_demultiplexer_and_multiplexer_steer(code: int) -> None:
    routed = outputs(Demultiplexer(spec=SPEC), code, [6], 2)
    assert routed == [6 if code == output + 1 else None for output in range(2)]
    selected = outputs(Multiplexer(spec=SPEC), code, [3, 4], 1)
    assert selected == [[None, 3, 4, None][code]]


@pytest.mark.parametrize(
    ("ports", "adder", "stage", "cycles"),
    [(2, 2, 1, 3), (3, 2, 1, 7), (4, 0, 1, 3), (8, 2, 1, 11), (12, 2, 1, 15), (64, 1, 2, 28)],
)
def test_latency_by_hand(ports: int, adder: int, stage: int, cycles: int) -> None:
    spec = SwitchSpec(ports=ports, adder_registers=adder, stage_registers=stage)
    assert latency_cycles(spec) == cycles
    split = split_count(ports)
    assert cycles == (2 * split + 1) * stage + (split + 1) * adder


@pytest.mark.slow_after_first
@pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")
@pytest.mark.parametrize("middle_switches", range(2, 9))
def test_every_size_has_its_ports(middle_switches: int) -> None:
    for ports in range(2, 65):
        unit = Interconnect(spec=SwitchSpec(ports=ports, middle_switches=middle_switches, lanes=1))
        assert len(unit.i) == len(unit.o) == ports


KINDS: dict[str, Any] = {
    "R": RMicroswitch,
    "RD": RDMicroswitch,
    "D": DMicroswitch,
    "mux": Multiplexer,
    "demux": Demultiplexer,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_pruned_microswitch_does_in_its_states_what_the_full_one_does(kind: str) -> None:
    latency = 1 if kind in ("D", "mux") else 2
    full = KINDS[kind](spec=SPEC)
    flits = [40, 2][: len(full.i) if isinstance(full.i, list) else 1]
    for word in range(1, 1 << len(full.configuration)):
        if not (kept := set(connections(kind, word, 2))):
            continue
        pruned = KINDS[kind](spec=SPEC, connections=kept)
        assert kept == every_connection(kind, 2) or "_only_" in pruned.unit_name
        assert outputs(pruned, word, flits, latency) == outputs(full, word, flits, latency)


@pytest.mark.parametrize("kind", KINDS)
def test_a_pruned_microswitch_has_no_other_path(kind: str) -> None:
    latency = 1 if kind in ("D", "mux") else 2
    pruned = KINDS[kind](spec=SPEC, connections=[(1, 0)])
    ins, outs = (len(one) if isinstance(one, list) else 1 for one in (pruned.i, pruned.o))
    for word in range(1 << len(pruned.configuration)):
        made = set(connections(kind, word, 2))
        if (1, 0) not in made and BOTH not in {source for source, _ in made}:
            assert outputs(pruned, word, [40, 2][:ins], latency) == [None] * outs
