"""Tests of tracemodel.astra.collectives.ends, mostly against results of ASTRA-sim."""

import random
import re
from collections.abc import Sequence
from typing import Any

import pytest

from fred_hw.errors import InputError
from perfmodel.collectives.schedule import Pattern
from perfmodel.topology.block import BlockKind
from tests.calls import calls
from tracemodel.astra.collectives.ends import Ends, collective_ends, simulate
from tracemodel.astra.collectives.plan import chunk_bytes, plan_of
from tracemodel.astra.files.system import SystemFile
from tracemodel.astra.network import Dimension, Network
from tracemodel.astra.transport import MODELS

MIB, GIB = 1 << 20, 1 << 30
KINDS: dict[str, BlockKind] = {"Ring": "ring", "Switch": "switch", "FC": "fully_connected"}


def network(text: str, latency_ns: float = 20) -> Network:
    """Return a network like ``Ring 5 @750 x Switch 4 @375``."""
    found = re.findall(r"(\w+) (\d+) @(\d+)", text)
    return Network([Dimension(KINDS[a], int(b), float(c), latency_ns) for a, b, c in found])


def system(names: Sequence[str], **others: Any) -> SystemFile:
    keys = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
    data: dict[str, Any] = {f"{key}-implementation": list(names) for key in keys}
    data |= {"endpoint-delay": 1, "collective-optimization": "localBWAware"}
    data |= {key.replace("_", "-"): one for key, one in others.items() if one is not None}
    return SystemFile.model_validate(data)


RING, HALVING = ("ring", "ring"), ("halvingDoubling", "ring")
COLLECTIVES: list[tuple[str, str, Pattern, Sequence[str], int, int]] = [
    ("unaware", "Switch 20 @3000", "all_reduce", ["ring"], 2_167, 634_867),
    ("unaware", "Ring 20 @750", "all_reduce", ["ring"], 3_269, 2_534_107),
    ("unaware", "Ring 20 @750", "all_to_all", ["ring"], 16_341, 12_670_531),
    ("unaware", "Ring 5 @750 x Ring 4 @750", "all_reduce", RING, 2_767, 2_533_621),
    ("unaware", "Ring 5 @750 x Ring 4 @750", "reduce_scatter", RING, 1_384, 1_266_811),
    ("unaware", "Switch 4 @3000 x Switch 5 @375", "all_reduce", HALVING, 2_021, 1_567_157),
    ("unaware", "Ring 8 @750 x Ring 8 @750", "all_to_all", RING, 10_250, 9_334_474),
    ("aware", "Switch 20 @3000", "all_reduce", ["ring"], 2_775, 1_268_175),
    ("aware", "Switch 20 @3000", "all_to_all", ["direct"], 362, 333_362),
    ("aware", "Ring 20 @750", "all_to_all", ["direct"], 3_617, 3_666_672),
]


def all_alike(ends: dict[int, int]) -> int:
    (end,) = {*ends.values()}
    return end


@pytest.mark.parametrize(("model", "net", "kind", "names", "small", "large"), COLLECTIVES)
def test_collective_without_and_with_congestion(
    model: str, net: str, kind: Pattern, names: Sequence[str], small: int, large: int
) -> None:
    for size, ns in ((MIB, small), (GIB, large)):
        assert all_alike(collective_ends(kind, size, network(net), system(names), model)) == ns


def test_four_chunks_go_through_two_dimensions() -> None:
    net, four = network("Ring 5 @750 x Ring 4 @750"), system(RING, preferred_dataset_splits=4)
    for size, ns in ((MIB, 2_760), (GIB, 2_133_992)):
        assert all_alike(collective_ends("all_reduce", size, net, four)) == ns


@pytest.mark.parametrize("model", ["unaware", "aware"])
def test_bytes_that_splits_do_not_divide_are_chunks_of_full_size(model: str) -> None:
    """All-gather of 52,428 bytes by 20 NPUs at a switch, in 64 splits.

    A chunk has floor(52,428 / 64) = 819 bytes, so that ceil(52,428 / 819) = 65 chunks are needed.
    Each is a ring of 19 steps. A step takes the endpoint delay of 1 ns and a message, without
    congestion floor(2 * 20 + 819 / 3221.2) = 40 ns, and with it two links of floor(20.25) = 20 ns.
    The endpoint delay comes once more at the end: 19 * 41 + 1 = 780 ns. 65 * 780 = 50,700 ns.
    """
    net = network("Switch 20 @3000")
    many = system(["ring"], preferred_dataset_splits=64)
    assert all_alike(collective_ends("all_gather", 52_428, net, many, model)) == 50_700


@pytest.mark.parametrize(
    ("kind", "size", "chunks", "each"),
    [
        ("all_gather", 640, 64, 10),
        ("all_gather", 65, 65, 1),
        ("all_gather", 127, 127, 1),  # floor(127 / 64) = 1
        ("all_gather", 63, 63, 1),  # fewer bytes than splits: one chunk for each byte
        ("all_gather", 0, 1, 1),
        ("all_reduce", 64 * 20 + 1, 65, 20),
        ("all_reduce", 64 * 20 - 1, 64, 20),  # at least a byte for each of 20 NPUs
        ("all_reduce", 0, 64, 20),
    ],
)
def test_chunks_of_a_collective(kind: Pattern, size: int, chunks: int, each: int) -> None:
    many = system(["ring"], preferred_dataset_splits=64)
    plan = plan_of(kind, network("Switch 20 @3000"), many, "s")
    assert chunk_bytes(plan, size) == [each] * chunks


@pytest.mark.parametrize(
    ("kind", "name", "size", "memory", "ns"),
    [
        ("Ring", "ring", 0, None, 28_600),
        ("FC", "direct", 0, None, 4_120),
        ("Ring", "ring", MIB, 1600, 64_440),
    ],
)
def test_eight_npus(kind: str, name: str, size: int, memory: float | None, ns: int) -> None:
    net = network(f"{kind} 8 @50", 500)
    four = system([name], preferred_dataset_splits=4, endpoint_delay=10, local_mem_bw=memory)
    assert all_alike(collective_ends("all_reduce", size, net, four)) == ns


def test_direct_all_reduce_of_64_at_a_switch() -> None:
    # The tutorial prints 633.217 us and 40,008.217 us, and not its endpoint delay.
    net = network("Switch 64 @50", 500)
    four = system(["direct"], preferred_dataset_splits=4, endpoint_delay=10)
    assert all_alike(collective_ends("all_reduce", GIB, net, four)) == 633_120
    assert all_alike(collective_ends("all_reduce", GIB, net, four, "aware")) == 40_008_120


@pytest.mark.parametrize(("queues", "ns"), [(1, 2_143_872), (2, 1_095_058), (4, 559_090)])
def test_queues_of_a_dimension_work_at_a_time(queues: int, ns: int) -> None:
    """1 GiB all-reduce on rings of 5 and 4 NPUs, 64 chunks of 16 MiB, one active chunk.

    750 GB/s are 805.306 bytes per ns, the endpoint delay is 1 ns, the latency 20 ns.

    * Reduce-scatter or all-gather in dimension 0: 4 steps of 1 + floor(20 + 3,355,443 / 805.306)
      = 4,187 ns and 1 ns at the end, 16,749 ns.
    * All-reduce in dimension 1: 6 steps of 1 + floor(20 + 838,860 / 805.306) = 1,062 ns and 1 ns,
      6,373 ns.

    Dimension 0 is the bottleneck. Phases take its queues in turn, so that reduce-scatters are in
    one half of the queues and all-gathers in the other. One queue has all 128 phases:
    128 * 16,749 = 2,143,872. Of two, the first has 64 reduce-scatters, and the last chunk goes on
    through dimension 1 and back: 64 * 16,749 + 6,373 + 16,749 = 1,095,058. Of four, each has 32:
    32 * 16,749 + 23,122 = 559,090.
    """
    net, many = network("Ring 5 @750 x Ring 4 @750"), system(RING, preferred_dataset_splits=64)
    ends = collective_ends("all_reduce", GIB, net, many, queues=queues)
    assert all_alike(ends) == ns


@pytest.mark.parametrize("active", [1, 2, 3])
def test_queues_share_the_active_chunks_of_a_dimension(active: int) -> None:
    """Of two queues each serves ceil(active / 2) chunks: 1, 1 and 2, in 4, 4 and 2 turns.

    8 chunks of 8,000 bytes go round a ring of 4 NPUs: 3 steps of 1 + floor(20 + 8,000 / 805.306)
    = 30 ns and 1 ns at the end are 91 ns for each turn.
    """
    more = {"preferred_dataset_splits": 8, "active_chunks_per_dimension": active}
    ends = collective_ends(
        "all_gather", 64_000, network("Ring 4 @750"), system(["ring"], **more), queues=2
    )
    assert all_alike(ends) == 91 * {1: 4, 2: 4, 3: 2}[active]


def test_second_half_of_the_queues_goes_round_a_ring_the_other_way() -> None:
    """Links of both directions carry messages then, so that chunks do not wait for each other.

    2 chunks of an all-gather on a ring of 4 NPUs take 3 steps of 1 + floor(20 + 8,000 / 805.306)
    = 30 ns and 1 ns each, 91 ns together.
    """
    net, two = network("Ring 4 @750"), system(["ring"], preferred_dataset_splits=2)
    ends = collective_ends("all_gather", 16_000, net, two, "aware", queues=2)
    assert all_alike(ends) == 91
    both = system(["ring"], preferred_dataset_splits=2, active_chunks_per_dimension=2)
    assert all_alike(collective_ends("all_gather", 16_000, net, both, "aware")) > 91


STEPS: dict[str, dict[Pattern, list[list[int]]]] = {
    # Of n NPUs with messages of m bytes: the messages of each step, of each phase.
    "ring": {
        "all_reduce": [[1] * 14],
        "all_gather": [[8] * 7],
        "reduce_scatter": [[1] * 7],
        "all_to_all": [[1] * 28],
    },
    "direct": {
        "all_reduce": [[1, 1]],
        "all_gather": [[8]],
        "reduce_scatter": [[1]],
        "all_to_all": [[1]],
    },
    "halvingDoubling": {
        "all_reduce": [[4, 2, 1, 1, 2, 4]],
        "all_gather": [[8, 16, 32]],
        "reduce_scatter": [[4, 2, 1]],
    },
}
"""Of 8 NPUs: bytes of the messages one behind the other, in eighths of the collective's size,
which is what each NPU has, of an all-gather what it contributes."""


@pytest.mark.parametrize("bytes_per_npu", [16, 12_345 * 16, MIB])
@pytest.mark.parametrize("delay_ns", [0, 1, 10])
@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name, kinds in STEPS.items() for kind in kinds]
)
def test_one_chunk_takes_what_its_steps_take(
    name: str, kind: Pattern, delay_ns: int, bytes_per_npu: int
) -> None:
    """Each step is a delay and a message; each phase ends with a delay once more."""
    rate = 3 * GIB / 1e9  # bytes per ns
    given = system([name], endpoint_delay=delay_ns)
    part = bytes_per_npu // 8
    ns = sum(
        sum(delay_ns + int(2 * 20.5 + count * part / rate) for count in phase) + delay_ns
        for phase in STEPS[name][kind]
    )
    net = network("Switch 8 @3", 20.5)
    assert all_alike(collective_ends(kind, bytes_per_npu, net, given)) == ns


@pytest.mark.parametrize("npus", [2, 5, 20])
@pytest.mark.parametrize("kind", ["all_to_all", "reduce_scatter", "all_reduce"])
def test_direct_at_a_switch_with_congestion_fills_its_link(kind: Pattern, npus: int) -> None:
    size, rate = 7_000 * npus, 3 * GIB / 1e9
    busy, direction = int(7_000 / rate), int(20.5 + 7_000 / rate)
    ends = collective_ends(
        kind, size, network(f"Switch {npus} @3", 20.5), system(["direct"]), "aware"
    )
    steps = 2 if kind == "all_reduce" else 1
    assert all_alike(ends) == steps * (1 + (npus - 2) * busy + 2 * direction) + 1


NETWORKS = [
    "Ring 5 @3",
    "FC 6 @7",
    "Switch 8 @2",
    "Ring 4 @3 x Switch 3 @2",
    "Switch 4 @9 x FC 2 @1 x Ring 2 @3",
]


def names_for(net: Network, rng: random.Random) -> list[str]:
    """Return algorithms that fit, drawn."""
    names = ["ring", "direct", "direct1", "direct2"]
    whole = ["oneRing", "oneDirect", "oneDirect3"]
    if rng.random() < 0.2:
        return [rng.choice(whole)]
    powers = [[], ["halvingDoubling"]]
    return [rng.choice([*names, *powers[size & (size - 1) == 0]]) for size in net.sizes]


@pytest.mark.parametrize("seed", range(40))
def test_what_is_worked_out_once_is_what_all_messages_give(seed: int) -> None:
    rng = random.Random(seed)
    net = network(rng.choice(NETWORKS), rng.choice([0, 5, 20.5]))
    names = names_for(net, rng)
    kinds: list[Pattern] = ["all_reduce", "all_gather", "reduce_scatter", "all_to_all"]
    if any("halving" in name for name in names):
        kinds.pop()
    given = system(
        names,
        preferred_dataset_splits=rng.choice([1, 2, 3]),
        active_chunks_per_dimension=rng.choice([1, 2]),
        endpoint_delay=rng.choice([0, 1, 13]),
        local_mem_bw=rng.choice([None, 0.7]),
        collective_optimization=rng.choice(["baseline", "localBWAware"]),
    )
    plan = plan_of(rng.choice(kinds), net, given, "s")
    size, starts = rng.randrange(10_000), [(npu, 7) for npu in range(net.npus)]
    whole = simulate(plan, size, starts, net, MODELS["unaware"])
    assert Ends(net).of(plan, size, starts) == whole
    assert len(whole) == net.npus


@pytest.mark.parametrize("seed", range(30))
def test_ring_of_some_that_begin_at_different_times_has_a_closed_form(seed: int) -> None:
    rng = random.Random(seed)
    net = network("Ring 6 @3 x Switch 2 @2", 20.5)
    group = tuple(rng.sample(range(12), rng.randrange(2, 8)))
    given = system(
        RING,
        preferred_dataset_splits=rng.choice([1, 3]),
        active_chunks_per_dimension=rng.choice([1, 2]),
        local_mem_bw=rng.choice([None, 0.7]),
    )
    kinds: list[Pattern] = ["all_reduce", "all_gather", "reduce_scatter", "all_to_all"]
    plan = plan_of(rng.choice(kinds), net, given, "s", group)
    size, late = rng.randrange(2_000), rng.choice([0, 30, 3_000])
    starts = [(npu, rng.randrange(late + 1)) for npu in group]
    whole = simulate(plan, size, starts, net, MODELS["unaware"])
    assert Ends(net).of(plan, size, starts) == whole
    again = [(npu, start + 100) for npu, start in starts]
    ends = Ends(net)
    ends.of(plan, size, starts)
    assert ends.of(plan, size, again) == {npu: end + 100 for npu, end in whole.items()}


def test_some_npus_are_a_ring_in_the_order_of_their_list() -> None:
    net = network("Ring 8 @50", 500)
    given = system(["direct"], endpoint_delay=99)
    # 10 ns before each of two messages and after the last, and the longest of the two ways to it.
    near = collective_ends("all_gather", 0, net, given, group=(0, 1, 2))
    assert near == {0: 30 + 1_500, 1: 30 + 1_500, 2: 30 + 1_000}
    far = collective_ends("all_gather", 0, net, given, group=(0, 4, 2))
    assert far == {0: 30 + 2_000, 4: 30 + 3_000, 2: 30 + 3_000}


def test_collective_of_one_ends_at_once() -> None:
    net, given = network("Ring 4 @1"), system(["ring"])
    assert collective_ends("all_reduce", MIB, net, given, group=(2,)) == {2: 0}
    assert collective_ends("all_reduce", MIB, net, given, "aware", group=(2,)) == {2: 0}


def test_tree_takes_turns() -> None:
    net = network("FC 4 @1", 1000)
    given = system(["doubleBinaryTree"], endpoint_delay=10)
    # 0 and 2 are below 1, which is below 3: two messages up, and two down.
    assert collective_ends("all_reduce", 0, net, given) == {
        3: 2 * 1_003 + 30,
        1: 3 * 1_003 + 40,
        0: 4 * 1_003 + 50,
        2: 4 * 1_003 + 50,
    }
    plan = plan_of("all_reduce", net, given, "s")
    second = simulate(plan, 0, [(npu, 0) for npu in range(4)], net, MODELS["unaware"], trees=1)
    assert second[0] == 2 * 1_003 + 30 and second[3] == 4 * 1_003 + 50


def test_what_is_no_power_of_two_is_refused() -> None:
    line = r"^system: all-reduce-implementation\.0: must be on a power of two .*, not on 20$"
    with pytest.raises(InputError, match=line):
        collective_ends("all_reduce", MIB, network("Ring 20 @1"), system(["halvingDoubling"]))


def test_work_for_a_ring_grows_with_its_length_at_most() -> None:
    def ends(npus: int) -> object:
        net = network(f"Ring {npus} @750")
        return collective_ends("all_reduce", GIB, net, system(["ring"]))

    assert calls(lambda: ends(4096)) < 2.1 * calls(lambda: ends(2048))


def test_ring_of_4096() -> None:
    # 2 * 4095 steps of 1 ns and 20 ns + 256 KiB at 750 * 2^30 B/s, and 1 ns after the last.
    ends = collective_ends("all_reduce", GIB, network("Ring 4096 @750"), system(["ring"]))
    assert all_alike(ends) == 2 * 4095 * (1 + int(20 + MIB / 4 / (750 * GIB / 1e9))) + 1
