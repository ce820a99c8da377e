"""Tests of synth.power: sums by hand, and the scale of OpenSTA."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from fred_hw.errors import InputError
from synth.activity import Activity, Trace, replay
from synth.energies import units_of
from synth.gate_level import gate_level
from synth.liberty import Libraries
from synth.power import Power, PowerModel
from synth.sizable import SizableDesign
from tests.synth.powered import POWERED, chain, powered_libraries
from tests.synth.tiny import tiny_libraries

UNITS: dict[str, str] = {}
HELD, TOGGLING = [0] * 12, [0, 1] * 6
NANO = 1e-9


def trace(a: list[int]) -> Trace:
    """Return a recording of the chain, whose output is the input a cycle later."""
    return Trace("test", {"a": a, "o": [1, *a[:-1]]}, 2, 12)


def power(folder: Path, a: list[int], clock_ns: float = 1.0) -> Power:
    libraries = powered_libraries(folder)
    gates = gate_level(SizableDesign(chain(), libraries), UNITS)
    return PowerModel(gates).power(replay(gates, trace(a)), clock_ns)


def test_nets_that_change_in_every_cycle_have_the_energy_of_each_transition(tmp_path: Path) -> None:
    """A mean transition of INV takes 7 fJ, of Q 14 fJ, of D 0.75 fJ; 2 fF at 2 V take 4 fJ."""
    found = power(tmp_path, TOGGLING).total
    assert found.internal_w == pytest.approx(1e9 * 1e-15 * (7 + 7 + 14 + 0.75 + (3 + 2)))
    assert found.switching_w == pytest.approx(1e9 * 1e-15 * (4 + 4 + 1 * 2**2))
    assert found.leakage_w == pytest.approx((3 + 3 + 5) * NANO)
    assert found.total_w == pytest.approx(found.internal_w + found.switching_w + found.leakage_w)


def test_idle_design_has_only_clock_and_leakage(tmp_path: Path) -> None:
    """The clock has an edge up and one down in each cycle, and loads 1 fF."""
    found = power(tmp_path, HELD)
    clock = found.classes["clock"]
    assert (clock.internal_w, clock.switching_w) == pytest.approx((5e-6, 4e-6))
    assert found.total.total_w == pytest.approx(9e-6 + 11 * NANO)


def test_power_by_module_adds_up_without_the_net_of_the_clock(tmp_path: Path) -> None:
    found = power(tmp_path, TOGGLING)
    assert found.modules["last"].internal_w == pytest.approx(7e-6)
    parts = sum(one.total_w for one in found.modules.values())
    assert parts + found.classes["clock"].switching_w == pytest.approx(found.total.total_w)


def test_power_of_transitions_is_inverse_to_the_clock_period(tmp_path: Path) -> None:
    fast, slow = (power(tmp_path, TOGGLING, clock_ns).total for clock_ns in (1.0, 4.0))
    assert fast.internal_w == pytest.approx(4 * slow.internal_w)
    assert fast.leakage_w == slow.leakage_w


def test_wires_are_those_of_the_default_wire_load_model(tmp_path: Path) -> None:
    """Three nets of one sink have 5 fF: two of them and the clock, which changes twice."""
    libraries = powered_libraries(tmp_path)
    gates = gate_level(SizableDesign(chain(), libraries), UNITS)
    model = PowerModel(gates)
    found = model.power(replay(gates, trace(TOGGLING)), 1.0).total
    assert model.wires is not None and model.wires.name == "SMALL"
    assert found.wires_w == pytest.approx(0.5 * 5e-15 * 4 * 1e9 * (1 + 1 + 2))


def test_conditions_count_by_how_often_they_hold(tmp_path: Path) -> None:
    leakage = """leakage_power () { when : "A"; value : 8; }
    leakage_power () { when : "!A"; value : 2; }"""
    text = POWERED.replace("cell_leakage_power : 3;", leakage)
    libraries = powered_libraries(tmp_path, text)
    gates = gate_level(SizableDesign(chain(), libraries), UNITS)
    model = PowerModel(gates)
    held = model.power(replay(gates, trace(HELD)), 1.0)
    toggling = model.power(replay(gates, trace(TOGGLING)), 1.0)
    assert held.modules["last"].leakage_w == pytest.approx(8 * NANO)  # 1 between the inverters
    assert toggling.modules["last"].leakage_w == pytest.approx(5 * NANO)


@pytest.mark.skipif(shutil.which("sta") is None, reason="OpenSTA is not installed")
def test_opensta_reports_twice_the_internal_power_of_outputs(tmp_path: Path) -> None:
    """Compare with OpenSTA where its own estimate of activity is exact: behind an inverter."""
    found = power(tmp_path, TOGGLING)
    (tmp_path / "chain.v").write_text(chain().verilog)
    (tmp_path / "power.tcl").write_text(
        "read_liberty powered.lib\nread_verilog chain.v\nlink_design chain\n"
        "create_clock -name fred -period 1 [get_ports clk]\n"
        "set_input_delay 0 -clock fred [get_ports a]\n"
        "set_power_activity -input_ports [get_ports a] -activity 1.0 -duty 0.5\n"
        "report_power -instances [get_cells {inside/second}] -digits 6\nexit\n"
    )
    command = ["sta", "-exit", "-no_splash", "power.tcl"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    row = re.search(r"(\S+) (\S+) (\S+) \S+ inside/second", said)
    assert row, said
    assert float(row[1]) == pytest.approx(2 * found.modules["last"].internal_w, rel=1e-4)
    assert float(row[3]) == pytest.approx(found.modules["last"].leakage_w, rel=1e-4)


def test_library_without_energies_is_refused(tmp_path: Path) -> None:
    libraries = tiny_libraries(tmp_path)
    gates = gate_level(SizableDesign(chain(), libraries), UNITS)
    with pytest.raises(InputError) as refused:
        PowerModel(gates)
    message = "must be in cells to compute power, not missing in all 2 that are used"
    assert str(refused.value) == f"{tmp_path / 'tiny.lib'}: internal_power: {message}"


def test_numbers_of_energies_are_checked(tmp_path: Path) -> None:
    text = POWERED.replace('rise_power (scalar) { values ("10"); }', "rise_power (scalar) { }", 1)
    libraries = powered_libraries(tmp_path, text)
    gates = gate_level(SizableDesign(chain(), libraries), UNITS)
    with pytest.raises(InputError, match=r"cell INV: must have numbers in tables of power"):
        PowerModel(gates)


def test_library_without_a_voltage_is_refused(tmp_path: Path) -> None:
    libraries = powered_libraries(tmp_path, POWERED.replace("nom_voltage : 2;", ""))
    gates = gate_level(SizableDesign(chain(), libraries), UNITS)
    with pytest.raises(InputError, match=r"nom_voltage: must be given to compute power$"):
        PowerModel(gates)


def test_activity_of_no_cycle_has_no_power_of_transitions(tmp_path: Path) -> None:
    libraries = powered_libraries(tmp_path)
    gates = gate_level(SizableDesign(chain(), libraries), UNITS)
    activity: Activity = replay(gates, trace(HELD))
    assert activity.toggles.sum() == 0
    assert activity.cycles == 10


def test_leakages_of_several_supplies_add_up(tmp_path: Path) -> None:
    both = "".join(
        f"leakage_power () {{ related_pg_pin : {pin}; value : {value}; }} "
        for pin, value in (("VDD", 3), ("VBB", 5))
    )
    text = POWERED.replace("area : 1; cell_leakage_power : 3;", f"area : 1; {both}")
    libraries = powered_libraries(tmp_path, text)
    gates = gate_level(SizableDesign(chain(), libraries), UNITS)
    found = PowerModel(gates).power(replay(gates, trace(HELD)), 1.0)
    assert found.total.leakage_w == pytest.approx((8 + 8 + 5) * NANO)


def test_a_unit_of_voltage_other_than_1_v_is_refused(tmp_path: Path) -> None:
    libraries = powered_libraries(tmp_path, POWERED.replace('"1V"', '"1mV"'))
    with pytest.raises(InputError, match=r"voltage_unit: must be 1V to compute power, not 1mV$"):
        PowerModel(gate_level(SizableDesign(chain(), libraries), UNITS))


def test_a_voltage_in_a_comment_does_not_count(tmp_path: Path) -> None:
    text = POWERED.replace("nom_voltage : 2;", "/* nom_voltage : 9; */ nom_voltage : 2;")
    libraries = powered_libraries(tmp_path, text)
    gates = gate_level(SizableDesign(chain(), libraries), UNITS)
    found = PowerModel(gates).power(replay(gates, trace(HELD)), 1.0)
    assert found.classes["clock"].switching_w == pytest.approx(4e-6)


def test_files_of_a_library_must_agree_on_the_voltage(tmp_path: Path) -> None:
    libraries = powered_libraries(tmp_path)
    (first,) = libraries.files
    other = replace(first, path=Path("other.lib"), text=first.text.replace("1nW", "1uW"))
    assert units_of(Libraries((first, first))) == units_of(libraries)
    with pytest.raises(InputError, match=r"^other\.lib: units: must have the voltage and the unit"):
        units_of(Libraries((first, other)))
