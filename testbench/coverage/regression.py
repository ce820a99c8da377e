"""The regression whose coverage is measured: small designs that together have all units."""

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from fred_hw.ace.npu_endpoint import NpuEndpoint
from fred_hw.control.unit import ControlUnit
from fred_hw.datapath.reducer import Reducer
from fred_hw.endpoint.terminator import LinkTerminator
from fred_hw.endpoint_spec import EndpointSpec
from fred_hw.formats.number_format import FORMATS, OVERFLOWS, FloatFormat, NumberFormat
from fred_hw.formats.values import storage
from fred_hw.mesh.spec import MeshSpec
from fred_hw.operations.operation import OPERATIONS, fitting
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit
from gen.design import generate
from gen.emitter import VerilogEmitter
from gen.ports import module_ports
from testbench.cosimulation.control import cosimulate_control
from testbench.cosimulation.cosimulate_interconnect import cosimulate
from testbench.cosimulation.cosimulate_mesh import cosimulate_mesh
from testbench.cosimulation.cosimulate_pair import (
    cosimulate_endpoint,
    cosimulate_terminator,
    pair_of,
)
from testbench.cosimulation.cosimulate_switch import cosimulate_switch
from testbench.cosimulation.launch import Options
from testbench.models.arithmetic import combine
from testbench.sim.kept import Kept, Written
from testbench.sim.runner import COVERAGE, SimulationResult
from testbench.sim.tools import SimulatorError
from testbench.sim.verilate import verilate
from testbench.volume.program import harness_sources
from testbench.volume.vectors import Bank, float_pairs, run_bank, special_values

from .point import text_of

__all__ = ["RUNS", "Run", "bench_run"]

_PROTOCOL = ProtocolSpec(
    phases=8,
    packet_flits=4,
    buffer_packets=6,
    round_trip_cycles=12,
    ack_interval=4,
    window_packets=16,
    timeout_cycles=400,
    nack_timeout_cycles=24,
    packet_timeout_cycles=32,
    head_of_line_timeout_cycles=2000,
)
_SMALL = {"lanes": 1, "format": "int8", "protocol": _PROTOCOL}
_PAIR = SwitchSpec.model_validate({"ports": 2, **_SMALL})
_ACCUMULATING = SwitchSpec(ports=4, lanes=1, format="fp8_e4m3", accumulation="fp16")
_ENDPOINT = _PAIR.with_changes(
    endpoint=EndpointSpec(fsms=1, slots=2, chunk_flits=8, memory_reads=8)
)
_MESH = MeshSpec(width=2, height=2, controllers=False, lanes=1, format="int8", protocol=_PROTOCOL)


class Run:
    """A design and what is simulated with it.

    Parameters
    ----------
    make : callable
        Generates the design with an emitter.
    simulate : callable
        Simulates it with a seed in a folder, and returns how many tests passed and its files of
        counts.
    """

    def __init__(
        self,
        make: Callable[[VerilogEmitter], Written],
        simulate: Callable[["Run", int, Path], tuple[int, list[Path]]],
    ) -> None:
        self.units: dict[str, Unit] = {}
        self.make, self._simulate = make, simulate

    @cached_property
    def design(self) -> Written:
        """The design."""
        return self.make(VerilogEmitter(self._see))

    @cached_property
    def points(self) -> str:
        """SystemVerilog of the cover points of all units."""
        return text_of(self.units, self.design.verilog)

    def _see(self, unit: Unit) -> Unit:
        self.units[unit.unit_name] = unit
        return unit

    def simulate(self, seed: int, folder: Path) -> tuple[int, list[Path]]:
        """Simulate; return how many tests passed, and the files with counts.

        Raises
        ------
        SimulatorError
            A simulator is not installed or failed, or a test did.
        """
        return self._simulate(self, seed, folder)


def bench_run(
    bench: Callable[[Path, Options], SimulationResult],
) -> Callable[["Run", int, Path], tuple[int, list[Path]]]:
    """Return how a run simulates its design: with a bench of cocotb, whose options are given."""

    def simulate(run: Run, seed: int, folder: Path) -> tuple[int, list[Path]]:
        options: Options = {
            "simulator": "verilator",
            "seed": seed,
            "design": run.design,
            "points": run.points,
        }
        found = bench(folder, options)
        if found.failures:
            first = found.failures[0]
            raise SimulatorError(f"{run.design.name}: {first.name} fails: {first.message}")
        return len(found.tests), [folder / COVERAGE]

    return simulate


def _alone(unit: Callable[[], Unit], emitter: VerilogEmitter) -> Written:
    top = unit()
    emitter.add(top)
    return Kept(top.unit_name, emitter.verilog(), tuple(module_ports(top)))


def _two(unit: Callable[[], Unit], name: str, emitter: VerilogEmitter) -> Written:
    return pair_of(unit(), name, emitter)


_CASES = [
    (form, operation, overflow)
    for form in FORMATS.values()
    for operation in fitting(form)
    for overflow in (
        OVERFLOWS
        if OPERATIONS[operation].overflows and not isinstance(form, FloatFormat)
        else ("saturate",)
    )
]


def _lane(form: NumberFormat, operation: str, overflow: str) -> SwitchSpec:
    fields = {"format": form.name, "operation": operation, "overflow": overflow}
    return SwitchSpec.model_validate({"ports": 2, "lanes": 1, **fields})


def _vectors(run: Run, seed: int, folder: Path) -> tuple[int, list[Path]]:
    """Drive all arithmetic units with pairs: special values, and random ones."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    program = verilate(
        run.design.verilog, "bank", harness_sources("vectors.cpp", "bank"), points=run.points
    )
    files: list[Path] = []
    for select, (form, operation, overflow) in enumerate(_CASES):
        if isinstance(form, FloatFormat):
            a, b = float_pairs(form, 6000, rng)
        else:
            grids = np.meshgrid(*[special_values(form)] * 2)
            random = rng.integers(0, 1 << form.storage_bits, (2, 4000)).astype(np.uint32)
            a, b = (np.concatenate([grids[k].ravel(), random[k]]) for k in range(2))
        latency, kind = _lane(form, operation, overflow).adder_registers, storage(form)
        reduced = combine(a.astype(kind), b.astype(kind), form, operation, overflow)
        for passes, want in ((0, reduced), (64, a), (128, b)):
            files.append(folder / f"{select}-{passes}.dat")
            file = f"+verilator+coverage+file+{files[-1]}"
            got = run_bank(program, select + passes, latency, a, b, [file])
            if not np.array_equal(got, want):
                raise SimulatorError(f"{form.name} {operation} {overflow}: a result is wrong")
    return len(_CASES), files


RUNS: Mapping[str, Run] = {
    "arithmetic": Run(
        partial(_alone, lambda: Bank([Reducer(spec=_lane(*one)) for one in _CASES])), _vectors
    ),
    **{
        f"interconnect of {ports} ports": Run(
            partial(generate, SwitchSpec.model_validate({"ports": ports, **_SMALL})),
            bench_run(
                lambda work, options, ports=ports: cosimulate(
                    SwitchSpec.model_validate({"ports": ports, **_SMALL}), work, **options
                ),
            ),
        )
        for ports in (4, 5)
    },
    "interconnect with accumulation": Run(
        partial(generate, _ACCUMULATING),
        bench_run(lambda work, options: cosimulate(_ACCUMULATING, work, **options)),
    ),
    "switch": Run(
        partial(generate, _PAIR, level="switch"),
        bench_run(lambda work, options: cosimulate_switch(_PAIR, work, **options)),
    ),
    "control unit": Run(
        partial(_alone, lambda: ControlUnit(spec=_PAIR)),
        bench_run(lambda work, options: cosimulate_control(_PAIR, work, **options)),
    ),
    "endpoints": Run(
        partial(_two, lambda: NpuEndpoint(spec=_ENDPOINT), "endpoint_pair"),
        bench_run(lambda work, options: cosimulate_endpoint(_ENDPOINT, work, **options)),
    ),
    "link terminators": Run(
        partial(_two, lambda: LinkTerminator(spec=_PAIR), "terminator_pair"),
        bench_run(lambda work, options: cosimulate_terminator(_PAIR, work, **options)),
    ),
    "mesh": Run(
        partial(generate, _MESH, level="mesh"),
        bench_run(lambda work, options: cosimulate_mesh(_MESH, work, **options)),
    ),
}
"""The regression."""
