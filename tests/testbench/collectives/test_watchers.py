"""Watchers of undefined values around a fabric: each one fires."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from testbench.collectives.fabric import (
    Program,
    Sizes,
    compiled,
    fabric_text,
    finished,
    write_memories,
    write_steps,
)
from testbench.sim.tools import SimulatorError
from tests.testbench.cases import ENGINE, small

SPEC = small(2).with_changes(endpoint=ENGINE.model_copy(update={"read_ports": 2}))
N, FLIT_BYTES = 2, 2
pytestmark = [pytest.mark.sim, pytest.mark.slow]

STREAMS = {
    "up0_v": ("up0_f",),  # endpoint to switch
    "down0_v": ("down0_f",),
    "rv0": ("ra0",),  # reads of memory, of operands, and writes
    "ov0": ("oa0",),
    "wv0": ("wa0", "wd0"),
    "n0_bvalid": ("n0_bresp",),  # AXI4-Lite of the endpoint, and of the switch
    "n0_rvalid": ("n0_rresp", "n0_rdata"),
    "sw_bvalid": ("sw_bresp",),
    "sw_rvalid": ("sw_rresp", "sw_rdata"),
}
"""Wires of payload by that of valid, of streams that leave endpoint 0 or the switch."""

CASES = [(valid, valid) for valid in STREAMS] + [
    (valid, wire) for valid, wires in STREAMS.items() for wire in wires
]


def text() -> str:
    """Return the fabric, in which plusarg ``broken`` names a case to make a wire undefined."""
    forces = "".join(
        f"      {number}: begin"
        + (f" force fabric.{valid} = 1'b1;" if wire != valid else "")
        + f" force fabric.{wire} = 'bx; end\n"
        for number, (valid, wire) in enumerate(CASES)
    )
    breaks = (
        '  integer broken;\n  initial if ($value$plusargs("broken=%d", broken)) begin\n'
        f"    wait (fabric.now == 15);\n    case (broken)\n{forces}    endcase\n  end\n"
    )
    whole = fabric_text(SPEC, Sizes())
    top = "fabric fabric (clk); "
    assert whole.count(top) == 1
    return whole.replace(top, f"{top}\n{breaks}")


@cache
def model() -> Path:
    return compiled("fabric", text())


def run(work: Path, **says: int) -> None:
    programs = [Program(SPEC) for _ in range(N)]
    for number, program in enumerate(programs):
        program.begin(number)
        program.show("ERROR")
    write_steps(work, [*(program.steps for program in programs), []])
    write_memories(work, [np.zeros((256, FLIT_BYTES), dtype=np.uint8)] * N)
    finished(model(), SPEC, N, {"limit": 400, **says}, work)


def test_nothing_fires_if_nothing_is_broken(tmp_path: Path) -> None:
    run(tmp_path)


@pytest.mark.parametrize("case", CASES, ids=[f"{wire} of {valid}" for valid, wire in CASES])
def test_each_watcher_fires(case: tuple[str, str], tmp_path: Path) -> None:
    """Where valid is undefined, and where it is high and a wire of payload is undefined."""
    valid, _ = case
    with pytest.raises(SimulatorError, match=rf"main\.fabric\.{valid}_known is undefined"):
        run(tmp_path, broken=CASES.index(case))


def test_each_stream_that_is_watched_is_broken_here() -> None:
    watched = re.findall(r" (\w+)_known \(.*\.payload\((.*)\)\);", fabric_text(SPEC, Sizes()))
    found = {valid: tuple(re.findall(r"\w+", payload)) for valid, payload in watched}
    of_node_1 = {one for one in found if re.search(r"\D1(_|$)", one)}
    assert {one: found[one] for one in found.keys() - of_node_1} == STREAMS
    assert len(of_node_1) == len(STREAMS) - len(("sw_bvalid", "sw_rvalid"))
