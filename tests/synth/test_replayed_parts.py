"""Tests of synth.replayed_parts: the power of a design is the sum over its instances."""

from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path

import pytest

from fred_hw.errors import InputError
from synth.activity import Trace
from synth.mapping import Mapped
from synth.replayed_parts import ReplayedParts
from tests.synth.powered import chain, powered_libraries

FIRST = [0, 0, 1, 1, 1, 0, 1, 0]
SECOND = [1, 0, 0, 1, 1, 1, 0, 1]
THIRD = [1, 1, 0, 0, 1, 1, 1, 0]

PAIR = """\
module pair(clk, a, o);
  input clk;
  wire clk;
  input a;
  wire a;
  output o;
  wire o;
  wire m;
  chain one (
    .clk(clk),
    .a(a),
    .o(m)
  );
  chain two (
    .clk(clk),
    .a(m),
    .o(o)
  );
endmodule
"""


def parts(folder: Path) -> ReplayedParts:
    mapped = Mapped("pair", chain().verilog + PAIR, {}, {})
    return ReplayedParts(mapped, powered_libraries(folder), {}, apart=True)


def trace(last: Sequence[int] = THIRD) -> Trace:
    values = {"one.a": FIRST, "one.o": SECOND, "two.a": SECOND, "two.o": last}
    return Trace("recording", values, 2, 8)


def test_ports_are_those_of_each_instance_without_clocks(tmp_path: Path) -> None:
    assert parts(tmp_path).ports == ["one.a", "one.o", "two.a", "two.o"]
    assert parts(tmp_path).modules == {"chain": ["a", "o"]}


def test_power_is_the_sum_over_instances_of_a_module(tmp_path: Path) -> None:
    """Check that each instance has its own activity."""
    whole = ReplayedParts(chain(), powered_libraries(tmp_path), {}, apart=False)
    assert whole.ports == ["a", "o"]
    assert whole.modules == {}
    alone = [
        whole.power(Trace("one", {"a": a, "o": o}, 2, 8), 1.0)
        for a, o in ((FIRST, SECOND), (SECOND, THIRD))
    ]
    found = parts(tmp_path).power(trace(), 1.0)
    for got, *both in (
        (found.total, *(one.total for one in alone)),
        *((its, *(one.classes[name] for one in alone)) for name, its in found.classes.items()),
        *((its, *(one.modules[name] for one in alone)) for name, its in found.modules.items()),
    ):
        sums = [sum(pair) for pair in zip(*map(astuple, both), strict=True)]
        assert astuple(got) == pytest.approx(sums)
    assert list(found.modules) == ["chain", "last"]
    assert alone[0].total.total_w != pytest.approx(alone[1].total.total_w)


def test_instance_that_differs_from_its_recording_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^recording at two: net o: .*, not 1 in cycle 4$"):
        parts(tmp_path).power(trace([*THIRD[:4], 0, *THIRD[5:]]), 1.0)
