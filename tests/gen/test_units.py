"""Units around the interconnect as Verilog: lint-clean, and read by Icarus."""

import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from fred_hw.endpoint.endpoint import Endpoint
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from fred_hw.switch.unicast_router import UnicastRouter
from fred_hw.unit import Unit
from gen.companions.vlt import lint_waivers
from gen.emitter import VerilogEmitter
from testbench.sim.tools import icarus_bin, verilator_bin

ODD = SwitchSpec(
    ports=5,
    lanes=1,
    format="int8",
    protocol=ProtocolSpec(phases=5, packet_flits=3, buffer_packets=17, window_packets=128),
)

UNITS: dict[str, Callable[[], Unit]] = {
    "endpoint": lambda: Endpoint(spec=SwitchSpec(ports=4, lanes=2)),
    "endpoint of odd sizes": lambda: Endpoint(spec=ODD),
    "router that may block": lambda: UnicastRouter(ports=5, middle=2),
}


each = pytest.mark.parametrize(
    "name", [pytest.param("endpoint", marks=pytest.mark.slow), *list(UNITS)[1:]]
)


@cache
def text_of(name: str) -> tuple[str, str]:
    """Return the name of the top module and the Verilog of a unit."""
    unit, emitter = UNITS[name](), VerilogEmitter()
    emitter.add(unit)
    return unit.unit_name, emitter.verilog()


def written(name: str, folder: Path) -> tuple[Path, str]:
    top, text = text_of(name)
    path = folder / f"{top}.v"
    path.write_text(text)
    (folder / "waivers.vlt").write_text(lint_waivers(top))
    return path, top


@pytest.mark.sim
@each
def test_verilator_finds_nothing(name: str, tmp_path: Path) -> None:
    path, top = written(name, tmp_path)
    folder = verilator_bin()
    assert folder is not None
    waivers = str(tmp_path / "waivers.vlt")
    said = subprocess.run(
        [
            str(folder / "verilator"),
            "--lint-only",
            "-Wall",
            "--top-module",
            top,
            waivers,
            str(path),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (said.returncode, said.stderr) == (0, "")


@pytest.mark.sim
@pytest.mark.skipif(icarus_bin() is None, reason="Icarus is not installed")
@each
def test_icarus_reads_it(name: str, tmp_path: Path) -> None:
    path, _ = written(name, tmp_path)
    folder = icarus_bin()
    assert folder is not None
    said = subprocess.run(
        [str(folder / "iverilog"), "-t", "null", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (said.returncode, said.stderr) == (0, "")
