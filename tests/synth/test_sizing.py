"""Tests of synth.sizing: a shorter clock for the whole design, which still does the same."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from fred_hw.load import load_spec
from synth import sizing, synthesis
from synth.area import areas
from synth.liberty import Libraries
from synth.mapping import MapOptions, Mapped, map_again, map_design
from synth.netlist import read_netlist
from synth.sizable import SizableDesign
from synth.sizing import Sized, size_design
from synth.synthesis import from_spec, synthesize
from synth.timing import find_opensta, time_design
from tests.synth.equivalence import equivalent
from tests.synth.netlists import two_lanes
from tests.synth.sloped import sloped_libraries

needs_opensta = pytest.mark.skipif(
    find_opensta() is None, reason="Debian's package opensta is not installed"
)


def wide(sinks: int) -> Mapped:
    """Return a register that drives a gate of a path, and many others that have time."""
    loads = "".join(
        f"  DFF r_{n}_reg (\n    .CK(clk),\n    .D(a),\n    .Q(r[{n}])\n  );\n"
        for n in range(sinks)
    )
    chain = "".join(
        f"  INV _{n}_ (\n    .A({f'c_{n - 1}' if n else 'a'}),\n    .Y(c_{n})\n  );\n"
        for n in range(6)
    )
    wires = "".join(f"  wire c_{n};\n" for n in range(6))
    return Mapped(
        "top",
        "module top(clk, i, o, r);\n  input clk;\n  wire clk;\n  input i;\n  wire i;\n"
        f"  output o;\n  wire o;\n  output [{sinks - 1}:0] r;\n  wire [{sinks - 1}:0] r;\n"
        f"  wire a;\n{wires}  DFF a_reg (\n    .CK(clk),\n    .D(i),\n    .Q(a)\n  );\n"
        "  DFF o_reg (\n    .CK(clk),\n    .D(c_5),\n    .Q(o)\n  );\n"
        f"{loads}{chain}endmodule\n",
        {},
        {},
    )


def chained(inverters: int) -> str:
    """Return a module that is a chain of inverters."""
    wires = "".join(f"  wire c_{n};\n" for n in range(inverters - 1))
    names = ["i", *(f"c_{n}" for n in range(inverters - 1)), "o"]
    cells = "".join(
        f"  INV _{n}_ (\n    .A({names[n]}),\n    .Y({names[n + 1]})\n  );\n"
        for n in range(inverters)
    )
    ports = "  input i;\n  wire i;\n  output o;\n  wire o;\n"
    return f"module chain(i, o);\n{ports}{wires}{cells}endmodule\n"


def with_chain() -> Mapped:
    """Return a chain between two registers."""
    top = (
        "module top(clk, i, o);\n  input clk;\n  wire clk;\n  input i;\n  wire i;\n"
        "  output o;\n  wire o;\n  wire a;\n  wire b;\n"
        "  DFF a_reg (\n    .CK(clk),\n    .D(i),\n    .Q(a)\n  );\n"
        "  chain chain (\n    .i(a),\n    .o(b)\n  );\n"
        "  DFF o_reg (\n    .CK(clk),\n    .D(b),\n    .Q(o)\n  );\nendmodule\n"
    )
    return Mapped("top", chained(20) + top, {}, {"chain": (200.0, 20), "top": (0.0, 0)})


def same_parts(before: Mapped, sized: Sized, libraries: Libraries) -> None:
    """Check that modules have the cells of before with other sizes, and buffers beside them."""
    was, now = (read_netlist(one.verilog, libraries) for one in (before, sized.mapped))
    assert was.keys() == now.keys()
    for name, module in was.items():
        assert now[name].ports == module.ports and now[name].clocks == module.clocks
        assert [(one.module, one.name) for one in now[name].instances] == [
            (one.module, one.name) for one in module.instances
        ]
        assert {signal for signal, _ in now[name].registers} == {
            signal for signal, _ in module.registers
        }
        assert now[name].registers.total() == module.registers.total()


@needs_opensta
def test_sinks_that_have_time_get_behind_a_buffer(tmp_path: Path) -> None:
    libraries, before = sloped_libraries(tmp_path), wide(20)
    sized = size_design(before, libraries)
    assert sized.buffers > 0
    text = sized.mapped.verilog
    assert text.count(".D(fred_sized_0_net)") >= 15 and ".D(c_5)" in text
    clocks = [time_design(one, libraries, 0.1, tmp_path).clock_ns for one in (before, sized.mapped)]
    # 21 pins at 4 ps each, with their slew, become a few.
    assert clocks[1] < clocks[0] - 0.06
    assert equivalent(before.verilog, text, "top", tmp_path / "sloped.lib", tmp_path)


def test_a_register_gets_another_size_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizing, "bufferings", lambda *_: [])
    sized = size_design(wide(20), sloped_libraries(tmp_path))
    assert (sized.resized > 0, sized.buffers) == (True, 0)
    assert "  DFFX4 a_reg (" in sized.mapped.verilog and "DFFN" not in sized.mapped.verilog


def test_all_instances_of_a_module_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizing, "_PRICE", 0.0)  # of which there are hardly any
    libraries = sloped_libraries(tmp_path)
    sized = size_design(two_lanes(), libraries)
    same_parts(two_lanes(), sized, libraries)
    was, now = (read_netlist(one.verilog, libraries) for one in (two_lanes(), sized.mapped))
    others = {name: sum((now[name].cells - was[name].cells).values()) for name in ("lane", "top")}
    assert others["lane"] > 0
    assert sized.resized + sized.buffers == 2 * others["lane"] + others["top"]


def test_a_module_may_be_mapped_in_another_way(tmp_path: Path) -> None:
    asked: list[str] = []

    def again(module: str) -> list[tuple[str, tuple[float, int]]]:
        asked.append(module)
        return [(chained(60), (600.0, 60)), (chained(4), (40.0, 4)), (chained(8), (80.0, 8))]

    libraries = sloped_libraries(tmp_path)
    sized = size_design(with_chain(), libraries, again=again)
    assert set(asked) == {"chain"} and sized.restructured == ["chain"]
    cells = read_netlist(sized.mapped.verilog, libraries)["chain"].cells
    assert cells["INV"] + cells["INVX4"] == 4
    assert size_design(with_chain(), libraries).restructured == []


def test_another_way_that_is_slower_in_the_end_is_not_taken(tmp_path: Path) -> None:
    sized = size_design(
        with_chain(), sloped_libraries(tmp_path), again=lambda _: [(chained(40), (40.0, 4))]
    )
    assert sized.restructured == [], "though ABC thought so"
    assert "c_18" in sized.mapped.verilog and "c_19" not in sized.mapped.verilog


@pytest.mark.parametrize(("share", "taken"), [(0.99, ["chain"]), (1.01, [])])
def test_what_is_quick_enough_is_not_mapped_in_another_way(
    share: float, taken: list[str], tmp_path: Path
) -> None:
    libraries = sloped_libraries(tmp_path)
    alone = size_design(with_chain(), libraries).mapped
    clock_ns = SizableDesign(alone, libraries, 10**9).graph.worst * 1e-3
    sized = size_design(
        with_chain(),
        libraries,
        again=lambda _: [(chained(4), (40.0, 4))],
        enough_ns=share * clock_ns,
    )
    assert sized.restructured == taken


@pytest.mark.slow
def test_modules_mapped_again_do_the_same(tmp_path: Path) -> None:
    libraries = sloped_libraries(tmp_path)
    spec = load_spec("tiny-2", {"adder_registers": 0})
    source = from_spec(spec, "interconnect", "tiny-2")
    options = MapOptions("speed", "tiny-2")
    before = map_design(source.verilog, source.name, libraries, tmp_path, options)
    modules = read_netlist(before.verilog, libraries)
    (adder,) = (name for name in modules if name.startswith("int8_add"))
    assert len(map_again(adder, libraries, tmp_path, "tiny-2")) == 2
    others = map_again(adder, libraries, tmp_path, "tiny-2", carries=True)
    assert len({text for text, _ in others}) == 3
    (crossing,) = (name for name in modules if name.startswith("rd_microswitch"))
    assert len(map_again(crossing, libraries, tmp_path, "tiny-2", carries=True)) == 2
    for text, (delay_ps, levels) in others:
        assert text != modules[adder].text and delay_ps > 0 and levels > 0
        library = tmp_path / "sloped.lib"
        assert equivalent(modules[adder].text, text, adder, library, tmp_path, names=False)


def test_a_design_without_paths_stays_as_it_is(tmp_path: Path) -> None:
    text = "module top(i, o);\n  input i;\n  wire i;\n  output o;\n  wire o;\n  assign o = i;\n"
    mapped = Mapped("top", text + "endmodule\n", {}, {})
    sized = size_design(mapped, sloped_libraries(tmp_path))
    assert (sized.mapped, sized.resized, sized.buffers) == (mapped, 0, 0)


@pytest.mark.slow
@needs_opensta
def test_an_interconnect_is_quicker_and_does_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizing, "_PRICE", 0.0)  # small designs are nearly all long paths
    libraries = sloped_libraries(tmp_path)
    source = from_spec(load_spec("tiny-2"), "interconnect", "tiny-2")
    options = MapOptions("area", "tiny-2")  # which leaves more to do
    before = map_design(source.verilog, source.name, libraries, tmp_path, options)
    sized = size_design(before, libraries)
    same_parts(before, sized, libraries)
    assert sized == size_design(before, libraries), "two runs give the same"
    clocks = [time_design(one, libraries, 0.1, tmp_path).clock_ns for one in (before, sized.mapped)]
    assert clocks[1] < 0.95 * clocks[0]
    gold, gate = before.verilog, sized.mapped.verilog
    library = tmp_path / "sloped.lib"
    assert equivalent(gold, gate, source.name, library, tmp_path)
    wrong = gate.replace("  NAND2 ", "  NOR2 ", 1)
    assert wrong != gate and not equivalent(gold, wrong, source.name, library, tmp_path)


@pytest.mark.slow
@needs_opensta
def test_the_report_is_that_of_the_design_as_sized(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synthesis, "map_again", lambda *_, **__: [])
    libraries = sloped_libraries(tmp_path)
    source = from_spec(load_spec("tiny-2"), "interconnect", "tiny-2")
    off = synthesize(source, libraries, clock_ns=1.0, sizing=False)
    on = synthesize(source, libraries, clock_ns=1.0)
    assert off.sizing.by == "off" and on.sizing.by == "of the whole design"
    before = (on.sizing.clock_before_ns, on.sizing.area_before_um2)
    assert before == (off.timing.clock_ns, off.area.area_um2)
    assert on.timing.clock_ns < off.timing.clock_ns
    modules = read_netlist(on.verilog, libraries)
    mapped = Mapped(on.name, on.verilog, {}, {})
    assert areas(modules, mapped, libraries, source.units) == on.area
    assert on.area.cells == off.area.cells + on.sizing.buffers_added
    assert on.area.flip_flops == off.area.flip_flops
    assert "effort speed, sizing of the whole design, " in on.provenance


@pytest.mark.slow
def test_effort_area_is_not_sized(tmp_path: Path) -> None:
    source = from_spec(load_spec("tiny-2"), "interconnect", "tiny-2")
    found = synthesize(source, sloped_libraries(tmp_path), clock_ns=1.0, effort="area")
    assert found.sizing.by == "off, with effort area" and found.sizing.cells_resized == 0


@pytest.mark.slow
@needs_opensta
def test_the_smallest_with_the_clock_asked_for_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synthesis, "_PRICES", (0.3, 3.0))
    source = from_spec(load_spec("tiny-2"), "interconnect", "tiny-2")
    libraries = sloped_libraries(tmp_path)
    area, speed = (
        synthesize(source, libraries, clock_ns=0.2, effort=effort) for effort in ("area", "speed")
    )
    found = synthesize(source, libraries, clock_ns=0.2, effort="clock")
    assert speed.timing.clock_ns < found.timing.clock_ns <= 0.2 < area.timing.clock_ns
    assert area.area.area_um2 < found.area.area_um2 < speed.area.area_um2
    loose = synthesize(source, libraries, clock_ns=0.4, effort="clock")
    assert loose.sizing.by == "off, as the clock is met without"
    assert loose.area.area_um2 == area.area.area_um2


@pytest.mark.parametrize(
    ("asked", "tried", "taken"),
    [
        (4.1, [3.0, 9.0], 9.0),  # the most that area may be worth, as long as the clock is there
        (3.1, [3.0, 9.0], 3.0),
        (1.5, [3.0, 1.0], 1.0),
        (0.5, [3.0, 1.0, None], None),  # as with effort speed
    ],
)
def test_what_area_is_worth_is_bisected(
    asked: float, tried: list[float | None], taken: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    clocks = {1.0: 1.2, 3.0: 3.0, 9.0: 4.0, None: 1.0}
    asked_for: list[float | None] = []

    def sized(flow: object, mapped: object, area: object, timing: object, price: Any = None) -> Any:
        asked_for.append(price)
        return price, Mock(area_um2=10 - (price or 0)), Mock(clock_ns=clocks[price]), None

    monkeypatch.setattr(synthesis, "_PRICES", (1.0, 3.0, 9.0))
    monkeypatch.setattr(synthesis._Sizer, "sized", sized)
    monkeypatch.setattr(synthesis._Sizer, "measured", lambda *_: (None, None))
    monkeypatch.setattr(synthesis, "map_design", lambda *_: None)
    flow = synthesis._Sizer(Mock(), Mock(), asked, Path(), False, lambda _: None, "clock")
    found: Any = flow.fitted(Mock(), Mock(), Mock())
    assert (asked_for, found[0]) == (tried, taken)
