"""cocotb tests of link restarts: resets of either side, and incompatible neighbours."""

from typing import Any

import cocotb

from fred_hw.protocol import GENERATIONS, KINDS
from testbench.agents.axis import StreamMonitor
from testbench.agents.line import FaultyLink
from testbench.agents.switch import SwitchBench
from testbench.models.endpoint import Flit
from testbench.stimulus.addresses import address_of
from testbench.stimulus.phases import Phase

from .tb_switch import (
    LATENCY,
    PACKETS,
    PORTS,
    PROTOCOL,
    SPEC,
    everyone,
    runs_of,
    scenario,
    started,
)

test, three_test = scenario(), scenario(PORTS >= 3)
HANDSHAKE, DATA = KINDS.index("handshake"), KINDS.index("data")
QUIET = 2 * PROTOCOL.timeout_cycles
IN_FLIGHT = 256  # most cycles from an input queue to the next link: docs/how-to/driver.md


def reboot(bench: SwitchBench, port: int) -> None:
    """Make the NPU of a port lose all state, as in a reset, and start its next session."""
    bench.ports[port].reboot()
    bench.board.wanted[port].clear()


async def until_up(bench: SwitchBench) -> None:
    """Wait until all links are up, as the registers must report.

    Where a third of all handshakes is lost, five of nine attempts fail, one in each timeout: of ten
    in turn, one in 360.
    """
    end = bench.cycle + 40 * PROTOCOL.timeout_cycles
    while not all(port.endpoint.up for port in bench.ports):
        assert bench.cycle < end, "a link does not come up"
        await bench.cycles(1)
    while await bench.access.read("LINKS") != (1 << PORTS) - 1:
        assert bench.cycle < end, "a link is not up in the registers"


def first_link_sequences(bench: SwitchBench, watch: StreamMonitor) -> set[int]:
    """Return the first link sequence number per virtual channel since the last handshake."""
    fields = [bench.codec.unpack(beat.flit) for beat in watch.beats]
    begin = max(k for k, one in enumerate(fields) if one["kind"] == HANDSHAKE)
    first: dict[int, int] = {}
    for one in fields[begin:]:
        if one["kind"] == DATA:
            first.setdefault(one["circuit"], one["link_sequence"])
    return set(first.values())


async def give_up(bench: SwitchBench, phase: Phase) -> None:
    """Do what software does with packets in flight (docs/how-to/driver.md, "After a reset")."""
    for port in bench.ports:
        port.forget(phase.number, bench.generations[phase.number])
        port.forget(PROTOCOL.online, 0)
    for wanted in bench.board.wanted:
        wanted.clear()
    await until_up(bench)
    await bench.write_routes()
    # The rest of the phase is dropped; the rest of the unicasts arrives, but nobody expects it.
    await bench.write(phase, checked=False)
    await bench.cycles(QUIET)
    for port in bench.ports:
        port.forget(PROTOCOL.online, 0)


@test
async def neighbour_with_other_sizes_is_refused_and_reported(dut: Any) -> None:
    bench, _ = await started(dut)
    sizes = SPEC.protocol.model_dump() | {"window_packets": PROTOCOL.window_packets // 2}
    other = SPEC.model_copy(update={"protocol": PROTOCOL.model_copy(update=sizes)})
    assert other.digest != SPEC.digest
    strange = bench.ports[0].reboot(other)
    strange.send(PROTOCOL.online, 0, [(1,)] * 3, address_of(PORTS - 1))
    before = len(bench.data(bench.inputs[0])), len(bench.data(bench.outputs[0]))
    bench.unicast(1, 1, PACKETS)
    await bench.cycles(3 * PROTOCOL.timeout_cycles)
    assert not strange.up
    assert strange.handshakes_refused > 0
    assert await bench.access.read("LINKS") == (1 << PORTS) - 2
    assert (len(bench.data(bench.inputs[0])), len(bench.data(bench.outputs[0]))) == before
    found = await bench.access.errors()
    assert (found.raised, found.first.port if found.first else None) == (("partner",), 0)
    # A matching endpoint replaces it, and waiting packets continue.
    bench.ports[0].reboot()
    await until_up(bench)
    await bench.access.clear_errors()
    bench.unicast(0, 1, PACKETS)
    bench.unicast(1, 0, PACKETS)
    await bench.finish_clean()


@three_test
async def npu_that_reboots_in_traffic_comes_back_and_others_go_on(dut: Any) -> None:
    """Check that unicasts between others continue; a phase of the NPU is rewritten."""
    phase = everyone()
    bench, rng = await started(dut, 0.1, [phase])
    for _ in range(3):
        port = rng.randrange(PORTS)
        bench.play(runs_of(rng, phase, 4 * PACKETS))
        await bench.cycles(rng.randrange(20, 40 * PROTOCOL.packet_flits))
        reboot(bench, port)
        others = [other for other in range(PORTS) if other != port]
        # All endpoints give up the packets of the phase; unicasts between others are not affected.
        for other in others:
            bench.ports[other].forget(phase.number, bench.generations[phase.number])
            bench.board.wanted[other] = {f: p for f, p in bench.board.wanted[other].items() if f[0]}
        bench.unicast(others[0], others[-1], PACKETS)
        await bench.arrive(limit=bench.timeout)
        await until_up(bench)
        await bench.cycles(QUIET)
        # The other endpoints restart the numbers of unicasts with this NPU at 0, too.
        bench.forget_unicasts()
        await bench.write(phase)
        bench.play(runs_of(rng, phase, PACKETS))
        for other in others:
            bench.unicast(port, other, 2)
            bench.unicast(other, port, 2)
        await bench.drain()
        for watch in (bench.inputs[port], bench.outputs[port]):
            assert first_link_sequences(bench, watch) == {0}
    assert set((await bench.access.errors()).raised) <= {"stuck"}
    bench.finish()


@test
async def unicasts_from_before_a_reboot_are_reported_until_they_have_left(dut: Any) -> None:
    bench, _ = await started(dut)
    receiver = bench.ports[1].endpoint
    receiver.keeps_space = True
    bench.unicast(0, 1, 4 * PROTOCOL.buffer_packets)
    await bench.cycles(QUIET // 4)
    reboot(bench, 0)
    await until_up(bench)
    # They survived, and would be taken for new ones if numbers restarted at 0 now.
    assert [await bench.access.unicasts(port) for port in (0, 1)] == [True, False]
    receiver.keeps_space = False
    receiver.free()
    end = bench.cycle + bench.timeout
    while await bench.access.unicasts(0):
        assert bench.cycle < end, "unicasts stay in a queue"
    gone = bench.cycle
    await bench.cycles(2 * IN_FLIGHT)
    assert max(beat.cycle for beat in bench.data(bench.outputs[1])) < gone + IN_FLIGHT
    bench.forget_unicasts()
    bench.unicast(0, 1, PACKETS)
    await bench.drain()
    bench.finish()


@test
async def bursts_given_up_leave_the_queues_when_their_phase_is_erased(dut: Any) -> None:
    """Let phase generations wrap around behind a burst that some sources never send."""
    phase = everyone()
    bench, rng = await started(dut, 0.0, [phase])
    for _ in range(GENERATIONS - 1):
        await bench.write(phase)
    bench.offer(runs_of(rng, phase, 2), [PORTS - 1])
    await bench.cycles(QUIET)
    for port in bench.ports:
        port.forget(phase.number, bench.generations[phase.number])
    await bench.cycles(QUIET)
    assert await bench.access.queued(phase.number)
    await bench.access.erase_phase(phase.number)
    await bench.cycles(SPEC.drop_cycles)
    assert not await bench.access.queued(phase.number)
    await bench.write(phase)
    assert bench.generations[phase.number] == 0
    bench.play(runs_of(rng, phase, PACKETS))
    await bench.finish_clean()


@three_test
async def dead_neighbour_holds_up_no_others(dut: Any) -> None:
    bench, _ = await started(dut)
    source, most = bench.ports[1], PROTOCOL.packet_flits
    # Not even the handshake of the restarted switch is accepted.
    bench.ports[0].sink.pause = True
    await bench.cycles(4)
    await bench.restart()
    await bench.write_routes()
    # A cancelled burst is ahead of another one in its virtual channel.
    source.send(PROTOCOL.online, 0, [(1,) * most] * PROTOCOL.buffer_packets, address_of(0))
    await bench.cycles(2 * most * PROTOCOL.buffer_packets + 4 * LATENCY)
    source.forget(PROTOCOL.online, 0)
    kept = [(2,) * most] * PACKETS
    source.send(PROTOCOL.online, 0, kept, address_of(2))
    bench.want(2, PROTOCOL.online, address_of(1), kept)
    limit = 2 * PROTOCOL.timeout_cycles
    assert limit < PROTOCOL.head_of_line_timeout_cycles
    await bench.arrive(limit=limit)
    bench.ports[0].sink.pause = False
    await until_up(bench)
    bench.unicast(2, 0, PACKETS)
    await bench.finish_clean()


@test
async def switch_that_reboots_in_traffic_is_written_anew(dut: Any) -> None:
    phase = everyone()
    bench, rng = await started(dut, 0.0, [phase])
    for _ in range(3):
        bench.play(runs_of(rng, phase, 4 * PACKETS))
        bench.unicast(0, PORTS - 1, PACKETS)
        await bench.cycles(rng.randrange(20, 40 * PROTOCOL.packet_flits))
        await bench.restart()
        await until_up(bench)
        # Software writes routes and phases again; endpoints give up packets in flight.
        await bench.write_routes()
        await bench.write(phase)
        bench.play(runs_of(rng, phase, PACKETS))
        await bench.drain()
    assert bench.generations[phase.number] == 3 % GENERATIONS
    bench.finish()


@test
async def handshakes_may_be_lost_doubled_and_late(dut: Any) -> None:
    bench, rng = await started(dut)
    acts = ((), (1,), (1, 1))

    def change(flit: Flit) -> Any:
        """Lose or duplicate most flits of a handshake."""
        return tuple(flit for _ in rng.choice(acts))

    for _ in range(8):
        port = rng.randrange(PORTS)
        lines = bench.ports[port].to_switch, bench.ports[port].from_switch
        for line in lines:
            line.change, line.delay = change, rng.randrange(20)
        bench.ports[port].reboot()
        await bench.cycles(rng.choice([3, 10, PROTOCOL.timeout_cycles]))
        bench.ports[port].reboot()
        await until_up(bench)
        for line in lines:
            line.change, line.delay = None, 0
        bench.forget_unicasts()
        for other in range(PORTS):
            bench.unicast(port, other, 2)
            bench.unicast(other, port, 2)
        await bench.drain()
    await bench.finish_clean()


@test
async def handshake_to_an_earlier_session_makes_no_link(dut: Any) -> None:
    bench, _ = await started(dut)
    port = bench.ports[0]
    port.to_switch.change = port.from_switch.change = lambda _: ()
    for peer in (bench.session_id - 1, bench.session_id):
        for _ in range(2):
            port.to_switch.put(
                bench.codec.handshake(session_id=200, peer_known=1, peer_session_id=peer)
            )
            await bench.cycles(30)
        up = peer == bench.session_id
        assert await bench.access.read("LINKS") == (1 << PORTS) - 2 + up
        # While the link is not up nothing else counts, not even invalid flits.
        port.to_switch.put(bench.codec.pack(7, kind=len(KINDS)))
        await bench.cycles(10)
        assert (await bench.access.errors()).raised == (("kind",) if up else ())
    await bench.access.clear_errors()
    port.to_switch.change = port.from_switch.change = None
    port.reboot()
    await until_up(bench)
    bench.unicast(0, 1, PACKETS)
    bench.unicast(1, 0, PACKETS)
    await bench.drain()
    bench.finish()


@test
@cocotb.parametrize(share=[0.005, 0.03])
async def either_side_restarts_at_any_time_on_faulty_links(dut: Any, share: float) -> None:
    phase = everyone()
    bench, rng = await started(dut, 0.1, [phase])
    change = FaultyLink(rng, SPEC.data_width, share)
    for port in bench.ports:
        port.to_switch.change = port.from_switch.change = change
        port.to_switch.delay = port.from_switch.delay = rng.randrange(12)
    for _ in range(3):
        bench.play(runs_of(rng, phase, 2 * PACKETS))
        for source in range(PORTS):
            bench.unicast(source, rng.randrange(PORTS), PACKETS)
        # Also while links restart.
        for _ in range(rng.randint(1, 3)):
            await bench.cycles(rng.randrange(8 * PROTOCOL.packet_flits * PACKETS))
            if rng.random() < 0.4:
                await bench.restart()
            for port in rng.sample(bench.ports, rng.randrange(PORTS)):
                port.reboot()
        await give_up(bench, phase)
        bench.play(runs_of(rng, phase, 2))
        for source in range(PORTS):
            bench.unicast(source, rng.randrange(PORTS), 2)
        await bench.drain()
    assert "partner" not in (await bench.access.errors()).raised
    bench.finish()
