"""Random register writes, each of which may affect only one phase."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fred_hw.control.phase_entry import entry_word
from fred_hw.control.registers import WORD_BITS
from fred_hw.control.switch_map import COMMANDS, switch_map
from fred_hw.per_class import per_class
from fred_hw.protocol import GENERATIONS
from fred_hw.spec import SwitchSpec
from testbench.stimulus.addresses import address_of
from testbench.stimulus.phases import make_phase_run, phase_table

from .changing import DISTINCT_PACKETS
from .fabric import one_level
from .loaded_switch import SwitchConditions, run_fabric
from .scenario import Attempt, Burst, Unicast, Wait, Write, commit
from .traffic import flits_of

__all__ = ["EXPECTED", "attempts", "run_writes"]

EXPECTED = {"phase", "configuration", "address", "strobe", "stuck"}
"""Causes in ERROR that random writes, and packets of a phase whose entry is anything, may set."""

_COMMIT, _LOAD = COMMANDS.index("commit"), COMMANDS.index("load")


def attempts(
    rng: random.Random, spec: SwitchSpec, phase: int, words: Sequence[int], count: int, most: int
) -> list[Attempt | Wait]:
    """Return ``count`` writes of single registers, each up to ``most`` cycles after the last.

    COMMAND acts on ``phase`` or on a phase that does not exist, except for loads of others; ROUTE
    is written for unused addresses. All other registers are written at random, sometimes with a
    random strobe.

    Parameters
    ----------
    rng : random.Random
        Source of random numbers.
    spec : SwitchSpec
        The switch.
    phase : int
        Phase whose entry is written.
    words : sequence of int
        Entries, parts of which are written to ENTRY.
    count, most : int
        Number of writes; most cycles between two.
    """
    # Earlier commands may have left the number of another phase.
    found: list[Attempt | Wait] = [Attempt(switch_map(spec).register("PHASE").address, phase)]
    while len(found) < 2 * count:
        for one in _written(rng, spec, phase, words):
            found += [Wait(rng.randint(1, most)), one]
    return found


def _written(
    rng: random.Random, spec: SwitchSpec, phase: int, words: Sequence[int]
) -> Iterator[Attempt]:
    """Yield a random write, or several that replace the entry of the phase."""
    registers, chance = switch_map(spec), rng.random()
    number, command = (registers.register(name).address for name in ("PHASE", "COMMAND"))
    entry = registers.register("ENTRY")
    if chance < 0.1:  # the number of another phase, through ENTRY
        yield Attempt(number, rng.randrange(spec.protocol.phases))
        yield Attempt(command, _LOAD)
    elif chance < 0.3:
        word = rng.choice(words)
        for index in range(entry.words):
            yield Attempt(entry.address + 4 * index, word >> WORD_BITS * index & 0xFFFFFFFF)
    if chance < 0.4:
        yield Attempt(number, phase)
        yield Attempt(command, _COMMIT)
        return
    register = rng.choice([one for one in registers.registers if one.writable])
    own = {address_of(port) for port in range(spec.ports)}
    index = rng.choice(
        [k for k in range(register.words) if register.name != "ROUTE" or k not in own]
    )
    value = rng.getrandbits(WORD_BITS)
    if register.name == "PHASE":
        value = rng.choice([phase, phase, spec.protocol.phases, value | 1 << 31])
    elif register.name == "COMMAND":
        value = rng.randrange(len(COMMANDS))
    elif register.name == "ENTRY" and rng.random() < 0.7:
        value = rng.choice(words) >> WORD_BITS * index & 0xFFFFFFFF
    strobes = 15 if rng.random() < 0.9 else rng.randrange(15)
    yield Attempt(register.address + 4 * index, value, strobes)


def run_writes(
    program: Path, spec: SwitchSpec, *, seed: int, writes: int, packets: int, **options: Any
) -> dict[str, Any]:
    """Run phases and unicasts during random register writes; return the ``run_fabric`` result.

    One phase with its own virtual channel is rewritten, and its packets are not checked. All other
    packets must be delivered correctly.

    Parameters
    ----------
    program, spec : Path, SwitchSpec
        Program from ``build_switch``.
    seed : int
        Seed of all random numbers.
    writes : int
        Number of single register writes.
    packets : int
        Packets of each burst; each phase has three bursts.
    options
        Fields of ``SwitchConditions``.
    """
    rng, phases = random.Random(seed), spec.protocol.phases
    victim, mine = rng.randrange(phases), rng.randrange(per_class(spec))
    others = [circuit for circuit in range(per_class(spec)) if circuit != mine]
    table = [
        replace(phase, circuit=mine if phase.number == victim else rng.choice(others))
        for phase in phase_table(rng, spec, phases)
    ]
    words = {
        (phase.number, generation): entry_word(
            spec, phase.configuration, phase.flows, phase.circuit, generation=generation
        )
        for phase in table
        for generation in range(GENERATIONS)
    }
    steps: list[Write | Burst | Unicast] = []
    for phase in table:
        runs = [
            make_phase_run(
                rng, spec, phase, [rng.randint(1, spec.protocol.packet_flits)] * len(phase.flows)
            )
            for _ in range(DISTINCT_PACKETS)
        ]
        first = commit(spec, phase.number, words[phase.number, 0])
        sent = [(flits_of(run.sent), flits_of(run.wanted)) for run in runs]
        steps.append(Write(phase.number, phase.circuit, 0, phase.flows, sent, first))
    ready = (len(steps) - 1,)
    # After the others, as a phase that exists but has no flows.
    anything = attempts(rng, spec, victim, list(words.values()), writes, 24)
    steps += [
        Burst(phase.number, packets, ready) for _ in range(3) for phase in table if phase.flows
    ]
    pairs = {(a, b): rng.choice(others) for a in range(spec.ports) for b in range(spec.ports)}
    steps += [Unicast(a, b, circuit, packets // 4 + 1, ready) for (a, b), circuit in pairs.items()]
    steps.append(Write(victim, mine, 0, (), (), anything, ready))
    conditions = SwitchConditions(seed=seed, written_phase=victim, **options)
    return run_fabric(program, spec, one_level(spec.ports), steps, conditions)
