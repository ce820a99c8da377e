"""cocotb tests of link terminators: retransmission at any time, numbers that wrap, credits."""

from collections.abc import Sequence
from functools import partial
from itertools import combinations
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from fred_hw.protocol import KINDS
from testbench.agents.line import Fault, FaultyLink
from testbench.models.endpoint import Flit, FlitCodec

from .tb_terminator import (
    CHANNELS,
    MOST,
    PACKETS,
    PROTOCOL,
    SPEC,
    PairBench,
    is_data,
    play_all,
    started,
)


def recovery(fits: bool = True) -> Any:
    """Return the decorator of a test; with long timeouts, the tests would take minutes."""
    short = PROTOCOL.timeout_cycles <= 500
    return cocotb.test(timeout_time=5, timeout_unit="ms", skip=not (short and fits))


test, parts_test = recovery(), recovery(MOST == 4)
phases_test = recovery(PROTOCOL.phases > 2)
ANSWERS = [KINDS.index(name) for name in ("ack", "nack")]
channels_test = recovery(MOST > 1 and PROTOCOL.phases >= len(CHANNELS))


async def cycles(bench: PairBench, count: int) -> None:
    for _ in range(count):
        await RisingEdge(bench.dut.clk)


@test
async def numbers_wrap_while_packets_are_sent_again(dut: Any) -> None:
    """Also lose a flit of the last packet before the wrap, when packets behind it are sent."""
    bench, codec = await started(dut), FlitCodec(SPEC)
    last = (1 << PROTOCOL.fields["sequence"]) - 1
    count = last + 1 + PROTOCOL.window_packets
    for line in bench.lines:
        faults = FaultyLink(bench.rng, SPEC.data_width, 0.02)
        lost = Fault(codec, lambda own: is_data(own) and own["sequence"] == last, lambda _: ())
        line.change = partial(both, lost, faults)
    for source in range(2):
        bench.play(source, 0, bench.packets(count, 1), 0)
    await bench.drain()
    assert sum(strobes["rewinds_mp"] for strobes in bench.strobes) > 2


def both(first: Fault, second: FaultyLink, flit: Flit) -> Sequence[Flit]:
    """Return what two faults of a line leave of a flit."""
    return [one for left in first(flit) for one in second(left)]


@test
async def links_that_stop_at_any_time_lose_nothing(dut: Any) -> None:
    """Stop both links also inside packets, and for longer than a timeout."""
    bench = await started(dut)
    times = (1, MOST, PROTOCOL.packet_timeout_cycles + 8, PROTOCOL.timeout_cycles // 2 + 40)

    async def stop(end: int) -> None:
        while True:
            await cycles(bench, bench.rng.randrange(2, 80))
            bench.blocked |= {end}
            await cycles(bench, bench.rng.choice(times))
            bench.blocked -= {end}

    tasks = [cocotb.start_soon(stop(end)) for end in range(2)]
    for _ in range(3):
        play_all(bench, 2 * PACKETS)
        await bench.drain()
    for task in tasks:
        task.cancel()


@phases_test
async def requests_of_a_switch_are_answered(dut: Any) -> None:
    """Ask about the flow that is received, and about an earlier one."""
    bench, codec = await started(dut), FlitCodec(SPEC)
    for phase, count in ((1, 2), (2, 3)):
        bench.play(0, 0, bench.packets(count, 1), phase)
        await bench.drain()
    for phase, count in ((2, 3), (1, 2)):
        before = len(bench.watches[1].beats)
        bench.lines[0].put(codec.pack(0, kind=KINDS.index("ask"), phase=phase))
        await cycles(bench, 40)
        sent = [codec.unpack(one.flit) for one in bench.watches[1].beats[before:]]
        answers = [own for own in sent if own["phase"] == phase and own["kind"] in ANSWERS]
        assert [own["kind"] for own in answers] == ANSWERS
        assert {own["sequence"] for own in answers} == {count}
    await bench.drain()


@test
async def long_packets_pass_links_with_many_faults(dut: Any) -> None:
    bench = await started(dut, stall=0.2, delay=1)
    for line in bench.lines:
        line.change = FaultyLink(bench.rng, SPEC.data_width, 0.06)
    for source in range(2):
        bench.play(source, 1, bench.packets(6 * PROTOCOL.window_packets, MOST), 0)
    await bench.drain()


@parts_test
@cocotb.parametrize(place=[1, 2, 3])
async def timeout_inside_a_packet_sends_all_again(dut: Any, place: int) -> None:
    """Block the link while its last flit is in the middle of a packet, for two timeouts."""
    bench = await started(dut)
    await cycles(bench, 50)  # until the first credits have crossed
    bench.blocked = {0}
    depth = 8  # flits that the transmitter takes while the link is blocked, after one on the link
    first = (depth + 1 - place) % MOST or MOST
    bench.play(0, 0, bench.packets(1, first) + bench.packets(6, MOST), 0)
    await cycles(bench, 2 * PROTOCOL.timeout_cycles + 100)
    bench.blocked = set()
    await bench.drain()
    assert bench.strobes[0]["rewinds_mp"] >= 2


@test
async def acks_spare_packets_that_wait_to_be_sent_again(dut: Any) -> None:
    """Block the acks for longer than a timeout, then the packets too, and let the acks pass."""
    bench = await started(dut)
    await cycles(bench, 50)
    bench.blocked = {1}
    packets = bench.packets(4, MOST)
    bench.play(0, 0, packets, 0)
    await bench.until(lambda: not bench.board.missing(bench.received))
    bench.blocked = {0, 1}
    await bench.until(lambda: bench.strobes[0]["rewinds_mp"] > 0)
    bench.blocked = {0}
    await cycles(bench, 60)
    bench.blocked = set()
    await bench.drain()


@channels_test
async def urgent_packets_wait_for_the_end_of_others(dut: Any) -> None:
    bench = await started(dut)
    for urgent, other in combinations(CHANNELS, 2):
        bench.play(0, other, bench.packets(6 * MOST, MOST), other)
        for _ in range(6 * MOST):
            bench.play(0, urgent, bench.packets(1, 1), urgent)
            await cycles(bench, bench.rng.randint(2, 2 * MOST))
        await bench.drain()


@channels_test
async def packets_wait_for_credits_on_every_channel(dut: Any) -> None:
    bench = await started(dut)
    count = PROTOCOL.buffer_packets
    for circuit in CHANNELS:
        for _ in range(2):  # the second time, limits have moved
            sink = bench.ends[1].streams[len(CHANNELS) + circuit]
            sink.pause = True
            bench.play(0, circuit, bench.packets(2 * count + 2, MOST), circuit)
            await cycles(bench, 4 * count * MOST)
            assert bench.board.missing(bench.received) > count
            sink.pause = False
            await bench.drain()


@test
async def flows_outlive_a_new_session_of_the_neighbour(dut: Any) -> None:
    """Forge handshakes of a restarted neighbour, while packets are on their way and at rest."""
    bench, codec = await started(dut), FlitCodec(SPEC)
    for busy in (True, False):
        if busy:
            play_all(bench, 2 * PROTOCOL.window_packets)
            await bench.until(lambda: bool(bench.received[0] or bench.received[1]))
        for session_id in (99, 98):
            for line in bench.lines:
                line.put(codec.handshake(session_id=session_id, digest=SPEC.digest))
            await cycles(bench, bench.rng.randint(1, 6))
        await bench.until(lambda: not all(int(end.pin("up").value) for end in bench.ends))
        await bench.until_up()
        if busy:
            await bench.drain()
    bench.play(0, 2, bench.packets(2))
    await bench.drain()
