"""What changing traffic consists of keeps the rules that software has to keep."""

from collections import defaultdict
from functools import cache

import pytest

from fred_hw.protocol import GENERATIONS
from testbench.volume.changing import changing_steps
from testbench.volume.fabric import two_levels
from testbench.volume.scenario import Burst, Operation, Unicast, Wait, Write
from tests.fred_hw.specs import LINK

SPEC, FABRIC = LINK.with_changes(ports=3, overflow="wrap"), two_levels(3)
Steps = list[Write | Burst | Unicast]


@cache
def made(seed: int) -> Steps:
    return changing_steps(SPEC, FABRIC, flits=30_000, seed=seed)


seeds = pytest.mark.parametrize("seed", range(3))


def ended_before(steps: Steps) -> list[set[int]]:
    """Return for each step all those that have ended when it begins."""
    found: list[set[int]] = []
    for step in steps:
        found.append(set().union({*step.after}, *(found[k] for k in step.after)))
    return found


@seeds
def test_a_phase_is_written_when_its_bursts_have_ended_with_the_next_generation(seed: int) -> None:
    steps, generations = made(seed), defaultdict[int, int](lambda: -1)
    mine = defaultdict[int, set[int]](set)
    for place, step in enumerate(steps):
        if isinstance(step, Unicast):
            continue
        if isinstance(step, Write):
            assert mine[step.phase] <= set(step.after)
            assert step.generation == (generations[step.phase] + 1) % GENERATIONS
            again = step.generation == 0 and generations[step.phase] >= 0
            waits = [one.cycles for one in step.operations if isinstance(one, Wait)]
            assert waits == [SPEC.protocol.timeout_cycles + 128 * SPEC.ports] * again
            generations[step.phase] = step.generation
            mine[step.phase] = {place}
        else:
            assert mine[step.phase] & set(step.after)  # it was written
            mine[step.phase].add(place)
    assert sum(isinstance(step, Write) for step in steps) > len(generations)


@seeds
def test_bursts_on_a_circuit_of_a_link_between_switches_follow_each_other(seed: int) -> None:
    steps, written = made(seed), dict[int, Write]()
    ended, last = ended_before(steps), dict[tuple[int, int, str], tuple[int, tuple[int, ...]]]()
    shared = 0
    for place, step in enumerate(steps):
        if isinstance(step, Write):
            written[step.phase] = step
        if not isinstance(step, Burst):
            continue
        write = written[step.phase]
        for flow in write.flows:
            for link in FABRIC.links(flow):
                other, sources = last.get((write.circuit, *link), (None, ()))
                if other is not None and sources != flow.inputs:
                    assert other in ended[place]
                    shared += 1
                elif other is not None:
                    assert ended[other] <= ended[place]
                last[write.circuit, *link] = place, tuple(flow.inputs)
    assert shared > 10


@pytest.mark.slow
@seeds
def test_generation_0_waits_until_no_switch_has_a_copy_on_the_way_up_and_down(seed: int) -> None:
    steps = changing_steps(SPEC.with_changes(), FABRIC, flits=200_000, seed=seed)
    looks = [
        [one.device for one in step.operations[1:8] if isinstance(one, Operation)]
        for step in steps
        if isinstance(step, Write) and any(isinstance(one, Wait) for one in step.operations)
    ]
    assert looks
    assert all(devices == [0, 1, 2, 3, 0, 1, 2] for devices in looks)


@seeds
def test_destinations_want_the_sums_of_what_is_sent(seed: int) -> None:
    width = SPEC.number_format.storage_bits
    mask = (1 << width) - 1
    for step in made(seed):
        if not isinstance(step, Write):
            continue
        for sent, wanted in step.packets:
            for flow in step.flows:
                for place, flits in enumerate(zip(*(sent[k] for k in flow.inputs), strict=True)):
                    lanes = [
                        sum(flit >> low & mask for flit in flits) & mask
                        for low in range(0, SPEC.data_width, width)
                    ]
                    whole = sum(lane << width * k for k, lane in enumerate(lanes))
                    assert all(wanted[k][place] == whole for k in flow.outputs)
