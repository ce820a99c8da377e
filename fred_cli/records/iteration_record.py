"""Measurement of a training iteration in RTL simulation, for a built-in record."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fred_cli.iteration_record import SCHEMA, counted, head
from fred_cli.rtl import MEMORY_CYCLES, hardware_tasks, run_in_rtl
from fred_cli.rtl_hardware import Hardware, load_hardware
from perfmodel.training.estimate import Simulated, simulate
from perfmodel.training.request import read_requests
from studies.rtl_iteration import tasks_hash
from testbench.designs import MeasuredDesign
from testbench.measurement import Measurement, Say

__all__ = ["IterationMeasurement"]


@dataclass(frozen=True, kw_only=True)
class IterationMeasurement(Measurement):
    """A training iteration on a wafer's plane or a mesh, simulated as `fred estimate --rtl` does.

    Parameters
    ----------
    root : Path
        Folder of the files.
    topology, workload, rtl : str
        Files of the model's fabric, of what is trained, and of the hardware.
    algorithm : str
        Algorithm of collectives.
    """

    SCHEMA = SCHEMA

    simulators: tuple[str, ...] = ("verilator",)
    root: Path
    topology: str
    workload: str
    rtl: str
    algorithm: str = "published"

    @cached_property
    def _hardware(self) -> Hardware:
        return load_hardware(str(self.root / self.rtl))

    @cached_property
    def _estimated(self) -> Simulated:
        topology, workload = (str(self.root / file) for file in (self.topology, self.workload))
        (request,) = read_requests([topology], [workload], algorithm=self.algorithm)
        return simulate(request, repeats=False)

    @property
    def designs(self) -> Mapping[str, MeasuredDesign]:
        return {"verilog_sha256": self._hardware.design()}

    def head(self) -> dict[str, Any]:
        files = {"topology": self.topology, "workload": self.workload, "rtl": self.rtl}
        words = [word for name, file in files.items() for word in (f"--{name}", file)]
        words += ["--algorithm", self.algorithm, "--record", "FILE.json"]
        command = shlex.join(["fred", "estimate", *words])
        return head(self._hardware, command, self._estimated.request)

    def figures(self, work: Path, say: Say) -> dict[str, Any]:
        rtl = str(self.root / self.rtl)
        return counted(run_in_rtl(rtl, self._estimated, recorded=True))

    def other_inputs(self, record: Any) -> Iterator[str]:
        tasks, link_cycles = hardware_tasks(self._hardware, self._estimated)
        wanted = {
            **{key: value for key, value in self.head().items() if key != "command"},
            "seed": self.seed,
            "tasks_sha256": tasks_hash(tasks),
            "link_cycles": link_cycles,
            "memory_cycles": MEMORY_CYCLES,
        }
        yield from (key for key, value in wanted.items() if getattr(record, key) != value)
