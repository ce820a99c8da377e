"""cocotb tests of sources that stop inside a packet, or say other things of it half-way."""

from typing import Any

import cocotb
from cocotbext.axi import AxiStreamFrame

from fred_hw.compiler.flows import Flow
from testbench.stimulus.phases import Phase

from .tb_switch import PORTS, PROTOCOL, finish, phase_of, scenario, started, turns_of

MOST = PROTOCOL.packet_flits
bare_test = scenario(not PROTOCOL.link and MOST >= 2 and PROTOCOL.phases >= 2)


def two_apart() -> tuple[Phase, Phase]:
    """Return an urgent phase from port 0 to the last one, and a patient one of all others."""
    others = tuple(range(1, PORTS))
    return phase_of(0, 0, Flow((0,), (PORTS - 1,))), phase_of(1, 2, Flow(others, others))


@bare_test
@cocotb.parametrize(sent=[1, MOST - 1])
async def source_that_stops_inside_a_packet_holds_up_nobody_else(dut: Any, sent: int) -> None:
    stops, runs = two_apart()
    bench, rng = await started(dut, 0.0, [stops, runs])
    source, beats = bench.ports[0].source, bench.inputs[0].beats
    bench.play(turns_of(rng, stops, 1, MOST))
    while len(beats) < sent:
        await bench.cycles(1)
    source.pause = True
    await bench.cycles(20)
    assert len(beats) < MOST, "the source has not stopped"
    for _ in range(3):
        bench.play(turns_of(rng, runs, 4))
        await bench.arrive([runs])
    source.pause = False
    await bench.drain()
    assert (await bench.access.errors()).raised == ()
    finish(bench)


@bare_test
async def header_of_the_first_flit_is_that_of_the_packet(dut: Any) -> None:
    stops, runs = two_apart()
    bench, rng = await started(dut, 0.0, [stops, runs])
    (turn,) = turns_of(rng, stops, 1, MOST)
    port = bench.ports[0]
    users = [
        port.user(0, 0),
        *(port.user(rng.randrange(2), rng.randrange(4)) for _ in range(MOST - 1)),
    ]
    beats: Any = list(turn.sent[0].flits)
    port.source.send_nowait(AxiStreamFrame(beats, tuser=users))
    bench.expect([turn])
    for _ in range(3):
        bench.play([*turns_of(rng, runs, 2), *turns_of(rng, stops, 2)])
    await bench.drain()
    assert (await bench.access.errors()).raised == ()
    finish(bench)
