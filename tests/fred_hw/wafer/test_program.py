"""Tests of fred_hw.wafer.program: steps that erase phases before a generation comes round."""

import pytest

from fred_hw.ace.steps import Step
from fred_hw.compiler.placement import Strategy
from fred_hw.control.switch_map import COMMANDS, switch_map
from fred_hw.protocol import GENERATIONS
from fred_hw.wafer.load import load_wafer
from fred_hw.wafer.program import WaferProgram, compile_strategy
from tests.testbench.collectives.planes import EXAMPLE

WAFER = load_wafer(str(EXAMPLE))


def program(generation: int, strategy: str = "MP2-DP1-PP1") -> WaferProgram:
    """Return a program of one phase, in which the switches of NPUs 2 and 3 have no part."""
    return compile_strategy(WAFER, Strategy.parse(strategy), 48, generation=generation)


@pytest.mark.parametrize("generation", [1, 7, 9, 15, 65_535])
def test_no_phase_is_erased_before_other_generations(generation: int) -> None:
    made = program(generation)
    for chiplet in range(len(made.plane.units)):
        assert made.erase_steps(chiplet) == made.drain_steps(chiplet) == []


@pytest.mark.parametrize("generation", [0, GENERATIONS, 2 * GENERATIONS])
def test_every_switch_erases_phases_before_a_generation_of_packets_comes_round(
    generation: int,
) -> None:
    made = program(generation)
    (phase,) = made.phases
    (entry,) = phase.entries
    chiplets = range(len(made.plane.units))
    assert {*entry.paths.flows} < {*chiplets}
    for chiplet in chiplets:
        registers = switch_map(made.plane.units[chiplet].spec)
        at = {
            name: registers.register(name).address
            for name in ("PHASE", "COMMAND", "COMMAND_STATUS", "QUEUED")
        }
        assert made.erase_steps(chiplet) == [
            Step(at["PHASE"], entry.number),
            Step(at["COMMAND"], COMMANDS.index("erase")),
            Step(at["COMMAND_STATUS"], 0, 3),
        ]
        assert made.drain_steps(chiplet) == [Step(at["QUEUED"], 0, 1 << entry.number)]


def test_steps_of_all_phases_are_in_the_file_of_a_program() -> None:
    made = program(GENERATIONS, "MP2-DP2-PP1")
    assert len(made.phases) == 2
    said = made.to_dict()["switches"]
    for number, chiplet in enumerate(made.plane.units):
        erased, drained = made.erase_steps(number), made.drain_steps(number)
        assert len(erased) == 3 * 2 and drained[0].mask == 0b11
        assert said[chiplet.name]["erase_steps"] == [one.to_dict() for one in erased]
        assert said[chiplet.name]["drain_steps"] == [one.to_dict() for one in drained]
