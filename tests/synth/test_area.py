"""Tests of synth.area."""

from pathlib import Path

import pytest

from synth.area import AreaByClass, areas
from synth.classes import CLASSES, UNKNOWN, kinds_of
from synth.netlist import read_netlist
from tests.synth.netlists import two_lanes
from tests.synth.tiny import tiny_libraries

LANE = 2 * 1.0 + 2.0 + 2 * 6.0  # inverters, a NAND, flip-flops
ADDER = "fred_hw.arith.int_add.IntAdd"
FIFO = "fred_hw.gates.fifo.Fifo"


def test_areas_are_sums_over_all_instances(tmp_path: Path) -> None:
    libraries, mapped = tiny_libraries(tmp_path), two_lanes()
    modules = read_netlist(mapped.verilog, libraries)
    area = areas(modules, mapped, libraries, {"lane": ADDER, "top": FIFO})
    assert (area.area_um2, area.cells, area.flip_flops, area.memory_bits) == (38.0, 11, 5, 8)
    lane, top = area.units
    assert (lane.module, lane.unit, lane.count) == ("lane", "IntAdd", 2)
    assert (lane.area_um2, lane.total_um2, lane.cells, lane.flip_flops) == (LANE, 2 * LANE, 5, 2)
    assert lane.classes == {"adders": 4.0, "pipeline": 12.0}
    assert (top.module, top.area_um2, top.memory_bits) == ("top", 6.0, 8)
    assert area.classes == [
        AreaByClass("adders", 8.0, 8 / 38, 0, 0),
        AreaByClass("pipeline", 24.0, 24 / 38, 4, 0),
        AreaByClass("buffers", 6.0, 6 / 38, 1, 8),
    ]


def test_what_is_not_ours_has_no_class(tmp_path: Path) -> None:
    libraries, mapped = tiny_libraries(tmp_path), two_lanes()
    modules = read_netlist(mapped.verilog, libraries)
    assert areas(modules, mapped, libraries, {}).classes == [AreaByClass(UNKNOWN, 38.0, 1.0, 5, 8)]


def test_a_unit_may_give_its_class_to_all_in_it(tmp_path: Path) -> None:
    libraries, mapped = tiny_libraries(tmp_path), two_lanes()
    modules = read_netlist(mapped.verilog, libraries)
    check = "fred_hw.switch.entry_check.EntryCheck"
    area = areas(modules, mapped, libraries, {"lane": ADDER, "top": check})
    assert [(one.name, one.area_um2) for one in area.classes] == [("configuration", 38.0)]


@pytest.mark.parametrize(
    ("unit", "signal", "label"),
    [
        ("fred_hw.arith.lane_unit.LaneUnit", "add_q", "pipeline"),
        ("fred_hw.arith.lane_unit.LaneUnit", "own_q0", "bypass"),
        ("fred_hw.datapath.microswitch.RMicroswitch", "o__0__data", "pipeline"),
        ("fred_hw.datapath.microswitch.RMicroswitch", "i1_valid_q1", "bypass"),
        ("fred_hw.datapath.microswitch.RMicroswitch", "i1__valid", "bypass"),
        ("fred_hw.datapath.microswitch.RMicroswitch", "configuration_q2", "configuration"),
        ("fred_hw.datapath.lane_group.LaneGroup", "reduce_0_q1", "configuration"),
        ("fred_hw.datapath.steering.Demultiplexer", "i_data_q1", "bypass"),
        ("fred_hw.datapath.interconnect.Interconnect", "output_configuration_q1", "configuration"),
        ("fred_hw.link.sender.Sender", "payload", "pipeline"),
        ("fred_hw.link.sender.Sender", "held", "control"),
        ("fred_hw.switch.phase_table.PhaseTable", "state", "configuration"),
        ("fred_hw.switch.ports.circuit_queue.CircuitQueue", "timeout", "buffers"),
        ("fred_hw.control.unit.ControlUnit", "count", "control"),
        (None, "count", UNKNOWN),
    ],
)
def test_registers_are_told_apart_by_their_signal(
    unit: str | None, signal: str, label: str
) -> None:
    assert kinds_of(unit).of_register(signal) == label
    assert label in (*CLASSES, UNKNOWN)
