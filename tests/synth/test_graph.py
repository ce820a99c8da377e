"""Tests of synth.graph and synth.flat: the same paths as OpenSTA finds, and what they depend on."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fred_hw.spec import SwitchSpec
from fred_hw.switch.ports.input_port import InputPort
from gen.emitter import VerilogEmitter
from synth.liberty import read_libraries
from synth.mapping import MapOptions, Mapped, map_design
from synth.sizable import SizableDesign
from synth.timing import find_opensta, time_design
from tests.synth.libraries import nangate45, sky130
from tests.synth.netlists import two_lanes
from tests.synth.sloped import sloped_libraries

needs_opensta = pytest.mark.skipif(
    find_opensta() is None, reason="Debian's package opensta is not installed"
)

THROUGH = Mapped(
    "top",
    """\
module top(clk, i, o);
  input clk;
  wire clk;
  input i;
  wire i;
  output o;
  wire o;
  wire a;
  wire b;
  wire c;
  DFF a_reg (
    .CK(clk),
    .D(i),
    .Q(a)
  );
  pass twice (
    .i(a),
    .one(b),
    .other(c)
  );
  NAND2 _0_ (
    .A(b),
    .B(c),
    .Y(o)
  );
endmodule
module pass(i, one, other);
  input i;
  wire i;
  output one;
  wire one;
  output other;
  wire other;
  assign one = i;
  assign other = i;
endmodule
""",
    {},
    {},
)
"""A net that passes through a module, to two pins of a gate."""


def design(mapped: Mapped, folder: Path, most: int = 10**9) -> SizableDesign:
    return SizableDesign(mapped, sloped_libraries(folder), most)


@needs_opensta
@pytest.mark.parametrize("mapped", [two_lanes(), THROUGH], ids=["two lanes", "through"])
def test_the_longest_path_is_that_of_opensta(tmp_path: Path, mapped: Mapped) -> None:
    found = design(mapped, tmp_path)
    timing = time_design(mapped, found.libraries, 0.1, tmp_path)
    assert found.graph.worst / 1000 == pytest.approx(timing.clock_ns, abs=2e-6)


@needs_opensta
def test_with_a_few_instances_for_all_too(tmp_path: Path) -> None:
    found = design(two_lanes(), tmp_path, most=10)
    timing = time_design(two_lanes(), found.libraries, 0.1, tmp_path, most=10)
    assert (found.around.kept, timing.kept, len(found.graph.flat.cell)) == (1, 1, timing.cells)
    assert found.graph.worst / 1000 == pytest.approx(timing.clock_ns, abs=2e-6)


def test_every_pin_loads_its_net(tmp_path: Path) -> None:
    found = design(THROUGH, tmp_path)
    graph, flat, load = found.graph, found.graph.flat, found.kinds.load
    pins = [
        (cell, place, net) for cell, row in enumerate(flat.pins) for place, net in enumerate(row)
    ]
    want = np.zeros(graph.nodes)
    for cell, place, net in pins:
        if net >= 0:
            want[2 * net : 2 * net + 2] += load[graph.kind[flat.cell[cell]], place]
    assert want[:2].all()  # the first net has a load as well
    assert graph.loads() == pytest.approx(want)


def test_a_path_is_the_sum_of_its_cells(tmp_path: Path) -> None:
    found = design(THROUGH, tmp_path)
    # The flip-flop drives both pins of the gate, which drives nothing.
    slew, clock_to_q = 2 + 4.0 * 2, 20 + 4.0 * 2
    assert found.graph.worst == pytest.approx(clock_to_q + 6 + slew / 4)


def test_the_gradient_says_how_the_clock_changes(tmp_path: Path) -> None:
    found = design(two_lanes(), tmp_path)
    graph, blur = found.graph, 5.0
    gradient = graph.gradient(blur)
    assert gradient.smooth >= graph.worst and gradient.arc.max() > 0.1
    before, kinds = gradient.smooth, found.kinds
    for arc in range(len(graph.source)):
        table = graph.table[arc]
        kinds.delay[table] += 1e-3
        graph.time()
        changed = (graph.gradient(blur).smooth - before) / 1e-3
        kinds.delay[table] -= 1e-3
        same = np.flatnonzero(graph.table == table)
        assert changed == pytest.approx(gradient.arc[same].sum(), abs=2e-3)
    for pin in range(kinds.most_pins):
        for kind in np.unique(graph.kind[graph.kind >= 0]):
            kinds.load[kind, pin] += 1e-3
            graph.time()
            changed = (graph.gradient(blur).smooth - before) / 1e-3
            kinds.load[kind, pin] -= 1e-3
            nets = graph.flat.pins[graph.kind[graph.flat.cell] == kind, pin]
            its = gradient.load[:-1].reshape(-1, 2)[nets[nets >= 0]].sum()
            assert changed == pytest.approx(its, abs=5e-3)


def timed_anew(found: SizableDesign) -> tuple[np.ndarray, np.ndarray]:
    """Return arrivals and slews of all nets as they are now."""
    found.graph.time()
    return found.graph.arrival.copy(), found.graph.node_slew.copy()


def resize(found: SizableDesign, changes: int) -> None:
    """Give some cells other sizes."""
    rng, graph, kinds = np.random.default_rng(changes), found.graph, found.kinds
    kind = graph.kind.copy()
    for item in rng.choice(np.flatnonzero(kind >= 0), changes):
        kind[item] = rng.choice(kinds.families[kinds.family[kind[item]]])
    graph.kind = kind


def test_paths_that_are_looked_at_are_timed_again_as_all_are(tmp_path: Path) -> None:
    found = design(two_lanes(), tmp_path)
    graph = found.graph
    graph.narrow(1.0)
    for changes in (1, 3, 8):
        resize(found, changes)
        graph.retime()
        arrival, slew, worst = graph.arrival.copy(), graph.node_slew.copy(), graph.worst
        smooth = graph.gradient(5.0).smooth
        assert worst > 0
        anew = timed_anew(found)
        assert arrival == pytest.approx(anew[0]) and slew == pytest.approx(anew[1])
        assert (worst, smooth) == pytest.approx((graph.worst, graph.gradient(5.0).smooth))
        graph.narrow(1.0)


def test_paths_that_are_shorter_are_left_as_they_are(tmp_path: Path) -> None:
    found = design(two_lanes(), tmp_path)
    graph = found.graph
    before, worst = graph.arrival.copy(), graph.worst
    graph.narrow(0.01)
    few = sum(len(heads) for _, heads in graph.parts)
    assert 0 < few < sum(len(heads) for heads in graph.heads)
    resize(found, 40)
    graph.retime()
    assert graph.worst != worst
    left = np.ones(graph.nodes, dtype=bool)
    for part, heads in graph.parts:
        left[graph.target[part][heads]] = False
    assert left.any() and (graph.arrival[left] == before[left]).all()
    graph.narrow(1.0)
    assert sum(len(heads) for _, heads in graph.parts) > few


@needs_opensta
@pytest.mark.slow
@pytest.mark.parametrize("files", [nangate45, pytest.param(sky130, marks=pytest.mark.long)])
def test_a_library_that_exists_gives_the_clock_of_opensta(
    files: Callable[[], list[Path]], tmp_path: Path
) -> None:
    """A port with its queues is enough; a whole switch is in test_whole_switch.py."""
    cells, emitter = read_libraries(files()), VerilogEmitter()
    port = InputPort(spec=SwitchSpec(ports=2, format="int8", lanes=1))
    emitter.add(port)
    options = MapOptions("speed", "port")
    mapped = map_design(emitter.verilog(), port.unit_name, cells, tmp_path, options)
    assert mapped.memories, "which are black boxes"
    timing = time_design(mapped, cells, 0.853, tmp_path)
    unit_ns = cells.files[0].time_unit_s * 1e9
    found = SizableDesign(mapped, cells, 10**9)
    assert found.graph.worst * unit_ns == pytest.approx(timing.clock_ns, rel=1e-3)
