"""Tests of synth.activity: the netlist does what was recorded, and toggles are counted."""

import random
from pathlib import Path

import pytest

from fred_hw.errors import InputError
from synth.activity import Trace, replay
from synth.gate_level import gate_level
from synth.mapping import MapOptions, Mapped, map_design
from tests.synth.powered import POWERED, chain, powered_libraries
from tests.synth.tiny import tiny_libraries

INPUT = [0, 0, 1, 1, 1, 0, 1, 0]
OUTPUT = [1, 0, 0, 1, 1, 1, 0, 1]

MEMORY = """\
module store(clk, we, re, address, i, o, count);
  input clk; input we; input re; input [1:0] address; input [2:0] i;
  output reg [2:0] o; output reg [1:0] count = 0;
  reg [2:0] words [0:3];
  always @(posedge clk) begin
    if (we) words[address] <= i;
    if (re) o <= words[address];
    count <= we ? 0 : count + 1;
  end
endmodule
"""


def test_toggles_and_high_cycles_are_those_of_the_window(tmp_path: Path) -> None:
    gates = gate_level(chain(), powered_libraries(tmp_path), {})
    found = replay(gates, Trace("test", {"a": INPUT}, {"o": OUTPUT}, 2, 8))
    (a,), (o,) = gates.inputs["a"], gates.outputs["o"]
    assert found.cycles == 6
    assert found.toggles[[a, o]] * 6 == pytest.approx([4, 3])
    assert found.high[[a, o]] * 6 == pytest.approx([4, 4])


def test_output_that_differs_is_named_with_its_cycle(tmp_path: Path) -> None:
    gates = gate_level(chain(), powered_libraries(tmp_path), {})
    wrong = [*OUTPUT[:5], 0, *OUTPUT[6:]]
    with pytest.raises(InputError) as refused:
        replay(gates, Trace("recording", {"a": INPUT}, {"o": wrong}, 2, 8))
    message = "must be as in the co-simulation of the generated Verilog, not 1 in cycle 5"
    assert str(refused.value) == f"recording: net o: {message}"


def test_undefined_output_is_not_compared(tmp_path: Path) -> None:
    gates = gate_level(chain(), powered_libraries(tmp_path), {})
    unknown = [None if cycle == 5 else value for cycle, value in enumerate(OUTPUT)]
    assert replay(gates, Trace("test", {"a": INPUT}, {"o": unknown}, 2, 8)).cycles == 6


@pytest.mark.parametrize("missing", ["a", "o"])
def test_recording_without_a_port_is_refused(tmp_path: Path, missing: str) -> None:
    gates = gate_level(chain(), powered_libraries(tmp_path), {})
    inputs, outputs = {"a": INPUT}, {"o": OUTPUT}
    for ports in (inputs, outputs):
        ports.pop(missing, None)
    with pytest.raises(InputError, match=rf"^recording: net {missing}: must be in the recording"):
        replay(gates, Trace("recording", inputs, outputs, 2, 8))


def test_memory_and_counter_of_a_netlist_are_evaluated(tmp_path: Path) -> None:
    """Compare words that are read with those of a list, the old one during a write."""
    libraries = tiny_libraries(tmp_path)
    options = MapOptions("area", "store.v", False, lambda text: None)
    mapped = map_design(MEMORY, "store", libraries, tmp_path, options)
    rng, words, count, out = random.Random(1), [0] * 4, 0, 0
    columns: dict[str, list[int | None]] = {
        name: [] for name in ("we", "re", "address", "i", "o", "count")
    }
    for _ in range(200):
        we, re, address, i = (rng.randrange(n) for n in (2, 2, 4, 8))
        row = {"we": we, "re": re, "address": address, "i": i, "o": out, "count": count}
        for name, value in row.items():
            columns[name].append(value)
        out = words[address] if re else out
        words[address] = i if we else words[address]
        count = 0 if we else (count + 1) % 4
    assert [memory.bits for memory in mapped.memories["store"]] == [12]
    gates = gate_level(mapped, libraries, {})
    found = replay(gates, Trace("test", columns, columns, 0, 200))
    assert found.toggles[gates.outputs["o"]].min() > 0.1


def _mapped(verilog: str) -> Mapped:
    return Mapped("chain", verilog, {}, {})


def test_logic_that_depends_on_itself_is_refused(tmp_path: Path) -> None:
    looped = chain().verilog.replace(".A(a)", ".A(b)")
    with pytest.raises(InputError, match=r"^chain: must not contain a combinational loop$"):
        gate_level(_mapped(looped), powered_libraries(tmp_path), {})


def test_other_clock_is_refused(tmp_path: Path) -> None:
    other = chain().verilog.replace(".CK(clk)", ".CK(b)")
    with pytest.raises(InputError, match=r"flip-flop chain.c_reg: must be clocked by the rising"):
        gate_level(_mapped(other), powered_libraries(tmp_path), {})


def test_latch_is_refused(tmp_path: Path) -> None:
    text = POWERED.replace(
        'ff (IQ, IQN) { clocked_on : "CK"; next_state : "D"; }', "latch (IQ, IQN) { }"
    )
    with pytest.raises(InputError, match=r"cell DFF: must be clocked by a rising edge"):
        gate_level(chain(), powered_libraries(tmp_path, text), {})
