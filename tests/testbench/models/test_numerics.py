"""Errors of sums: against rational arithmetic, and the order of the tree against RTL."""

import subprocess
from fractions import Fraction

import numpy as np
import pytest

from fred_hw.compiler.flows import Flow
from fred_hw.compiler.routing import route
from fred_hw.compiler.shape import configuration_width
from fred_hw.formats.number_format import FORMATS, FloatFormat
from fred_hw.formats.values import encoded, stored
from fred_hw.spec import SwitchSpec
from gen.design import generate
from testbench.collectives.fabric import compiled
from testbench.models.numerics import DISTRIBUTIONS, compare_sums, inputs_of, tree_sum
from testbench.sim.runner import find_simulator

SPEC = SwitchSpec(ports=5, lanes=1, format="fp16")


def form(name: str) -> FloatFormat:
    found = FORMATS[name]
    assert isinstance(found, FloatFormat)
    return found


def test_errors_of_a_case_worked_by_hand() -> None:
    """1 + 2^-11 is half a place above 1: the ring loses it in each of two steps.

    The tree of three ports may add the small operands first; the exact sum is 1 + 2^-10.
    """
    spec = SwitchSpec(ports=3, lanes=1, format="fp16")
    small = 2.0**-11
    values = np.array([[small], [1.0], [small]])
    found = compare_sums(spec, values, form("fp16"))
    # Block 0 of the ring begins with member 1: (1 + small) + small, each rounded to 1.
    assert found.ring.max_ulps == 1.0
    assert found.ring.max_relative == float(Fraction(1, 2**10) / (1 + Fraction(1, 2**10)))
    assert found.ring.rounded == 0.0
    assert (found.operands, found.elements, found.ring.not_finite) == (3, 1, 0)


def test_sums_of_numbers_that_need_no_rounding_are_exact() -> None:
    values = np.arange(40.0).reshape(5, 8)
    found = compare_sums(SPEC, values, form("fp16"))
    assert found.tree == found.ring
    assert (found.tree.max_ulps, found.tree.rounded, found.equal) == (0.0, 1.0, 1.0)


def test_sums_beyond_the_range_are_counted_apart() -> None:
    found = compare_sums(SPEC, np.full((5, 3), 60_000.0), form("fp16"))
    assert (found.tree.not_finite, found.ring.not_finite) == (3, 3)
    assert found.tree.max_ulps == 0.0


def test_operands_beyond_the_range_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^must be at most 65504 for fp16, not "):
        compare_sums(SPEC, np.full((5, 3), 70_000.0), form("fp16"))


def test_operands_of_another_number_of_ports_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^must have 5 rows, not 4$"):
        compare_sums(SPEC, np.ones((4, 3)), form("fp16"))


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_finer_format_has_smaller_errors(name: str) -> None:
    values = inputs_of(name, 5, 300, seed=2)
    errors = [compare_sums(SPEC, values, form(one)).tree for one in ("bf16", "fp16", "fp32")]
    relative = [one.rms_relative for one in errors]
    assert relative == sorted(relative, reverse=True)
    assert 0 < relative[-1] < relative[0] / 1000


_BENCH = """
module main;
  reg clk = 0;
  always #1 clk = !clk;
  {top} top (.clk(clk), .rst(1'b0), .configuration({configuration}){pins});
  initial begin {steps} $finish; end
endmodule
"""


@pytest.mark.sim
@pytest.mark.slow
def test_the_order_of_the_tree_is_that_of_the_interconnect_in_icarus() -> None:
    """The sums of a drawn case equal those of the RTL at each port, bit by bit."""
    number_format, flow = form("fp16"), Flow(range(5), range(5))
    values = inputs_of("lognormal", 5, 12, seed=4)
    words = stored(encoded(values, number_format), number_format)
    design = generate(SPEC)
    configuration = route([flow], 5, SPEC.middle_switches).configuration
    assert configuration is not None
    width = configuration_width(5, SPEC.middle_switches)
    pins, steps = "", ""
    for port in range(5):
        pins += f", .i__{port}__valid(1'b1), .i__{port}__data(data[{port}])"
        pins += f", .o__{port}__data(sum[{port}])"
    for column in words.T:
        steps += "".join(f"data[{port}] = {word}; " for port, word in enumerate(column))
        steps += "repeat (60) @(negedge clk); "
        steps += "".join(f'$display("%0d", sum[{port}]); ' for port in range(5))
    bench = _BENCH.format(
        top=design.name, configuration=f"{width}'d{configuration.pack()}", pins=pins, steps=steps
    ).replace("reg clk = 0;", "reg clk = 0; reg [15:0] data [0:4]; wire [15:0] sum [0:4];")
    program = compiled("numerics", design.verilog + bench)
    _, folder = find_simulator("icarus")
    done = subprocess.run([f"{folder}/vvp", "-n", program], capture_output=True, text=True)
    got = np.array([int(line) for line in done.stdout.split()[:60]]).reshape(12, 5)
    want = tree_sum(SPEC, [*words])
    assert (got == want[:, None]).all()
    assert compare_sums(SPEC, values, number_format).equal < 1  # another order has other sums
