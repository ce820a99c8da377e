"""cocotb test that records an all-reduce cycle by cycle, for the report."""

import json
import os
from typing import Any

import cocotb

from fred_hw.compiler.flows import Flow
from fred_hw.spec import SwitchSpec
from testbench.agents.interconnect import InterconnectBench, Monitor, Stimulus
from testbench.agents.measurements import record
from testbench.stimulus.traffic import routed

SPEC = SwitchSpec.model_validate_json(os.environ["FRED_SPEC"])
FLITS: list[list[int]] = json.loads(os.environ["FRED_FLITS"])  # a flit per port, in each cycle
LATENCY = int(os.environ["FRED_LATENCY"])


class Seen:
    """Flit of each port in each cycle; None where there is no flit."""

    def __init__(self, dut: Any) -> None:
        ports = range(SPEC.ports)
        self.sides = {
            side: [(dut[f"{side}__{k}__valid"], dut[f"{side}__{k}__data"]) for k in ports]
            for side in ("i", "o")
        }
        self.rows: dict[str, list[list[int | None]]] = {
            side: [[] for _ in ports] for side in self.sides
        }

    def read(self) -> None:
        """Record the current values of the ports."""
        for side, pairs in self.sides.items():
            for row, (valid, data) in zip(self.rows[side], pairs, strict=True):
                row.append(int(data.value) if int(valid.value) else None)


class Watched(Monitor):
    """Monitor that also records every port, at the same falling edges."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut, SPEC)
        self.seen = Seen(dut)

    def read(self, on_flit: Any) -> None:
        self.seen.read()
        super().read(on_flit)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def all_ports_reduce(dut: Any) -> None:
    bench = InterconnectBench(dut, SPEC)
    await bench.start()
    bench.monitor = watched = Watched(dut)
    configuration = routed([Flow(range(SPEC.ports), range(SPEC.ports))], SPEC)
    assert configuration is not None
    for flits in FLITS:
        await bench.step(Stimulus(configuration, flits))
    for _ in range(LATENCY):
        await bench.step(None)
    await bench.step(None)
    assert bench.board.finish(minimum=len(FLITS) * SPEC.ports) == LATENCY
    rows = watched.seen.rows
    record("i", rows["i"], "", "Flit of each input in each cycle")
    record("o", rows["o"], "", "Flit of each output in each cycle")
