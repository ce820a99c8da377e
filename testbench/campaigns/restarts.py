"""Plans that end in the middle, when all endpoints and some switches are reset.

After each reset, software follows docs/how-to/driver.md: switches drop what is queued, phases get
their next generation, and the next plan begins. A plan that was cut may have written only flits of
its results; the last plan must leave all of them.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fred_hw.control.switch_map import switch_map
from fred_hw.wafer.program import WaferProgram
from testbench.collectives.fabric import ALL_BITS, Finished, Flits
from testbench.collectives.plane import (
    LEAST,
    RESET,
    STEP_CYCLES,
    UNTIL,
    WAIT,
    Code,
    PlaneRun,
    codes,
    npu_steps,
)
from testbench.models.golden import words_of

from .case import Outcome
from .fabrics import DRAIN_CYCLES, FLIT_BYTES, UNIFORM, WAFER, Campaign, groups
from .generate import random_plan
from .run import (
    NoEndError,
    bound,
    differences,
    errors_of,
    flits_of,
    random_memories,
    replay,
    simulate,
    text_of,
)

__all__ = ["Restarts", "random_restarts", "restarts_outcome"]

_HOLD = 4
_SPREAD = 200
"""Cycles within which units are reset."""

_QUIET = 5000
"""Cycles from the first reset until endpoints begin their next work."""


@dataclass(frozen=True)
class Restarts:
    """Plans one after another, each cut by resets, except the last.

    Parameters
    ----------
    seed : int
        Seed of the delays of resets.
    plans : tuple of Campaign
        Plans that share one memory; the generation of phases is the number of the plan.
    cuts : tuple of int
        Cycles from the start of each plan but the last until units are reset.
    switches : tuple of tuple of int
        Switches that are reset after each plan.
    """

    seed: int
    plans: tuple[Campaign, ...]
    cuts: tuple[int, ...]
    switches: tuple[tuple[int, ...], ...]

    @property
    def resets(self) -> int:
        """Number of resets."""
        return len(self.cuts) * WAFER.npus + sum(map(len, self.switches))

    def at(self, number: int) -> int:
        """Return the cycle of the first reset after a plan."""
        before = sum(self.cuts[k] + _SPREAD + _QUIET for k in range(number))
        return before + self.cuts[number]

    def delay(self, number: int, unit: int) -> int:
        """Return the cycles from the first reset after a plan until a unit is reset."""
        return random.Random(f"{self.seed} {number} {unit}").randrange(_SPREAD)

    def text(self) -> str:
        """Return the plans for readers, who can repeat them by hand."""
        parts: list[str] = []
        for number, one in enumerate(self.plans):
            parts.append(text_of(one))
            if number < len(self.cuts):
                also = f" and switches {self.switches[number]}" if self.switches[number] else ""
                parts.append(f"  after {self.cuts[number]} cycles all endpoints{also} are reset")
        return "\n".join(parts)


def random_restarts(seed: int) -> Restarts:
    """Return the plans and resets of a seed."""
    rng = random.Random(f"restarts {seed}")
    joined = rng.choice(("", *WAFER.wafer.protocol.channels.names))
    faults, stalls = rng.choice((0, 0, 2000, 20_000)), rng.choice((0, 0, 20, 50))
    plans: list[Campaign] = []
    ends: tuple[int, ...] = ()
    slot, units = WAFER.wafer.endpoint.chunk_flits, range(len(WAFER.plane.units))
    for number in range(rng.randint(2, 4)):
        phases = WAFER.phases(rng, joined)
        work = rng.randrange(1 << 30)
        plan = random_plan(
            "wafer", WAFER.npus, slot, groups(phases), joined, work, None, ends, number
        )
        plan = replace(plan, faults=faults, stalls=stalls, seed=seed)
        program = WaferProgram(WAFER.plane, UNIFORM, tuple(phases), FLIT_BYTES, number)
        plans.append(Campaign(plan, program, fabric=WAFER))
        ends = (plan.memory,) * WAFER.npus
    cuts = tuple(rng.randrange(rng.choice((400, 2000, 6000))) for _ in plans[1:])
    switches = [rng.sample(units, rng.choice((0, 0, 1, len(units)))) for _ in plans[1:]]
    return Restarts(seed, tuple(plans), cuts, tuple(map(tuple, switches)))


def _endpoint_codes(given: Restarts, npu: int, ready: Sequence[int]) -> list[Code]:
    """Return what the driver of an endpoint does, given the cycles of each load of phases."""
    steps: list[Code] = []
    for number, one in enumerate(given.plans):
        if number:
            reset = given.at(number - 1) + given.delay(number - 1, npu)
            steps += [(RESET, reset, _HOLD, 0), (WAIT, 0, _QUIET, 0)]
        fsms = one.program.link.endpoint.fsms
        jobs = [
            (job.wait, one.plan.descriptor(npu, job, FLIT_BYTES, fsms))
            for job in one.plan.queues[npu]
        ]
        steps += npu_steps(one.program, npu, jobs, ready[number])
    return steps


def _switch_codes(given: Restarts, unit: int) -> list[Code]:
    """Return what the driver of a switch does behind the first plan."""
    spec = WAFER.plane.units[unit].spec
    registers = switch_map(spec)
    clock, unicasts = (registers.register(name) for name in ("CYCLES", "UNICASTS"))
    steps: list[Code] = []
    since = 0  # the cycle in which CYCLES was 0
    for number, following in enumerate(given.plans[1:]):
        at = given.at(number)
        before = given.plans[number].program
        assert isinstance(before, WaferProgram)
        erased = replace(before, generation=0)
        if unit in given.switches[number]:
            since = at + given.delay(number, WAFER.npus + unit) + _HOLD
            steps.append((RESET, since - _HOLD, _HOLD, 0))
        steps.append((LEAST, clock.address, at + _SPREAD + _HOLD - since, ALL_BITS))
        steps += codes(erased.erase_steps(unit))
        steps.append((WAIT, 0, WAFER.drop_cycles + DRAIN_CYCLES * unit, 0))
        steps += codes(erased.drain_steps(unit))
        steps += [
            (UNTIL, unicasts.address + 4 * word, 0, ALL_BITS) for word in range(unicasts.words)
        ]
        steps.append((LEAST, clock.address, at + _QUIET - since, ALL_BITS))
        steps += codes(following.program.unit_steps()[unit])
    return steps


def restarts_outcome(given: Restarts) -> Outcome:
    """Run all plans; memories must equal a replay, but for what resets have cut."""
    last = given.plans[-1]
    before = random_memories(last.plan)
    units = range(len(WAFER.plane.units))
    ready = [STEP_CYCLES * max(map(len, one.program.unit_steps())) for one in given.plans]
    run = PlaneRun(
        program=given.plans[0].program,
        steps=[_endpoint_codes(given, npu, ready) for npu in range(WAFER.npus)],
        memories=before,
        faults=last.plan.faults,
        memory_stalls=last.plan.stalls,
        behind={unit: _switch_codes(given, unit) for unit in units},
        limit=given.at(len(given.cuts) - 1) + 2 * _QUIET + bound(last),
        seed=given.seed + 1,
    )
    try:
        found = simulate(WAFER, run)
    except NoEndError as error:
        return Outcome(str(error), resets=given.resets)
    return Outcome(_wrong(given, before, found), flits_of(found), found.faults, given.resets)


def _wrong(given: Restarts, before: list[Flits], found: Finished) -> str:
    if what := errors_of(found):
        return what
    link = given.plans[0].program.link
    cut = given.plans[-2].plan.memory
    initial = [words_of(memory, link) for memory in before]
    wanted = [memory.copy() for memory in initial]
    for one in given.plans:
        for operation in sorted(one.plan.used()):
            replay(one, one.plan.operations[operation], wanted)
    for npu, (old, want) in enumerate(zip(initial, wanted, strict=True)):
        got = words_of(found.memories[npu], link)
        never = (got[:cut] == old[:cut]).all(axis=1)  # written by no flit of a plan that was cut
        want[:cut][never] = old[:cut][never]
        if what := differences(npu, got, want):
            return what
    return ""
