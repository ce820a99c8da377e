"""Timing record of a specification, measured by co-simulation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fred_hw.spec import SwitchSpec
from gen.clock import CLOCK_HZ, CLOCK_SOURCE
from gen.design import generate
from testbench.cosimulation.cosimulate_interconnect import cosimulate
from testbench.cosimulation.cosimulate_switch import cosimulate_switch
from testbench.cosimulation.launch import Options
from testbench.designs import MeasuredDesign, interconnect_design, switch_design
from testbench.measurement import Say, Spec, SpecMeasurement
from testbench.sim.kept import kept
from testbench.sim.runner import SimulationResult
from testbench.sim.tools import SimulatorError

__all__ = ["SWITCH_TESTS", "SwitchMeasurement", "agreed", "link_use", "runs_of"]

_MEASURED = ("latency_cycles", "throughput_flits_per_cycle", "reconfiguration_cycles")

SWITCH_TESTS = (
    "lone_flit_takes_the_latency_that_is_stated",
    "flit_that_follows_another_one_takes_as_long_between_all_ports",
    "links_carry_data_at_full_load",
    "phases_of_the_same_ports_follow_each_other",
    "urgent_packet_waits_for_the_end_of_one_packet_at_most",
    "single_loss_is_caught_up",
)


@dataclass(frozen=True, kw_only=True)
class SwitchMeasurement(SpecMeasurement[SwitchSpec]):
    """A switch: interconnect alone, and whole. The clock follows from the published port rate."""

    SCHEMA = "fred-timing/2"

    @property
    def designs(self) -> Mapping[str, MeasuredDesign]:
        return {
            "verilog_sha256": interconnect_design(self.measured_spec),
            "switch_verilog_sha256": switch_design(self.measured_spec),
        }

    def figures(self, work: Path, say: Say) -> dict[str, Any]:
        spec = self.measured_spec
        design = kept(generate, spec)
        results = runs_of(self, cosimulate, work, Options(design=design))
        measured = agreed(results, lambda one: {key: one[key] for key in _MEASURED})
        whole = kept(generate, spec, level="switch")
        options = Options(tests=SWITCH_TESTS, design=whole)
        runs = runs_of(self, cosimulate_switch, work / "switch", options)
        return {
            **measured,
            "flits_checked": sum(one.measurements["flits_checked"] for one in [*results, *runs]),
            "switch": agreed(runs, lambda one: _switch(one, self.spec)),
            "clock": {"hz": CLOCK_HZ, "source": CLOCK_SOURCE},
        }


def runs_of(
    measurement: SpecMeasurement[Spec],
    run: Callable[..., SimulationResult],
    work: Path,
    options: Options,
) -> list[SimulationResult]:
    """Return the co-simulation of a measurement in each of its simulators."""
    more: dict[str, Any] = {**options, "seed": measurement.seed}
    spec = measurement.measured_spec
    return [run(spec, work / name, simulator=name, **more) for name in measurement.simulators]


def agreed(
    results: Sequence[SimulationResult], read: Callable[[Mapping[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """Return the measurements, on which all simulators must agree.

    Raises
    ------
    SimulatorError
        A test failed, or they disagree.
    """
    for result in results:
        if result.failures:
            failed = ", ".join(test.name for test in result.failures)
            raise SimulatorError(f"{result.simulator}: no record, as these tests failed: {failed}")
    measured = [read(result.measurements) for result in results]
    if any(one != measured[0] for one in measured):
        raise SimulatorError(f"simulators must agree on cycle counts, not measure {measured}")
    return measured[0]


def link_use(load: Mapping[str, Any], bits: int) -> dict[str, float]:
    """Return the record entries of the use of links by flits of a data width in bits."""
    rate = load["data_flits_per_cycle"]
    return {
        "data_flits_per_cycle": rate,
        "ack_share": load["ack_share"],
        "control_share": load["control_share"],
        "payload_share": rate * bits / (bits + load["header_and_crc_bits"]),
    }


def _switch(measured: Mapping[str, Any], spec: SwitchSpec) -> dict[str, Any]:
    """Return the record of the whole switch, with shares for flits of full size."""
    recovery = measured["recovery_cycles"]
    return {
        "latency_cycles": measured["switch_latency_cycles"],
        "stages": measured["stages"],
        "follow_cycles": measured["switch_follow_cycles"],
        **link_use(measured["efficiency"], spec.data_width),
        "reconfiguration_cycles": measured["reconfiguration_cycles"],
        "preemption_cycles": measured["preemption_cycles"],
        "recovery_cycles": {"to_switch": recovery["input"], "from_switch": recovery["output"]},
    }
