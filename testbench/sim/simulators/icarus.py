"""Icarus Verilog."""

from collections.abc import Sequence
from pathlib import Path

from testbench.sim.simulator import SIMULATORS, TIMESCALE, Simulator
from testbench.sim.tools import SimulatorError, icarus_bin, icarus_version

__all__: list[str] = []

_WAVES = """
module waves;
  initial begin
    $dumpfile("waves.fst");
    $dumpvars(0, {top});
  end
endmodule
"""


class _Icarus(Simulator):
    """Icarus Verilog, which builds in seconds but simulates slowly."""

    runner = "icarus"
    package = "Debian's package iverilog"
    waves = "fst"

    def find(self) -> Path | None:
        return icarus_bin()

    def version(self) -> str | None:
        return icarus_version()

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
        from cocotb_tools.runner import get_runner

        from testbench.sim.cache import built

        if points is not None:
            raise SimulatorError(f"{self.runner} does not count coverage; verilator does")
        # The wave file is in the folder of the simulation, which is not known here.
        text = verilog + (_WAVES.format(top=top) if waves else "")
        arguments = ["-s", "waves"] if waves else []

        def build(folder: Path) -> None:
            source = folder / f"{top}.v"
            source.write_text(text)
            try:
                get_runner(self.runner).build(
                    sources=[source],
                    hdl_toplevel=top,
                    build_dir=folder,
                    build_args=arguments,
                    timescale=TIMESCALE,
                    always=True,
                    log_file=folder / "build.log",
                )
            except (RuntimeError, SystemExit) as error:
                tail = (folder / "build.log").read_text()[-2000:]
                message = f"{self.runner} could not build {top}: {error}\n{tail}"
                raise SimulatorError(message) from None

        content = [text, top, self.version() or "unknown", *arguments]
        return built(f"{top[:60]}-{self.runner}", content, build)


SIMULATORS.add("icarus", _Icarus(), rank=2)
