"""Units around the interconnect as Verilog: lint-clean, and read by Icarus."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from fred_hw.ace.load_tracker import LoadTracker
from fred_hw.control.unit import ControlUnit
from fred_hw.endpoint.endpoint import Endpoint
from fred_hw.load import load_spec
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from fred_hw.switch.online_router import OnlineRouter
from fred_hw.unit import Unit
from gen.companions.vlt import lint_waivers
from gen.emitter import VerilogEmitter
from testbench.sim.tools import icarus_bin
from tests.gen.tools import icarus, lint

ODD = SwitchSpec(
    ports=5,
    lanes=1,
    format="int8",
    protocol=ProtocolSpec(phases=5, packet_flits=3, buffer_packets=17, window_packets=64),
)

UNITS: dict[str, Callable[[], Unit]] = {
    "router that may block": lambda: OnlineRouter(ports=5, middle_switches=2),
    "endpoint of odd sizes": lambda: Endpoint(spec=ODD),
    "load tracker": lambda: LoadTracker(
        npus=(4, 8, 2), reciprocals=(1, 3, 5), load_width=20, chunk_width=16
    ),
    "control unit of one phase": lambda: ControlUnit(
        spec=SwitchSpec(ports=2, lanes=1, protocol=ProtocolSpec(phases=1))
    ),
}
SLOW: dict[str, Callable[[], Unit]] = {
    "endpoint": lambda: Endpoint(spec=SwitchSpec(ports=4, lanes=2)),
    "control unit": lambda: ControlUnit(spec=SwitchSpec(ports=4, lanes=2)),
    "control unit of l1-12": lambda: ControlUnit(spec=load_spec("l1-12")),
}


each = pytest.mark.parametrize(
    "name", [*UNITS, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]
)


@cache
def text_of(name: str) -> tuple[str, str]:
    """Return the name of the top module and the Verilog of a unit."""
    unit, emitter = (UNITS | SLOW)[name](), VerilogEmitter()
    emitter.add(unit)
    return unit.unit_name, emitter.verilog()


def written(name: str, folder: Path) -> str:
    """Write the Verilog of a unit and its waivers; return its name."""
    top, text = text_of(name)
    (folder / f"{top}.v").write_text(text)
    (folder / "waivers.vlt").write_text(lint_waivers(top))
    return top


@pytest.mark.slow
@pytest.mark.sim
@each
def test_verilator_finds_nothing(name: str, tmp_path: Path) -> None:
    top = written(name, tmp_path)
    assert lint(tmp_path, top, "waivers.vlt", f"{top}.v") == (0, "")


@pytest.mark.slow_after_first
@pytest.mark.sim
@pytest.mark.skipif(icarus_bin() is None, reason="Icarus is not installed")
@each
def test_icarus_reads_it(name: str, tmp_path: Path) -> None:
    assert icarus(tmp_path, f"{written(name, tmp_path)}.v") == (0, "")


@pytest.mark.slow
def test_text_of_a_router_grows_no_faster_than_pairs_at_each_port() -> None:
    def size(ports: int) -> int:
        emitter = VerilogEmitter()
        emitter.add(OnlineRouter(ports=ports, middle_switches=3))
        return len(emitter.verilog())

    # A value without a name is written out in every place where it is used.
    # What a destination does with all sources is a module, of which each has an instance.
    assert size(8) < 4 * size(4)
