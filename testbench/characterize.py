"""Timing record of a specification, measured by co-simulation."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fred_hw.checks import check_int
from fred_hw.spec import SwitchSpec
from gen.clock import CLOCK_HZ, CLOCK_SOURCE
from gen.design import generate
from testbench.cosimulation.interconnect import cosimulate
from testbench.cosimulation.launch import Options
from testbench.cosimulation.switch import cosimulate_switch
from testbench.record_head import fewer_lanes, record_head
from testbench.sim.kept import Written, kept
from testbench.sim.runner import SimulationResult, find_simulator
from testbench.sim.tools import SimulatorError

__all__ = ["RECORD_SCHEMA", "SWITCH_TESTS", "agreed", "characterize", "verilog_hashes"]

RECORD_SCHEMA = "fred-timing/2"
_MEASURED = ("latency_cycles", "throughput_flits_per_cycle", "reconfiguration_cycles")

SWITCH_TESTS = (
    "lone_flit_takes_the_latency_that_is_stated",
    "flit_that_follows_another_one_takes_as_long_between_all_ports",
    "links_carry_data_at_full_load",
    "phases_of_the_same_ports_follow_each_other",
    "urgent_packet_waits_for_the_end_of_one_packet_at_most",
    "single_loss_is_caught_up",
)


def characterize(
    spec: SwitchSpec,
    work: Path,
    *,
    simulators: Sequence[str] = ("icarus",),
    seed: int = 1,
    lanes: int | None = None,
) -> dict[str, Any]:
    """Co-simulate ``spec``, alone and in a whole switch, and return its timing record.

    Its clock is that of the published port rate.

    Parameters
    ----------
    spec : SwitchSpec
        What the record is for.
    work : Path
        Folder for logs and results.
    simulators : Sequence of str
        Simulators that all have to measure the same.
    seed : int
        Seed of all stimulus.
    lanes : int, optional
        Lanes to co-simulate, ``MEASURED_LANES`` or fewer by default.

    Raises
    ------
    SimulatorError
        A simulator is not installed or failed, a test failed, or the simulators disagree.
    """
    check_int("seed", seed, minimum=1)
    for name in simulators:
        find_simulator(name)
    measured_spec = fewer_lanes(spec, lanes)
    design = kept(generate, measured_spec)
    whole = kept(generate, measured_spec, level="switch")
    results = [
        cosimulate(measured_spec, work / name, simulator=name, seed=seed, design=design)
        for name in simulators
    ]
    measured = agreed(results, lambda one: {key: one[key] for key in _MEASURED})
    options = Options(seed=seed, tests=SWITCH_TESTS, design=whole)
    runs = [
        cosimulate_switch(
            measured_spec, work / "switch" / name, **Options(**options | {"simulator": name})
        )
        for name in simulators
    ]
    hashes = verilog_hashes(design, whole)
    return {
        **record_head(RECORD_SCHEMA, spec, measured_spec, simulators, seed, **hashes),
        **measured,
        "flits_checked": sum(result.measurements["flits_checked"] for result in [*results, *runs]),
        "switch": agreed(runs, lambda one: _switch(one, spec)),
        "clock": {"hz": CLOCK_HZ, "source": CLOCK_SOURCE},
    }


def verilog_hashes(design: Written, whole: Written) -> dict[str, str]:
    """Return what says in a record which Verilog was measured: of an interconnect, of a switch."""
    hashes = [hashlib.sha256(one.verilog.encode()).hexdigest() for one in (design, whole)]
    return {"verilog_sha256": hashes[0], "switch_verilog_sha256": hashes[1]}


def agreed(
    results: Sequence[SimulationResult], read: Callable[[Mapping[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """Return what all simulators measured.

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


def _switch(measured: Mapping[str, Any], spec: SwitchSpec) -> dict[str, Any]:
    """Return the record of the whole switch, with shares for flits of its full size."""
    load, recovery = measured["efficiency"], measured["recovery_cycles"]
    bits = spec.data_width
    share = load["data_flits_per_cycle"] * bits / (bits + load["header_and_crc_bits"])
    return {
        "latency_cycles": measured["switch_latency_cycles"],
        "stages": measured["stages"],
        "follow_cycles": measured["switch_follow_cycles"],
        "data_flits_per_cycle": load["data_flits_per_cycle"],
        "ack_share": load["ack_share"],
        "control_share": load["control_share"],
        "payload_share": share,
        "reconfiguration_cycles": measured["reconfiguration_cycles"],
        "preemption_cycles": measured["preemption_cycles"],
        "recovery_cycles": {"to_switch": recovery["input"], "from_switch": recovery["output"]},
    }
