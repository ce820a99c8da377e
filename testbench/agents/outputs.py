"""Clock of a bench, and monitor of all outputs: none is undefined, each cycle is recorded."""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from .axis import bits

__all__ = ["qualified", "start_clock"]

_VALID = "valid"


def qualified(outputs: Iterable[str]) -> dict[str, list[str]]:
    """Return the outputs that always count, under "", and others under the name of their valid.

    The valid of a stream counts always. Its payload, whose names begin as that of the valid, only
    counts while the valid is high.
    """
    names = list(outputs)
    valids = sorted((name for name in names if name.endswith(_VALID)), key=len, reverse=True)
    found: dict[str, list[str]] = {"": list(valids)}
    for name in names:
        begin = (one for one in valids if name.startswith(one.removesuffix(_VALID)))
        valid = "" if name.endswith("ready") else next(begin, "")
        if name not in valids:
            found.setdefault(valid, []).append(name)
    return found


def start_clock(dut: Any) -> None:
    """Start the clock and, if the run asks for it, watch all outputs from the first reset on.

    An output that is undefined while it counts fails the test. Changes are appended to the file
    of the run, as lines of cycle, output and value; each test begins with an empty line.
    """
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns", impl="gpi").start())
    if "FRED_OUTPUTS" in os.environ:
        path = Path(os.environ["FRED_OUTPUTS"])
        cocotb.start_soon(_watch(dut, json.loads(os.environ["FRED_OUTPUT_PORTS"]), path))


async def _watch(dut: Any, outputs: Sequence[str], path: Path) -> None:
    groups = [
        (valid, [(name, bits(dut[name])) for name in names])
        for valid, names in qualified(outputs).items()
    ]
    known, cycle, before = False, 0, dict[str, str]()
    with path.open("a", encoding="utf-8", buffering=1) as file:
        file.write("\n")
        while True:
            await FallingEdge(dut.clk)
            for valid, names in groups if known else ():
                if valid and before[valid] != "1":
                    continue
                for name, read in names:
                    value = read()
                    if value != before.get(name):
                        assert value.strip("01") == "", f"cycle {cycle}: {name} is {value}"
                        before[name] = value
                        file.write(f"{cycle} {name} {value}\n")
            # The next rising edge resets the design.
            known = known or str(dut.rst.value) == "1"
            cycle += known
