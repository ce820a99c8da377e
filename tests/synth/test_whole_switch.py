"""A whole switch, mapped once to cells that exist: its paths, its clock and its memories."""

from functools import cache, partial

import pytest

from fred_hw.load import load_spec
from gen.design import generate
from synth import synthesis
from synth.liberty import read_libraries
from synth.mapping import Mapped
from synth.sizable import SizableDesign
from synth.sizing import size_design
from synth.synthesis import Synthesis, from_spec, synthesize
from synth.timing import find_opensta
from testbench.sim.kept import kept
from tests.synth.libraries import nangate45

pytestmark = [
    pytest.mark.slow(20),
    pytest.mark.long,  # a hundred modules to map
    pytest.mark.xdist_group("synthesized switch"),
    pytest.mark.skipif(find_opensta() is None, reason="Debian's package opensta is not installed"),
]


@cache
def whole_switch(sizing: bool = True) -> tuple[list[Mapped], Synthesis]:
    """Return a switch of two ports as mapped for its sizes, and what came of it in the end."""
    mapped: list[Mapped] = []

    def sized(design: Mapped, *given: object, **options: object) -> object:
        mapped.append(design)
        return size_design(design, *given, **options)  # pyright: ignore[reportArgumentType]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synthesis, "generate", partial(kept, generate))  # others want it too
        source = from_spec(load_spec("tiny-2"), "switch", "tiny-2")
        patch.setattr(synthesis, "size_design", sized)
        found = synthesize(source, read_libraries(nangate45()), clock_ns=0.853, sizing=sizing)
    return mapped, found


def test_it_is_quicker_when_sized() -> None:
    _, found = whole_switch()
    # Measured: 0.771 of the clock.
    assert found.timing.clock_ns < 0.8 * found.sizing.clock_before_ns
    assert found.area.area_um2 < 1.03 * found.sizing.area_before_um2
    memories = {kind for kind in found.verilog.split() if kind.startswith("fred_memory_")}
    assert memories, "which are black boxes still"


def test_its_clock_is_that_of_opensta() -> None:
    [mapped], found = whole_switch()
    unit_ns = found.libraries.files[0].time_unit_s * 1e9
    ours = SizableDesign(mapped, found.libraries, 10**9).graph.worst * unit_ns
    assert ours == pytest.approx(found.sizing.clock_before_ns, rel=1e-3)


def test_its_memories_stay_apart() -> None:
    report = whole_switch(sizing=False)[1].to_dict()
    queues = {unit.module: unit for unit in report["units"] if unit.unit == "Fifo"}
    assert queues and all(unit.memory_bits for unit in queues.values())
    # Counted were 26,796 bits, 144 in the smallest, and 6,534 flip-flops; a queue of packets that
    # came apart would be 2,664 more.
    assert report["memory_bits"] > 26_700 and report["flip_flops"] < 7_000
    assert {"buffers", "control", "configuration"} <= {one.name for one in report["classes"]}
