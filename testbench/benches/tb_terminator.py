"""cocotb tests of two link terminators, connected by a link with faults."""

import logging
import os
import random
from collections import Counter
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

from fred_hw.endpoint.terminator import SEND_CYCLES
from fred_hw.per_class import per_class
from fred_hw.protocol import CONTROL, HEADER_FIELDS, KINDS
from fred_hw.spec import SwitchSpec
from testbench.agents.line import Fault, FaultyLink, Line, link_faults
from testbench.agents.measurements import count_flits, record
from testbench.agents.outputs import start_clock
from testbench.agents.scoreboard import FlowKey, Packets, Scoreboard
from testbench.agents.terminator import TerminatorPort, connect
from testbench.models.endpoint import Flit, FlitCodec
from testbench.stimulus.traffic import random_flit

SPEC = SwitchSpec.model_validate_json(os.environ["FRED_SPEC"])
PROTOCOL = SPEC.protocol
PACKETS = int(os.environ.get("FRED_PACKETS", "6"))
MOST = PROTOCOL.packet_flits
DATA = KINDS.index("data")
CHANNELS = range(per_class(SPEC))
ADDRESSES = (5, 9)
FAULTS = link_faults(SPEC.data_width)
FaultKind: Any = Enum("FaultKind", {name: name for name in FAULTS})
RECOVERED = frozenset({"dropped", *(f"rewinds_{name}" for name in PROTOCOL.channels.names)})
"""Strobes after faults of a link."""
ERRORS = {
    "kind": {"kind": (1 << HEADER_FIELDS["kind"].bits) - 1},
    "length": {"index": 1, "last": 0},
}
"""Header fields that no correct neighbour sends."""
RECOVERY_CYCLES = 4000 + 16 * (PROTOCOL.timeout_cycles + PROTOCOL.nack_timeout_cycles)
"""Cycles in which all losses are recovered."""
ErrorKind: Any = Enum("ErrorKind", {name: name for name in ERRORS})
test = cocotb.test(timeout_time=5, timeout_unit="ms")
rate_test = cocotb.test(
    timeout_time=5, timeout_unit="ms", skip=MOST < 4 or PROTOCOL.window_packets < 16
)


class PairBench:
    """Two terminators, both directions of their link, and the expected packets."""

    def __init__(self, dut: Any, stall: float = 0.0, delay: int = 0) -> None:
        self.dut, self.stall = dut, stall
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.ends = [TerminatorPort(dut, SPEC, "ab"[k], ADDRESSES[k]) for k in range(2)]
        self.board = Scoreboard(2)
        self.lines = [Line(delay), Line(delay)]
        self.cycle = 0
        self.strobes: list[Counter[str]] = [Counter(), Counter()]
        self.may = RECOVERED
        self.blocked: set[int] = set()  # ends whose link takes no flit

    async def start(self) -> None:
        """Reset, connect everything and wait until the link is up."""
        dut = self.dut
        logging.getLogger(f"cocotb.{dut._name}").setLevel(logging.WARNING)
        dut.rst.value = 1
        for number, end in enumerate(self.ends):
            end.reset(session_id=number + 1)
        start_clock(dut)
        for _ in range(2):
            await RisingEdge(dut.clk)
        self.watches = [
            connect(dut, "ab"[k], "ba"[k], line, lambda: self.cycle, partial(self._link_stalls, k))
            for k, line in enumerate(self.lines)
        ]
        for end in self.ends:
            end.attach()
        await RisingEdge(dut.clk)
        dut.rst.value = 0
        cocotb.start_soon(self._step())
        await self.until_up()

    async def until_up(self) -> None:
        """Wait until both ends report that the link is up."""
        await self.until(lambda: all(int(end.pin("up").value) for end in self.ends))

    async def restart(self, session_id: int) -> None:
        """Reset both ends; only packets played afterwards are expected."""
        self.dut.rst.value = 1
        for number, end in enumerate(self.ends):
            end.reset(session_id=session_id + number)
        for _ in range(4):  # flits on the lines arrive in the meantime
            await RisingEdge(self.dut.clk)
            for watch in self.watches:
                watch.forget()
        for end in self.ends:
            end.attach()
        self.board = Scoreboard(2)
        self.dut.rst.value = 0
        await self.until_up()

    def _link_stalls(self, end: int) -> bool:
        return end in self.blocked or self._stalls()

    def _stalls(self) -> bool:
        return self.rng.random() < self.stall

    async def _step(self) -> None:
        while True:
            await FallingEdge(self.dut.clk)
            for end, strobes in zip(self.ends, self.strobes, strict=True):
                if int(self.dut.rst.value):
                    continue
                end.step()
                strobes.update(end.strobes())
                assert self.may.issuperset(strobes), strobes
            await RisingEdge(self.dut.clk)
            self.cycle += 1
            for stream in (one for end in self.ends for one in end.streams if self.stall):
                stream.pause = self._stalls()

    async def until(self, holds: Callable[[], bool], cycles: int = RECOVERY_CYCLES) -> None:
        """Wait until a condition holds, no longer than some cycles."""
        end = self.cycle + cycles
        while not holds():
            assert self.cycle < end, f"nothing happens any more; cycle {self.cycle}"
            await RisingEdge(self.dut.clk)

    def packets(self, count: int, length: int = 0) -> Packets:
        """Return random packets, of random lengths unless a length is given."""
        lengths = [length or self.rng.randint(1, MOST) for _ in range(count)]
        return [tuple(random_flit(self.rng, SPEC) for _ in range(one)) for one in lengths]

    def play(self, source: int, circuit: int, packets: Packets, phase: int | None = None) -> None:
        """Send packets from one end to the other, and expect them there."""
        destination = 1 - source
        if phase is None:
            phase = PROTOCOL.online
            here, there = ({"phase": phase, "peer": ADDRESSES[k]} for k in (source, destination))
        else:
            here = there = {"phase": phase}
        self.ends[destination].receive(circuit, **here)
        self.ends[source].send(circuit, packets, **there)
        self.board.want(destination, (phase, here.get("peer", 0)), packets)

    @property
    def received(self) -> list[Any]:
        """Packets that each end received, by flow."""
        return [end.received for end in self.ends]

    async def drain(self) -> None:
        """Wait until everything is delivered and acknowledged, and check it."""
        await self.until(lambda: not self.board.missing(self.received))
        await self.until(lambda: all(end.done for end in self.ends))
        for _ in range(30):
            await RisingEdge(self.dut.clk)
        self.board.check(self.received)
        self.board.check_complete(self.received)
        assert self.board.flits
        count_flits(self.board.flits)


async def started(dut: Any, stall: float = 0.0, delay: int = 0) -> PairBench:
    bench = PairBench(dut, stall, delay)
    await bench.start()
    return bench


def play_all(bench: PairBench, count: int) -> None:
    """Send packets on all channels in both directions: phases on two, unicasts on the third."""
    for source in range(2):
        for circuit in CHANNELS:
            phase = None if circuit == 2 else circuit % PROTOCOL.phases
            if phase is not None and PROTOCOL.phases < 2 and circuit:
                continue
            bench.play(source, circuit, bench.packets(count), phase)


@test
@cocotb.parametrize(stall=[0.0, 0.4])
async def packets_arrive_bit_exact(dut: Any, stall: float) -> None:
    bench = await started(dut, stall, delay=3)
    for _ in range(2):
        play_all(bench, PACKETS)
        await bench.drain()
    assert bench.strobes == [{}, {}]


@test
@cocotb.parametrize(kind=list(FaultKind))
async def packets_arrive_after_one_fault(dut: Any, kind: Any) -> None:
    bench, act = await started(dut), FAULTS[kind.value]
    for line in bench.lines:
        suffered: list[tuple[Flit, Sequence[Flit]]] = []

        def suffer(flit: Flit, suffered: Any = suffered) -> Sequence[Flit]:
            suffered.append((flit, act(bench.rng, flit)))
            return suffered[-1][1]

        number = bench.rng.randrange(PACKETS)
        fault = Fault(FlitCodec(SPEC), is_data, suffer, number)
        line.change = fault
        play_all(bench, PACKETS)
        await bench.drain()
        assert fault.done and len(suffered) == 1


@test
@cocotb.parametrize(share=[0.003, 0.03])
async def packets_arrive_on_faulty_links(dut: Any, share: float) -> None:
    bench = await started(dut, 0.1, delay=2)
    change = FaultyLink(bench.rng, SPEC.data_width, share)
    for line in bench.lines:
        line.change = change
    while not change.count:
        play_all(bench, PACKETS)
        await bench.drain()


@test
async def a_broken_flit_is_dropped_and_sent_again(dut: Any) -> None:
    bench = await started(dut)
    bench.lines[0].change = Fault(FlitCodec(SPEC), is_data, lambda flit: broken(bench.rng, flit))
    bench.play(0, 1, bench.packets(3, 1), 0)
    await bench.drain()
    assert bench.strobes == [{"rewinds_pp": 1}, {"dropped": 1}]


def is_data(fields: dict[str, int]) -> bool:
    return fields["kind"] == DATA


def broken(rng: random.Random, flit: Flit) -> Sequence[Flit]:
    return FAULTS["bit_of_data"](rng, flit)


@test
async def a_flow_that_is_not_received_is_unknown(dut: Any) -> None:
    bench = await started(dut)
    bench.may |= {"unknown"}
    [source, destination], packets = bench.ends, bench.packets(1, 1)
    source.send(0, packets, phase=PROTOCOL.online, peer=ADDRESSES[1])
    await bench.until(lambda: bool(bench.strobes[1]), 100)
    destination.receive(0, phase=PROTOCOL.online, peer=ADDRESSES[0])
    bench.board.want(1, (PROTOCOL.online, ADDRESSES[0]), packets)
    await bench.drain()
    assert bench.strobes == [{"rewinds_mp": 1}, {"unknown": 1}]


@test
@cocotb.parametrize(kind=list(ErrorKind))
async def a_wrong_header_is_an_error(dut: Any, kind: Any) -> None:
    bench, codec = await started(dut), FlitCodec(SPEC)
    bench.may |= {"error"}

    def wrong(flit: Flit) -> Sequence[Flit]:
        return (codec.pack(flit.data, **codec.unpack(flit) | ERRORS[kind.value]),)

    bench.lines[0].change = Fault(codec, is_data, wrong)
    bench.play(0, 1, bench.packets(3, 1), 0)
    await bench.drain()
    assert bench.strobes == [{"rewinds_pp": 1}, {"error": 1}]


@test
async def a_flit_without_buffer_space_is_an_error(dut: Any) -> None:
    """Send the first packet beyond the credits nevertheless."""
    bench, codec = await started(dut), FlitCodec(SPEC)
    bench.may |= {"error"}
    sink = bench.ends[1].streams[per_class(SPEC)]
    sink.pause = True
    count = PROTOCOL.buffer_packets + 1  # the receiver lends space for one more
    packets = bench.packets(count + 2, MOST)
    bench.play(0, 0, packets, 0)

    def sent() -> list[dict[str, int]]:
        fields = (codec.unpack(one.flit) for one in bench.watches[0].beats)
        return [own for own in fields if is_data(own)]

    await bench.until(lambda: len(sent()) == count * MOST)
    for _ in range(8):  # until the last flit has arrived
        await RisingEdge(dut.clk)
    for data, own in zip(packets[count], sent()[-MOST:], strict=True):
        numbers = {
            name: own[name] + step for name, step in (("sequence", 1), ("link_sequence", MOST))
        }
        fields = own | numbers | {"credit_circuit": CONTROL}
        bench.lines[0].put(codec.pack(data, **fields))
    await bench.until(lambda: bench.strobes[1]["error"] > 0, 100)
    sink.pause = False
    await bench.drain()
    assert bench.strobes[1]["error"] == 1


@test
async def an_incompatible_neighbour_is_refused(dut: Any) -> None:
    bench, codec = await started(dut), FlitCodec(SPEC)
    bench.may |= {"refused"}
    bench.lines[0].put(codec.handshake(session_id=1, digest=SPEC.digest ^ 1))
    await bench.until(lambda: bool(bench.strobes[1]), 100)
    await bench.until(lambda: not int(bench.ends[1].pin("up").value))
    await bench.until_up()
    assert bench.strobes == [{}, {"refused": 1}]
    play_all(bench, PACKETS)
    await bench.drain()


@test
async def a_forgotten_phase_starts_at_number_0(dut: Any) -> None:
    """Unicasts keep their numbers."""
    bench, codec = await started(dut), FlitCodec(SPEC)

    def numbers(circuit: int) -> list[int]:
        sent = [codec.unpack(one.flit) for one in bench.watches[0].beats]
        return [own["sequence"] for own in sent if is_data(own) and own["circuit"] == circuit]

    for forgets in (False, True, False):
        bench.play(0, 0, bench.packets(2, 1), 0)
        bench.play(0, 2, bench.packets(1, 1))
        await bench.drain()
        for end in bench.ends:
            end.pin("forget").value = int(forgets)
        await RisingEdge(dut.clk)
        for end in bench.ends:
            end.pin("forget").value = 0
    assert (numbers(0), numbers(2)) == ([0, 1, 2, 3, 0, 1], [0, 1, 2])


@test
@cocotb.parametrize(stall=[0.0, 0.4])
async def reset_forgets_what_is_under_way(dut: Any, stall: float) -> None:
    bench = await started(dut, stall)
    for session_id, share in ((3, 0.2), (5, 0.7)):
        play_all(bench, PACKETS)
        total = bench.board.missing([{}, {}])
        left = int(total * (1 - share))
        await bench.until(lambda left=left: bench.board.missing(bench.received) <= left)
        assert bench.board.missing(bench.received) > 0
        bench.board.check(bench.received)
        await bench.restart(session_id)
    play_all(bench, PACKETS)
    await bench.drain()


@test
async def flow_follows_tdest_after_the_acks(dut: Any) -> None:
    """Alternate between a phase and unicasts on a channel."""
    bench = await started(dut)
    source, destination = bench.ends
    unicast: dict[str, int] = {"phase": PROTOCOL.online}
    first = {"phase": 0}
    for to, since in 2 * [
        (first, first),
        (unicast | {"peer": ADDRESSES[1]}, unicast | {"peer": ADDRESSES[0]}),
    ]:
        packets = bench.packets(2)
        source.send(0, packets, **to)
        bench.board.want(1, (since["phase"], since.get("peer", 0)), packets)
    for count, since in enumerate(2 * [first, unicast | {"peer": ADDRESSES[0]}]):
        destination.receive(0, **since)
        flow = (since["phase"], since.get("peer", 0))
        wanted = 2 + count // 2 * 2
        await bench.until(lambda flow=flow, wanted=wanted: came(bench, flow) == wanted)
    await bench.drain()


def came(bench: PairBench, flow: FlowKey) -> int:
    """Return the number of packets that arrived in a flow."""
    return len(bench.received[1].get(flow, []))


@test
async def long_packets_are_cut(dut: Any) -> None:
    bench = await started(dut)
    [packet] = bench.packets(1, 2 * MOST + 1)
    source, destination = bench.ends
    destination.receive(1, phase=0)
    source.send(1, [packet], phase=0)
    parts = [packet[at : at + MOST] for at in range(0, len(packet), MOST)]
    bench.board.want(1, (0, 0), parts)
    await bench.drain()


@rate_test
async def flits_leave_in_every_cycle(dut: Any) -> None:
    """Measure the latency of a lone packet, and the rate of many."""
    bench = await started(dut)
    codec, [out, _] = FlitCodec(SPEC), bench.watches
    for _ in range(50):  # until the first credits have crossed
        await RisingEdge(dut.clk)
    bench.play(0, 0, bench.packets(1, 1), 0)
    valid, ready = (bench.ends[0].pin(f"s_axis_mp_{name}") for name in ("tvalid", "tready"))
    await FallingEdge(dut.clk)
    while not (int(valid.value) and int(ready.value)):
        await FallingEdge(dut.clk)
    begin = bench.cycle
    await bench.drain()
    [lone] = [one for one in out.beats if is_data(codec.unpack(one.flit))]
    record(
        "terminator_latency_cycles",
        lone.cycle - begin,
        "cycles",
        "From the only flit of a lone packet on an AXI4-Stream to it on the link",
    )
    assert lone.cycle - begin == SEND_CYCLES
    bench.play(0, 0, bench.packets(12, MOST), 0)
    await bench.drain()
    cycles = [one.cycle for one in out.beats if is_data(codec.unpack(one.flit))][1:]
    assert len(cycles) == 12 * MOST
    # Credits and acks may take the place of a flit.
    assert max(cycles) - min(cycles) + 1 <= 12 * MOST + 8
