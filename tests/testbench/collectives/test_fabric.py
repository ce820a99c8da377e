"""Endpoints on a switch: collectives in a ring and in the network, bit for bit, in Icarus."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from fred_hw.ace.endpoint_map import CAUSES
from fred_hw.ace.operations import (
    Buffer,
    Descriptor,
    FlowId,
    Ring,
    all_to_all,
    exchange,
    gather_in_network,
    multicast,
    reduce_in_network,
)
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.routing import route
from fred_hw.control.phase_entry import entry_word
from fred_hw.spec import SwitchSpec
from perfmodel.collectives.memory_traffic import ace_traffic, core_traffic
from perfmodel.collectives.select import build_schedule
from perfmodel.topology.parse import parse_topology
from testbench.collectives.fabric import (
    ADDRESSES,
    Fabric,
    Finished,
    Program,
    Sizes,
    build_fabric,
    finished,
    run_fabric,
)
from testbench.models.arithmetic import combine
from testbench.models.golden import deliver
from testbench.sim.tools import SimulatorError
from tests.testbench.cases import ENGINE, SHORT

SPEC = SwitchSpec(
    ports=4,
    format="int16",
    lanes=2,
    protocol=SHORT.model_copy(update={"phases": 12}),
    endpoint=ENGINE,
)
N, BYTES = 4, 4
pytestmark = [pytest.mark.sim, pytest.mark.slow]
Words = NDArray[np.unsignedinteger]
EVERY = range(N)


@cache
def model() -> Path:
    return build_fabric(SPEC, Sizes())


def memories(seed: int = 1) -> list[NDArray[np.uint8]]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 256, (256, BYTES), dtype=np.uint8) for _ in EVERY]


def programs() -> list[Program]:
    made = [Program(SPEC) for _ in EVERY]
    for k, program in enumerate(made):
        program.begin(ADDRESSES[k])
    return made


def ring(
    operation: str, k: int, source: tuple[int, int], to: int, circuit: str = "dp", message: int = 4
) -> Descriptor:
    """Return a member's part of a ring; places and sizes are in flits."""
    first, size = source
    return Descriptor(
        operation=operation,
        circuit=circuit,
        source=Buffer(BYTES * first, BYTES * size),
        destination=Buffer(BYTES * to, BYTES * size),
        send=FlowId(ADDRESSES[(k + 1) % N], unicast=True),
        receive=FlowId(ADDRESSES[(k - 1) % N], unicast=True),
        ring=Ring(members=N, rank=k, message_bytes=BYTES * message, fsms=2),
    )


def numbers(memory: NDArray[np.uint8], first: int, size: int) -> Words:
    """Return the numbers in some flits of a memory."""
    return memory[first : first + size].reshape(-1).view("<u2")


def ring_sum(buffers: Sequence[Words], size: int) -> Words:
    """Return what a ring computes: of each block from the member behind its owner on, around."""
    block = 2 * -(-size // N)
    total = np.zeros_like(buffers[0])
    for owner in EVERY:
        part = slice(owner * block, (owner + 1) * block)
        value = buffers[(owner + 1) % N][part]
        for turn in range(2, N + 1):
            other = buffers[(owner + turn) % N][part]
            value = combine(value, other, SPEC.number_format, SPEC.operation, SPEC.overflow)
        total[part] = value
    return total


def queued_rings(
    made: Sequence[Program], want: list[NDArray[np.uint8]]
) -> Iterator[tuple[int, int, int]]:
    """Queue rings of odd sizes at all members, and write their results to ``want``.

    After the ring of each member it yields the member and the first flit and the size of its
    source.
    """
    before, first = memories(), 0
    for number, size in enumerate((9, 1, 5, 3, 13, 9, 6, 2)):
        scatters, block = number % 2 == 1, -(-size // N)
        operation = "reduce_scatter" if scatters else "all_reduce"
        total = ring_sum([numbers(one, first, size) for one in before], size).reshape(size, -1)
        for k, program in enumerate(made):
            program.queue(ring(operation, k, (first, size), 100 + first, message=1 + number % 4))
            own = slice(k * block, (k + 1) * block) if scatters else slice(size)
            numbers(want[k], 100 + first, size).reshape(size, -1)[own] = total[own]
            yield k, first, size
        first += size


def entry(*flows: Flow, circuit: int, generation: int = 0) -> tuple[int, Callable[..., list]]:
    """Return the entry of a phase, and what comes out of it."""
    configuration = route(flows, N, SPEC.middle_switches).configuration
    assert configuration is not None

    def out(inputs: Sequence[Words | None]) -> list:
        return deliver(SPEC, configuration, inputs)

    return entry_word(SPEC, configuration, flows, circuit, generation=generation), out


def run(tmp_path: Path, made: Sequence[Program], **conditions: object) -> Finished:
    conditions = {"memories": memories(), "limit": 6000, **conditions}
    return run_fabric(model(), Fabric(spec=SPEC, programs=made, **conditions), tmp_path)  # pyright: ignore[reportArgumentType]


def test_ring_all_reduce_reads_and_writes_each_byte_once(tmp_path: Path) -> None:
    size, made = 37, programs()
    for k, program in enumerate(made):
        program.queue(ring("all_reduce", k, (0, size), 50))
        program.finish("dp")
        for name in ("MEMORY_READS", "MEMORY_WRITES", "FLITS_SENT", "ERROR"):
            program.show(name)
    before, found = memories(), run(tmp_path, made)
    want = ring_sum([numbers(one, 0, size) for one in before], size)
    for k in EVERY:
        assert (numbers(found.memories[k], 50, size) == want).all()
        assert (found.memories[k][:50] == before[k][:50]).all()
        assert found.reads[k]["MEMORY_READS"] == [size]
        assert found.reads[k]["MEMORY_WRITES"] == [size]
        assert found.reads[k]["ERROR"] == [0]
    sent, read = (
        sum(one[name][0] for one in found.reads) for name in ("FLITS_SENT", "MEMORY_READS")
    )
    assert sent == 2 * (N - 1) * size
    # The wafer model reads and writes the same. Cores would read 4/3 of what is sent.
    schedule = build_schedule(parse_topology("fred-c"), "all_reduce", [EVERY], float(size), "ring")
    engines, cores = ace_traffic(schedule, N), core_traffic(schedule, N)
    for k in EVERY:
        assert found.reads[k]["MEMORY_READS"] == [pytest.approx(engines[k].read)]
        assert found.reads[k]["MEMORY_WRITES"] == [pytest.approx(engines[k].written)]
    assert sent == pytest.approx(sum(one.sent for one in engines.values()))
    assert sum(one.read for one in cores.values()) == pytest.approx(4 / 3 * sent)
    assert 3 * read == 2 * sent


@pytest.mark.long  # compiled rings of such blocks are in test_mesh_with_endpoints.py
@pytest.mark.parametrize("faults", [0, 5000])
def test_rings_of_sizes_that_do_not_divide_evenly(tmp_path: Path, faults: int) -> None:
    """One behind the other, with blocks that are shorter or empty, as 3, 3, 3 and 0 flits are."""
    made, want = programs(), memories()
    for _ in queued_rings(made, want):
        pass
    for program in made:
        program.finish("dp")
        program.show("ERROR")
    found = run(tmp_path, made, faults=faults, limit=20000, seed=4)
    assert (found.faults > 0) == (faults > 0)
    for k in EVERY:
        assert (found.memories[k] == want[k]).all()
        assert found.reads[k]["ERROR"] == [0]


def test_ring_and_network_at_once_on_links_that_lose_flits(tmp_path: Path) -> None:
    """Two collectives in a ring of DP beside one of MP in the network."""
    made = programs()
    word, out = entry(Flow([0, 1, 2, 3], [0, 1, 2, 3]), circuit=0)
    for k, program in enumerate(made):
        both = Buffer(BYTES * 100, BYTES * 27)
        program.queue(ring("reduce_scatter", k, (0, 36), 40, message=2))
        program.queue(
            exchange("mp", (both, FlowId(1)), (Buffer(BYTES * 130, both.size), FlowId(1)))
        )
        program.queue(ring("all_gather", k, (40, 36), 40, message=3))
        program.finish("mp", "dp")
        program.show("ERROR")
        program.show("DROPPED")
    before = memories()
    found = run(
        tmp_path, made, phases={1: word}, faults=5000, memory_stalls=30, limit=30000, seed=3
    )
    assert found.faults > 0
    reduced = ring_sum([numbers(one, 0, 36) for one in before], 36)
    summed = out([numbers(one, 100, 27) for one in before])
    for k in EVERY:
        assert (numbers(found.memories[k], 40, 36) == reduced).all()
        assert (numbers(found.memories[k], 130, 27) == summed[k]).all()
        assert found.reads[k]["ERROR"] == [0]
    assert sum(one["DROPPED"][0] for one in found.reads) > 0


def test_collectives_of_several_descriptors(tmp_path: Path) -> None:
    """Reduce-scatter and all-gather in the network, a multicast, an all-to-all by unicasts.

    The block of the last member is empty.
    """
    made, size = programs(), 9
    entries = {k: entry(Flow([0, 1, 2, 3], [k]), circuit=0) for k in EVERY}
    for k in EVERY:
        others = [other for other in EVERY if other != k]
        entries[4 + k] = entry(Flow([k], others), circuit=0)
    for k, program in enumerate(made):
        blocks, result = Buffer(0, BYTES * size), Buffer(BYTES * (20 + 3 * k), BYTES * size)
        program.queue(
            *reduce_in_network("mp", [FlowId(i) for i in EVERY], k, blocks, result, BYTES),
            *gather_in_network(
                "mp", [FlowId(4 + i) for i in EVERY], k, Buffer(BYTES * 20, BYTES * size), BYTES
            ),
            *multicast("mp", FlowId(6), k, 2, Buffer(BYTES * 40, BYTES * 9)),
        )
        program.queue(
            *all_to_all(
                "pp", ADDRESSES[:N], k, Buffer(BYTES * 60, 32), Buffer(BYTES * 80, 32), BYTES
            )
        )
        program.finish("mp", "pp")
        program.show("ERROR")
    before, found = (
        memories(),
        run(tmp_path, made, phases={k: word for k, (word, _) in entries.items()}, limit=20000),
    )
    for k in EVERY:
        assert found.reads[k]["ERROR"] == [0]
        for owner in EVERY:
            first, count = 3 * owner, min(3, size - 3 * owner)
            sums = entries[owner][1]([numbers(one, first, count) for one in before])
            assert (numbers(found.memories[k], 20 + first, count) == sums[owner]).all()
            if owner != k:
                got = numbers(found.memories[k], 80 + 2 * owner, 2)
                assert (got == numbers(before[owner], 60 + 2 * k, 2)).all()
        assert (numbers(found.memories[k], 40, 9) == numbers(before[2], 40, 9)).all()


def all_reduce_twice(size: int) -> tuple[dict[str, dict[int, int]], Callable[..., list], list]:
    """Return entries of a phase and of its next generation, the sums, and a descriptor of each.

    The first generation puts its sums at 80, the second at 160.
    """
    flow = Flow([0, 1, 2, 3], [0, 1, 2, 3])
    word, out = entry(flow, circuit=2)
    again, _ = entry(flow, circuit=2, generation=1)
    source, first, second = (Buffer(BYTES * place, BYTES * size) for place in (0, 80, 160))
    descriptors = [
        exchange("dp", (source, FlowId(1)), (first, FlowId(1))),
        exchange("dp", (source, FlowId(1, generation=1)), (second, FlowId(1, generation=1))),
    ]
    return {"phases": {1: word}, "rewrites": {1: again}}, out, descriptors


def test_reset_of_an_endpoint_in_the_middle(tmp_path: Path) -> None:
    """One is reset while a phase runs, then all others: it begins anew, in its next generation."""
    made, size = programs(), 64
    words, out, descriptors = all_reduce_twice(size)
    for k, program in enumerate(made):
        program.queue(descriptors[0])
        if k == 0:
            program.until("MEMORY_WRITES", 16, 0xFFFFFFF0)  # to 31 of 64
            program.reset()
        program.finish("dp")
        program.reset()
        program.after_reset()
        program.begin(ADDRESSES[k])
        program.wait(400)  # until the phase is written
        program.queue(descriptors[1])
        program.finish("dp")
        program.show("ERROR")
    before, resets = memories(), {k: 31 * k for k in EVERY}
    found = run(tmp_path, made, **words, resets=resets, limit=4000)
    sums = out([numbers(one, 0, size) for one in before])
    for k in EVERY:
        memory = found.memories[k]
        cut = (memory[80:144] != before[k][80:144]).any(axis=1).nonzero()[0].max() + 1
        assert 16 <= cut < size  # in the middle
        assert (numbers(memory, 80, cut) == sums[k][: 2 * cut]).all()
        assert (numbers(memory, 160, size) == sums[k]).all()
        assert found.reads[k]["ERROR"] == [0]


def test_ends_without_work_need_no_reset_when_another_is_reset(tmp_path: Path) -> None:
    """They forget the phase, and their next descriptors name its next generation.

    One that did not forget it is told so, and does nothing.
    """
    made, size = programs(), 11
    words, out, descriptors = all_reduce_twice(size)
    refused = 1 << list(CAUSES).index("flow")
    for k, program in enumerate(made):
        program.queue(descriptors[0])
        program.finish("dp")
        program.until("STATUS", 0x400, 0x440)  # not busy, and idle
        if k == 0:
            program.wait(300)  # until that holds for all
            program.reset()
            program.after_reset()
            program.begin(ADDRESSES[k])
        else:
            if k == 1:
                program.queue(descriptors[1])
                program.queued["dp"] -= 1  # which is refused
                program.show("ERROR")
                program.write("ERROR", refused)
            program.write("FORGET", 1 << 1)
        program.wait(1200)  # until the phase is written
        program.queue(descriptors[1])
        program.finish("dp")
        program.show("ERROR")
    found = run(tmp_path, made, **words, resets={0: 3}, limit=4000)
    sums = out([numbers(one, 0, size) for one in memories()])
    for k in EVERY:
        assert (numbers(found.memories[k], 80, size) == sums[k]).all()
        assert (numbers(found.memories[k], 160, size) == sums[k]).all()
        assert found.reads[k]["ERROR"] == ([refused, 0] if k == 1 else [0])


def test_a_source_that_is_ahead_waits_for_its_turn(tmp_path: Path) -> None:
    """One has sent for its second descriptor before the destination has begun the one between."""
    made, size = programs(), 6
    flows = [FlowId(address, unicast=True) for address in ADDRESSES]

    def send(source: int, first: int) -> None:
        made[source].queue(exchange("pp", (Buffer(BYTES * first, BYTES * size), flows[0])))

    def receive(source: int, to: int) -> None:
        buffer = Buffer(BYTES * to, BYTES * size)
        made[0].queue(exchange("pp", None, (buffer, flows[source])))

    send(1, 0)
    send(1, 10)
    send(2, 0)
    receive(1, 100)
    made[0].finish("pp")
    made[0].wait(600)
    receive(2, 120)
    receive(1, 140)
    for program in made[:3]:
        program.finish("pp")
        program.show("ERROR")
    before, found = memories(), run(tmp_path, made)
    memory = found.memories[0]
    for source, first, to in ((1, 0, 100), (2, 0, 120), (1, 10, 140)):
        assert (numbers(memory, to, size) == numbers(before[source], first, size)).all()
    assert [one["ERROR"] for one in found.reads[:3]] == [[0]] * 3


def test_wrong_descriptors_are_refused_and_hold_up_nothing(tmp_path: Path) -> None:
    made = programs()
    word, out = entry(Flow([0, 1, 2, 3], [0, 1, 2, 3]), circuit=0)
    good = exchange(
        "mp", (Buffer(0, BYTES * 20), FlowId(1)), (Buffer(BYTES * 100, BYTES * 20), FlowId(1))
    )
    wrong = {
        "alignment": exchange("mp", (Buffer(2, BYTES), FlowId(1))),
        "flow": exchange("mp", (Buffer(0, BYTES), FlowId(12))),
        "size": ring("all_reduce", 0, (0, 20), 50, message=5),
    }
    for program in made:
        program.queue(good)
    for cause, descriptor in wrong.items():
        made[0].queue(descriptor)
        made[0].queued[descriptor.circuit] -= 1
        made[0].show("ERROR")
        made[0].write("ERROR", 1 << list(CAUSES).index(cause))
    made[0].write("COMMAND", 7)
    made[0].until("STATUS", 0, 2)
    made[0].show("ERROR")
    for program in made:
        program.finish("mp")
    found = run(tmp_path, made, phases={1: word})
    bits = [1 << list(CAUSES).index(cause) for cause in (*wrong, "operation")]
    assert found.reads[0]["ERROR"] == bits
    sums = out([numbers(one, 0, 20) for one in memories()])
    assert all((numbers(found.memories[k], 100, 20) == sums[k]).all() for k in EVERY)


@pytest.mark.parametrize(
    ("never", "what"), [({"start0": 0}, "up0_v"), ({"start": 0}, "down0_v")], ids=["npu", "switch"]
)
def test_registers_begin_undefined_and_a_unit_without_reset_is_found(
    never: dict[str, int], what: str, tmp_path: Path
) -> None:
    """All other runs show that nothing undefined leaves an endpoint or a switch after a reset."""
    made = programs()
    for k, program in enumerate(made):
        program.queue(ring("all_reduce", k, (0, 8), 50))
        program.finish("dp")
    run(tmp_path, made)
    with pytest.raises(SimulatorError, match=f"{what}_known is undefined"):
        finished(model(), SPEC, N, {"limit": 100, **never}, tmp_path)
