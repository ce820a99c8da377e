"""Agent that records the ports of a design cycle by cycle, for replay on its netlist."""

import json
import os
from collections.abc import Sequence
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

__all__ = ["Recorder"]


class Recorder:
    """Recorder of ports from the start of a test to the end of a window.

    Ports are those of the design, or ``instance.port`` in it.

    A port's value in a cycle is that before the rising edge which ends the cycle, or None while a
    bit is undefined.

    Parameters
    ----------
    dut : handle
        The design.
    name : str
        Name of the workload, and of the file in the folder ``FRED_RECORDINGS``.
    """

    def __init__(self, dut: Any, name: str) -> None:
        self.dut, self.name = dut, name
        ports: Sequence[str] = json.loads(os.environ["FRED_PORTS"])
        self.values: dict[str, list[int | None]] = {port: [] for port in ports}
        self.window = [0, 0]
        self._handles = [
            (reduce(getitem, port.split("."), dut), its) for port, its in self.values.items()
        ]
        self._task = cocotb.start_soon(self._run())

    async def _run(self) -> None:
        while True:
            await FallingEdge(self.dut.clk)
            for handle, values in self._handles:
                text = str(handle.value)
                values.append(int(text, 2) if text.strip("01") == "" else None)

    @property
    def cycle(self) -> int:
        """Number of recorded cycles."""
        return len(next(iter(self.values.values())))

    def begin(self) -> None:
        """Begin the window with the next cycle."""
        self.window[0] = self.cycle

    def end(self, **counts: float) -> None:
        """End the window, and write the recording with what happened in the window."""
        self._task.cancel()
        self.window[1] = self.cycle
        path = Path(os.environ["FRED_RECORDINGS"]) / f"{self.name}.json"
        found = {"window": self.window, "counts": counts, "values": self.values}
        path.write_text(json.dumps(found), encoding="utf-8")
