"""Strategies loaded one after another until the generation numbers of phases wrap around.

Each load has random phases with random members, which may be left out of any number of loads, and
follows the steps of docs/how-to/driver.md: sources are idle, the next generation, switches,
endpoints.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fred_hw.ace.endpoint_map import endpoint_map
from fred_hw.ace.steps import EndpointProgram
from fred_hw.control.switch_map import switch_map
from fred_hw.protocol import GENERATIONS
from fred_hw.wafer.phase import Phase
from fred_hw.wafer.program import WaferProgram
from testbench.collectives.fabric import ALL_BITS, Finished, Flits
from testbench.collectives.plane import LEAST, SHOW, UNTIL, WAIT, Code, PlaneRun, codes
from testbench.models.golden import words_of

from .case import Outcome
from .fabrics import DRAIN_CYCLES, FLIT_BYTES, UNIFORM, WAFER, Campaign, groups
from .generate import Making
from .plan import Job, Plan
from .run import (
    NoEndError,
    differences,
    errors_of,
    flits_of,
    random_memories,
    replay,
    simulate,
    text_of,
)

__all__ = ["Loads", "loads_outcome", "random_loads"]

_NUMBERS = 2
"""Number of phase numbers."""

_WRITES = 400
"""Cycles for writing all phases of a load to the registers of a switch."""

_FORGET = 400
"""Cycles from the start of a load until endpoints are prepared and switches written."""


@dataclass(frozen=True)
class Loads:
    """Successive loads; each write of a phase uses its next generation.

    Parameters
    ----------
    seed : int
        Seed of the campaign.
    plans : tuple of Campaign
        Work of each load; all share one memory.
    generations : tuple of dict of int to int
        Generations of the phases of each load, by number.
    cycles : int
        Cycles of one load.
    """

    seed: int
    plans: tuple[Campaign, ...]
    generations: tuple[dict[int, int], ...]
    cycles: int

    def text(self) -> str:
        """Return the loads for readers, who can repeat them by hand."""
        parts = [
            f"load {number}, generations of phases {self.generations[number]}\n{text_of(one)}"
            for number, one in enumerate(self.plans)
            if one.plan.used()
        ]
        return "\n".join(parts)

    def rewritten(self, number: int) -> tuple[WaferProgram, ...]:
        """Return the programs of the phases of a load, one of each."""
        own = self.generations[number]
        return tuple(_of_phase(self.plans[number].program, *one) for one in own.items())

    def erase_cycles(self, number: int) -> int:
        """Return the cycles for which phases are erased before a load begins."""
        if not number or all(one % GENERATIONS for one in self.generations[number].values()):
            return 0
        return WAFER.drop_cycles + DRAIN_CYCLES * len(WAFER.plane.units)

    def begin(self, number: int) -> int:
        """Return the cycle in which a load begins, after phases have been erased."""
        erased = sum(self.erase_cycles(one) for one in range(number + 1))
        return number * self.cycles + erased


def random_loads(seed: int) -> Loads:
    """Return the loads with a seed."""
    rng = random.Random(seed)
    names = WAFER.wafer.protocol.channels.names
    circuits = [rng.choice(names[:2]) for _ in range(_NUMBERS)]
    often = rng.choice((0.6, 0.9, 1.0))
    faults, stalls = rng.choice((0, 0, 0, 2000)), rng.choice((0, 0, 20, 50))
    making = Making(rng, WAFER.npus, WAFER.plane.wafer.endpoint.chunk_flits, (), "dp")
    found: list[Campaign] = []
    generations: list[dict[int, int]] = []
    last: dict[int, int] = {}
    usual = [WAFER.flows(rng) for _ in range(3)]
    for _ in range(rng.randint(12, 20)):
        phases: list[Phase] = []
        for place, circuit in enumerate(circuits):
            # A phase with random members, or one of a few recurring ones.
            flows = rng.choice((WAFER.flows(rng), *usual))
            if rng.random() < often:
                phases += WAFER.phase(place, circuit, flows)
        if rng.random() < often / 2:
            members = sorted(rng.sample(range(WAFER.npus), rng.randint(2, WAFER.npus)))
            phases += WAFER.phase(_NUMBERS, "dp", WAFER.joined(rng, members))
        now = {one.number: last.get(one.number, -1) + 1 for one in phases}
        last |= now
        generations.append(now)
        making = Making(
            rng,
            WAFER.npus,
            making.slot,
            groups(phases),
            "dp",
            ends=making.ends,
            pairs=making.pairs,
            generations=now,
        )
        for _ in range(rng.randint(0, 6)):
            making.in_network(rng.randint(1, 20), rng.choice((1, 1, 2)))
        if rng.random() < 0.3:
            making.chain(rng.randint(1, 20), 1)
        queues = tuple(tuple(_late(rng, own)) for own in making.jobs)
        plan = Plan(
            fabric="wafer",
            operations=tuple(making.operations),
            queues=queues,
            memory=max(making.ends),
            faults=faults,
            stalls=stalls,
            seed=seed,
        )
        program = WaferProgram(WAFER.plane, UNIFORM, tuple(phases), FLIT_BYTES)
        found.append(Campaign(plan, program, fabric=WAFER))
    return Loads(seed, tuple(found), tuple(generations), 15_000 if faults else 7000)


def _late(rng: random.Random, jobs: Sequence[Job]) -> list[Job]:
    return [replace(one, wait=rng.choice((0, 0, 0, rng.randrange(200)))) for one in jobs]


def _endpoint_codes(given: Loads, npu: int) -> list[Code]:
    """Return the driver steps of an endpoint, which reports CYCLES when idle after a load."""
    link = given.plans[0].program.link
    registers = endpoint_map(link)
    clock = registers.register("CYCLES").address
    fsms = link.endpoint.fsms
    steps: list[Code] = []
    ended: dict[str, int] = dict.fromkeys(link.protocol.channels.names, 0)
    for number, one in enumerate(given.plans):
        begin = given.begin(number)
        steps.append((LEAST, clock, begin, ALL_BITS))
        steps += codes(one.program.begin_steps(npu))
        steps.append((LEAST, clock, begin + _FORGET + _WRITES, ALL_BITS))
        for job in one.plan.queues[npu]:
            steps += [(WAIT, 0, job.wait, 0)] if job.wait else []
            steps += codes(
                one.program.descriptor_steps(one.plan.descriptor(npu, job, FLIT_BYTES, fsms))
            )
            ended[job.circuit] += 1
        steps += [(UNTIL, one.program.completed(name), n, ALL_BITS) for name, n in ended.items()]
        steps.append((SHOW, clock, 0, 0))
    return [*steps, (SHOW, registers.register("ERROR").address, 0, 0)]


def _of_phase(program: EndpointProgram, phase: int, generation: int) -> WaferProgram:
    """Return the program of one phase, as a program has only one generation."""
    own = tuple(one for one in program.phases if one.number == phase)
    return WaferProgram(WAFER.plane, UNIFORM, own, FLIT_BYTES, generation)


def _switch_codes(given: Loads, number: int) -> list[Code]:
    """Return what the driver of a switch does behind the first load."""
    clock = switch_map(WAFER.plane.units[number].spec).register("CYCLES").address
    steps: list[Code] = []
    for place in range(1, len(given.plans)):
        begin, programs = given.begin(place), given.rewritten(place)
        if erase := given.erase_cycles(place):
            steps.append((LEAST, clock, begin - erase, ALL_BITS))
            steps += [code for one in programs for code in codes(one.erase_steps(number))]
            drops = begin - erase + WAFER.drop_cycles + DRAIN_CYCLES * number
            steps.append((LEAST, clock, drops, ALL_BITS))
            steps += [code for one in programs for code in codes(one.drain_steps(number))]
        steps.append((LEAST, clock, begin + _FORGET, ALL_BITS))
        steps += [code for one in programs for code in codes(one.switch_steps(number))]
    return steps


def loads_outcome(given: Loads) -> Outcome:
    """Run all loads; memories must equal a replay, and each load must end in its time."""
    plan = given.plans[0].plan
    before = random_memories(given.plans[-1].plan)
    chiplets = WAFER.plane.units
    run = PlaneRun(
        program=given.plans[0].program,
        steps=[_endpoint_codes(given, npu) for npu in range(WAFER.npus)],
        memories=before,
        faults=plan.faults,
        memory_stalls=plan.stalls,
        behind={number: _switch_codes(given, number) for number in range(len(chiplets))},
        limit=given.begin(len(given.plans) - 1) + 2 * given.cycles,
        seed=given.seed + 1,
    )
    try:
        found = simulate(WAFER, run)
    except NoEndError as error:
        return Outcome(str(error))
    return Outcome(_wrong(given, before, found), flits_of(found), found.faults)


def _wrong(given: Loads, before: list[Flits], found: Finished) -> str:
    if late := _late_loads(given, found):
        return f"loads {late} do not end in {given.cycles} cycles"
    if what := errors_of(found):
        return what
    link = given.plans[0].program.link
    wanted = [words_of(memory, link) for memory in before]
    for one in given.plans:
        for operation in sorted(one.plan.used()):
            replay(one, one.plan.operations[operation], wanted)
    for npu, want in enumerate(wanted):
        if what := differences(npu, words_of(found.memories[npu], link), want):
            return what
    return ""


def _late_loads(given: Loads, found: Finished) -> list[int]:
    """Return the loads that were not over, and their packets gone, before the next one."""
    rest = WAFER.drop_cycles
    ends = [max(times) for times in zip(*(one["CYCLES"] for one in found.reads), strict=True)]
    return [n for n, end in enumerate(ends) if end + rest > given.begin(n) + given.cycles]
