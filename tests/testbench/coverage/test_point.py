"""Cover points are bound to the modules that they watch, and use only names that exist."""

import pytest

from fred_hw.datapath.microswitch import RDMicroswitch
from fred_hw.gates.late_choice import LateChoice
from fred_hw.spec import SwitchSpec
from gen.emitter import VerilogEmitter
from testbench.coverage.measure import load_points
from testbench.coverage.point import Points, points_of, text_of, watches

SPEC = SwitchSpec(ports=2, lanes=1, format="int8")


@pytest.fixture(autouse=True)
def _points() -> None:
    load_points()


def emitted(unit: RDMicroswitch) -> str:
    emitter = VerilogEmitter()
    emitter.add(unit)
    return emitter.verilog()


def test_unit_without_points_is_not_watched() -> None:
    unit = LateChoice(width=1)
    assert points_of(unit) is None
    assert text_of({unit.unit_name: unit}, "") == ""


def test_each_setting_of_an_rd_microswitch_is_a_point() -> None:
    points = points_of(RDMicroswitch(spec=SPEC))
    assert points is not None
    assert len(points.conditions) == 12
    assert points.conditions["sum_and_nothing"] == (
        "configuration[1:0] == 3 && configuration[3:2] == 0 && i__0__valid && i__1__valid"
    )


def test_watcher_has_the_nets_that_its_points_use() -> None:
    unit = RDMicroswitch(spec=SPEC)
    lines = text_of({unit.unit_name: unit}, emitted(unit)).splitlines()
    assert "  input [3:0] configuration;" in lines
    assert f"bind {unit.unit_name} {unit.unit_name}_points points (.*);" in lines


def test_name_that_the_module_does_not_have_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("testbench.coverage.point._WATCHES", {})
    watches(RDMicroswitch)(lambda _: Points({"never": "configuration == 3 && nothing"}))
    unit = RDMicroswitch(spec=SPEC)
    with pytest.raises(KeyError, match=r"need \['nothing'\], which the module does not have"):
        text_of({unit.unit_name: unit}, emitted(unit))
