"""Tests of gen.companions.sdc: the text, which only tools for synthesis read."""

import re

from fred_hw.load import load_spec
from gen.clock import CLOCK_NS
from gen.companions.sdc import timing_constraints
from gen.design import generate


def test_constraints_are_those_of_the_clock_and_of_a_fifth_of_it_at_ports() -> None:
    design = generate(load_spec("tiny-2"))
    text = design.files()[f"{design.name}.sdc"]
    assert text == timing_constraints(design.name)
    assert text.startswith(f"# Timing constraints of {design.name}.\n")
    assert f"set period {CLOCK_NS:.4f}\n" in text and "set period 0.8533\n" in text
    commands = [line for line in text.splitlines() if re.match("create|set_", line)]
    assert commands == [
        "create_clock -name clk -period $period [get_ports clk]",
        "set_input_delay  [expr 0.2 * $period] -clock clk $data_inputs",
        "set_output_delay [expr 0.2 * $period] -clock clk [all_outputs]",
    ]
    # The clock has no delay against itself.
    assert '[get_object_name $port] ne "clk"' in text


def test_clock_of_the_specification_is_that_of_the_constraints() -> None:
    design = generate(load_spec("tiny-2", {"clock_ns": 1.25}))
    text = design.files()[f"{design.name}.sdc"]
    assert "# Clock: 0.800000 GHz, clock_ns of the specification.\nset period 1.2500\n" in text


def test_braces_and_brackets_are_balanced_for_tcl() -> None:
    text = timing_constraints("top")
    for opening, closing in ("{}", "[]"):
        assert text.count(opening) == text.count(closing) > 0
