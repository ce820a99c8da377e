"""cocotb tests of sources that stop, omit flits or contradict themselves."""

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

import cocotb

from fred_hw.compiler.flows import Flow
from fred_hw.protocol import Kind
from testbench.agents.line import Fault
from testbench.agents.switch import SwitchBench
from testbench.models.endpoint import Flit
from testbench.stimulus.phases import Phase

from .tb_switch import (
    LATENCY,
    PACKETS,
    PORTS,
    PROTOCOL,
    everyone,
    phase_of,
    runs_of,
    scenario,
    started,
)

MOST = PROTOCOL.packet_flits
# Others wait until missing flits time out, never until their source sends them again.
WAIT = PROTOCOL.packet_timeout_cycles + 2 * LATENCY + 4 * MOST
Said: Any = Enum(
    "Said",
    {
        name: name
        for name in (
            "phase",
            "circuit",
            "unicast",
            "sequence",
            "last",
            "link_sequence",
            "generation",
        )
    },
)
test, half_test = scenario(), scenario(MOST >= 2 and PROTOCOL.phases >= 2)
three_phases_test = scenario(PROTOCOL.phases >= 3)


def two_apart() -> tuple[Phase, Phase]:
    """Return an urgent phase of the first and last port, and a less urgent one of the others."""
    others = tuple(range(1, PORTS))
    return phase_of(0, 0, Flow((0, PORTS - 1), (PORTS - 1,))), phase_of(1, 2, Flow(others, others))


async def others_go_on(bench: SwitchBench, runs: Phase) -> None:
    bench.play(runs_of(bench.rng, runs, 2 * PACKETS))
    await bench.arrive([runs], limit=WAIT)


@half_test
@cocotb.parametrize(sent=[1, MOST - 1])
async def source_that_stops_inside_a_packet_holds_up_nobody_else(dut: Any, sent: int) -> None:
    stops, runs = two_apart()
    bench, rng = await started(dut, 0.0, [stops, runs])
    port = bench.ports[0]

    def stop(flit: Flit) -> Sequence[Flit]:
        port.source.pause = True
        return (flit,)

    port.to_switch.change = Fault(
        bench.codec, lambda fields: (fields["kind"], fields["index"]) == (Kind.DATA, sent), stop
    )
    bench.play(runs_of(rng, stops, 3, MOST))
    await others_go_on(bench, runs)
    assert len(bench.data(bench.inputs[0])) == sent
    assert not port.done
    port.source.pause = False
    await bench.finish_clean()


@half_test
@cocotb.parametrize(behind=[0, 2])
async def packet_without_its_last_flit_is_sent_again(dut: Any, behind: int) -> None:
    stops, runs = two_apart()
    bench, rng = await started(dut, 0.0, [stops, runs])
    lost = Fault(
        bench.codec,
        lambda fields: fields["kind"] == Kind.DATA and fields["index"] == fields["last"],
        lambda _: (),
    )
    bench.ports[0].to_switch.change = lost
    bench.play(runs_of(rng, stops, 1 + behind, MOST))
    await others_go_on(bench, runs)
    await bench.drain()
    assert lost.done
    await bench.finish_clean()


@half_test
@cocotb.parametrize(said=list(Said))
async def header_that_changes_inside_a_packet_does_no_harm(dut: Any, said: Any) -> None:
    """Change a header field in a flit with a valid CRC inside a packet."""
    stops, runs = two_apart()
    bench, rng = await started(dut, 0.0, [stops, runs])
    place = rng.randrange(1, MOST)

    def contradict(flit: Flit) -> Sequence[Flit]:
        fields = bench.codec.unpack(flit)
        return (bench.codec.pack(flit.data, **fields | {said.value: fields[said.value] ^ 1}),)

    changed = Fault(
        bench.codec,
        lambda fields: (fields["kind"], fields["index"]) == (Kind.DATA, place),
        contradict,
    )
    bench.ports[0].to_switch.change = changed
    bench.play(runs_of(rng, stops, 3, MOST))
    await others_go_on(bench, runs)
    await bench.drain()
    assert changed.done
    ends = (MOST - 1) ^ 1  # index of the flit that is now marked as the last
    fits = said.value != "last" or place <= ends < MOST
    assert (await bench.access.errors()).raised == (() if fits else ("length",))
    bench.finish()


@test
async def tlast_of_a_source_is_not_looked_at(dut: Any) -> None:
    phase = everyone()
    bench, rng = await started(dut, 0.0, [phase])
    for port in bench.ports:
        port.to_switch.change = lambda flit: (replace(flit, last=rng.random() < 0.5),)
    bench.play(runs_of(rng, phase, PACKETS))
    await bench.drain()
    assert not any(port.endpoint.counts["resent"] for port in bench.ports)
    await bench.finish_clean()


@test
async def packets_sent_before_the_commit_are_added_to_their_own(dut: Any) -> None:
    """Let half of the sources send before their phase is written, the others afterwards."""
    phase, count = everyone(), 24
    bench, rng = await started(dut)
    runs = runs_of(rng, phase, count)
    early = rng.sample(range(PORTS), PORTS // 2)
    for port in early:
        bench.ports[port].endpoint.interval = 16
    bench.offer(runs, early)
    await bench.cycles(4 * MOST)
    await bench.access.write_phase(phase.number, bench.word(phase))
    for port in early:
        said = map(bench.codec.unpack, (beat.flit for beat in bench.data(bench.inputs[port])))
        assert 0 < len({fields["sequence"] for fields in said}) < count, "not in between"
    bench.offer(runs, [port for port in range(PORTS) if port not in early])
    bench.expect(runs)
    await bench.drain()
    assert (await bench.access.errors()).raised == ("phase",)
    bench.finish()


@three_phases_test
async def ports_may_use_circuits_in_opposite_orders(dut: Any) -> None:
    """Let each of two ports fill its queue of one virtual channel before using the other."""
    phases = [phase_of(k, k, Flow((0, 1), tuple(range(PORTS)))) for k in range(3)]
    bench, rng = await started(dut, 0.0, phases)
    count = 2 * PROTOCOL.buffer_packets
    runs = [runs_of(rng, phase, count, MOST) for phase in phases]
    for own in runs:
        bench.expect(own)
    for first, second in zip(runs, reversed(runs), strict=True):
        bench.offer(first, [0])
        bench.offer(second, [1])
        await bench.cycles(2 * PROTOCOL.buffer_flits)
        if first is runs[0]:
            assert bench.missing() == 3 * PORTS * count, "something went without the other port"
            sent = [len(bench.data(watch)) for watch in bench.inputs[:2]]
            assert sent == [PROTOCOL.buffer_flits] * 2, "a queue is not full"
    await bench.finish_clean()
