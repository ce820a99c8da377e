"""cocotb tests of the interconnect and its baselines: bit-exact data, one latency, full rate."""

import os
import random
from collections.abc import Iterator
from enum import Enum
from itertools import pairwise
from typing import Any

import cocotb

from fred_hw.compiler.collectives import COLLECTIVES
from fred_hw.compiler.flows import Flow
from fred_hw.spec import SwitchSpec
from testbench.agents.interconnect import InterconnectBench, Stimulus
from testbench.agents.measurements import count_flits, record
from testbench.models.golden import AnyConfiguration
from testbench.stimulus.traffic import (
    ROUTERS,
    collective_runs,
    flits_for,
    random_configuration,
    random_flit,
    random_run,
    strategy_runs,
)

SPEC = SwitchSpec.model_validate_json(os.environ["FRED_SPEC"])
LEVEL = os.environ.get("FRED_LEVEL", "interconnect")
FLITS = int(os.environ.get("FRED_FLITS", "20"))  # per configuration
CONFIGURATIONS = int(os.environ.get("FRED_CONFIGURATIONS", "40"))  # per random test
Kind: Any = Enum("Kind", {name: name for name in COLLECTIVES})  # names appear in the results
test = cocotb.test(timeout_time=10, timeout_unit="ms")


async def started(dut: Any) -> tuple[InterconnectBench, random.Random]:
    """Return a bench after reset, and the random generator of the test."""
    bench = InterconnectBench(dut, SPEC)
    await bench.start()
    return bench, random.Random(cocotb.RANDOM_SEED)


def runs(
    rng: random.Random,
    flows: tuple[Flow, ...] | list[Flow],
    configuration: AnyConfiguration,
    cycles: int,
    busy: float = 1.0,
) -> Iterator[Stimulus]:
    """Yield ``cycles`` stimuli of the flows, each active in a share ``busy`` of the cycles."""
    for _ in range(cycles):
        yield Stimulus(configuration, flits_for(rng, SPEC, flows, busy))


@test
@cocotb.parametrize(kind=list(Kind))
async def collective_delivers(dut: Any, kind: Any) -> None:
    bench, rng = await started(dut)
    # Each step follows closely on the previous one.
    for flows, configuration in collective_runs(rng, SPEC, kind.value, LEVEL):
        await bench.follow(runs(rng, flows, configuration, max(2, FLITS // 4)))
    await bench.finish()
    count_flits(bench.board.matched)


@test
async def phases_of_strategies_deliver(dut: Any) -> None:
    bench, rng = await started(dut)
    concurrent = 0
    for _, flows, configuration in strategy_runs(SPEC, LEVEL):
        concurrent = max(concurrent, len(flows))
        await bench.follow(runs(rng, flows, configuration, max(2, FLITS // 4), busy=0.7))
    assert concurrent >= SPEC.ports // 2
    await bench.finish()
    count_flits(bench.board.matched)


@test
async def random_flow_sets_deliver(dut: Any) -> None:
    bench, rng = await started(dut)
    for _ in range(CONFIGURATIONS):
        flows, configuration = random_run(rng, SPEC, LEVEL)
        await bench.play(runs(rng, flows, configuration, FLITS, busy=rng.choice((0.3, 0.9, 1.0))))
    await bench.finish(minimum=CONFIGURATIONS)
    count_flits(bench.board.matched)


@test
async def configuration_changes_between_two_flits(dut: Any) -> None:
    bench, rng = await started(dut)
    pool = [random_run(rng, SPEC, LEVEL) for _ in range(CONFIGURATIONS)]

    def stimuli() -> Iterator[Stimulus]:
        for _ in range(CONFIGURATIONS * FLITS):
            flows, configuration = rng.choice(pool)
            yield Stimulus(configuration, flits_for(rng, SPEC, flows))

    await bench.play(stimuli())
    await bench.finish(minimum=CONFIGURATIONS * FLITS // 2)
    count_flits(bench.board.matched)
    record(
        "reconfiguration_cycles",
        await reconfiguration_gap(bench, rng),
        "cycles",
        "Longest gap at an output from the last flit of a configuration to the first of the next",
    )


async def reconfiguration_gap(bench: InterconnectBench, rng: random.Random) -> int:
    """Return the cycles without flits between two configurations, counted on the ports.

    All ports send in every cycle while a shift by one and a shift by two alternate; every flit of
    both is delivered, so what is lost would show as a hole in the arrivals.
    """
    bench.board.arrivals = [[] for _ in range(SPEC.ports)]
    pairs = []
    for distance in (0, 1):
        flows = [Flow((p,), ((p + distance) % SPEC.ports,)) for p in range(SPEC.ports)]
        configuration = ROUTERS[LEVEL](flows, SPEC)
        assert configuration is not None
        pairs.append((flows, configuration))
    stimuli = [
        Stimulus(configuration, flits_for(rng, SPEC, flows))
        for flows, configuration in pairs * (FLITS // 2)
    ]
    await bench.play(iter(stimuli))
    gaps = [
        later - earlier - 1
        for cycles in bench.board.arrivals
        for earlier, later in pairwise(cycles)
    ]
    assert len(gaps) == SPEC.ports * (len(stimuli) - 1)
    return max(gaps)


@test
async def every_path_has_the_same_latency(dut: Any) -> None:
    bench, rng = await started(dut)
    # The paths of a source follow each other, each with its own configuration.
    for source in range(SPEC.ports):
        for target in range(SPEC.ports):
            flow = Flow((source,), (target,))
            configuration = ROUTERS[LEVEL]([flow], SPEC)
            assert configuration is not None
            await bench.follow(runs(rng, [flow], configuration, 1))
        await bench.arrive()
    everyone = Flow(tuple(range(SPEC.ports)), tuple(range(SPEC.ports)))
    configuration = ROUTERS[LEVEL]([everyone], SPEC)
    assert configuration is not None
    await bench.play(runs(rng, [everyone], configuration, 1))
    latency = await bench.finish(minimum=SPEC.ports**2 + SPEC.ports)
    want = int(os.environ.get("FRED_LATENCY", latency))
    assert latency == want, f"counted {latency} cycles, but the manifest says {want}"
    count_flits(bench.board.matched)
    record("latency_cycles", latency, "cycles", "From a flit on the inputs to it on the outputs")


@test
async def every_port_carries_a_flit_each_cycle(dut: Any) -> None:
    bench, rng = await started(dut)
    cycles = 10 * FLITS
    order = rng.sample(range(SPEC.ports), SPEC.ports)
    permutation = [Flow((source,), (target,)) for source, target in enumerate(order)]
    everyone = [Flow(tuple(range(SPEC.ports)), tuple(range(SPEC.ports)))]
    rates = []
    for flows in (permutation, everyone):
        configuration = ROUTERS[LEVEL](flows, SPEC)
        if configuration is None:  # below three, other paths may have to move
            continue
        bench.board.arrivals = [[] for _ in range(SPEC.ports)]
        await bench.play(runs(rng, flows, configuration, cycles))
        for port, arrivals in enumerate(bench.board.arrivals):
            assert len(arrivals) == cycles, f"port {port}: {len(arrivals)} of {cycles} flits"
            rates.append(len(arrivals) / (arrivals[-1] - arrivals[0] + 1))
    await bench.finish(minimum=cycles * SPEC.ports)
    assert min(rates) == 1.0, f"bubbles: {min(rates)} flits per cycle"
    count_flits(bench.board.matched)
    record(
        "throughput_flits_per_cycle",
        min(rates),
        "flits/cycle",
        "Rate of the slowest output while all inputs send in every cycle",
    )


@test
async def a_part_of_a_reduction_is_never_delivered(dut: Any) -> None:
    bench, rng = await started(dut)
    missing = 0
    for _ in range(CONFIGURATIONS):
        flows, configuration = random_run(rng, SPEC, LEVEL)
        stimuli = []
        for _ in range(FLITS // 2):
            flits = [
                random_flit(rng, SPEC) if rng.random() < 0.7 else None for _ in range(SPEC.ports)
            ]
            missing += sum(
                1 for flow in flows if len({flits[port] is None for port in flow.inputs}) == 2
            )
            stimuli.append(Stimulus(configuration, flits))
        await bench.play(iter(stimuli))
    assert missing > 0
    await bench.finish()
    count_flits(bench.board.matched)


@test
async def every_setting_does_what_it_says(dut: Any) -> None:
    """Draw each setting alone: routing prefers the first middle subswitch, and leaves some out."""
    bench, rng = await started(dut)
    flows = [Flow((port,), (port,)) for port in range(SPEC.ports)]
    straight = ROUTERS[LEVEL](flows, SPEC)
    assert straight is not None

    def stimuli() -> Iterator[Stimulus]:
        for _ in range(CONFIGURATIONS * FLITS):
            flits = [
                random_flit(rng, SPEC) if rng.random() < 0.9 else None for _ in range(SPEC.ports)
            ]
            yield Stimulus(random_configuration(rng, SPEC, LEVEL), flits)
        # In a large network, few random paths end at an output.
        yield from runs(rng, flows, straight, 4)

    await bench.play(stimuli())
    # Not counted: timing records have the number of flits of routed configurations.
    await bench.finish(minimum=4 * SPEC.ports)


@test
async def reset_loses_what_is_inside_and_nothing_later(dut: Any) -> None:
    bench, rng = await started(dut)
    flows = [Flow((port,), (port,)) for port in range(SPEC.ports)]
    configuration = ROUTERS[LEVEL](flows, SPEC)
    assert configuration is not None
    for stimulus in runs(rng, flows, configuration, 4):
        await bench.step(stimulus)
    await bench.reset()
    await bench.drain()  # a flit from before the reset would arrive unexpected
    await bench.play(runs(rng, flows, configuration, FLITS))
    await bench.finish(minimum=FLITS * SPEC.ports)
    count_flits(bench.board.matched)
