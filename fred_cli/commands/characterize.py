"""Command `fred characterize`."""

import time
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from fred_cli.cell_options import effort_option, liberty_option, read_cells, sizing_option
from fred_cli.command import Command
from fred_cli.cosimulation import load_testbench, simulating, tests_begun_last
from fred_cli.numbers import Integer
from fred_cli.options import (
    NameChoice,
    OutputPath,
    as_json_option,
    collectives_name,
    read_spec,
    refuse_given,
    seed_option,
    set_option,
    simulator_option,
    spec_argument,
)
from fred_cli.output import checked, print_json, table, write_json
from fred_cli.progress import progress, steps
from fred_hw.errors import InputError

__all__ = ["command"]

_MEASURERS = {
    "switch": ("testbench.characterize", "SwitchMeasurement"),
    "endpoint": ("testbench.characterize_endpoint", "EndpointMeasurement"),
    "router": ("testbench.characterize_mesh", "RouterMeasurement"),
    "wafer": ("testbench.characterize_wafer", "PlanePhasesMeasurement"),
    "mesh": ("testbench.characterize_mesh_phases", "MeshPhasesMeasurement"),
}
"""Module and class of the measurement of each level."""

_PHASES = ("wafer", "mesh")
"""Levels on which phases of strategies are measured."""


@click.command("characterize", cls=Command, example="fred characterize tiny-2 -o build/tiny-2.json")
@spec_argument
@set_option
@click.option(
    "--level",
    type=NameChoice(lambda _context: _MEASURERS),
    default="switch",
    show_default=True,
    help="Measure a switch, a collective endpoint, the routers of a mesh file, or the phases of "
    "strategies on a wafer or mesh, with which the model is compared.",
)
@simulator_option
@seed_option
@click.option(
    "--lanes", type=Integer(), help="Lanes to co-simulate; cycle counts do not depend on it."
)
@click.option(
    "--strategy",
    "strategies",
    multiple=True,
    help="For a wafer or mesh: strategy whose phases are measured. Repeat for more.",
)
@click.option(
    "--flits",
    "flits",
    multiple=True,
    type=Integer(),
    help="For a wafer or mesh: flits that an NPU sends. Repeat for more.",
)
@click.option(
    "--collectives",
    type=collectives_name,
    help="For a wafer: collectives by switches, or by rings of endpoints; by default both.",
)
@click.option(
    "--phase",
    "phases",
    multiple=True,
    help="For a wafer: only this phase, such as load_0. Repeat for more.",
)
@liberty_option()
@effort_option
@sizing_option
@click.option("-o", "--output", "path", type=OutputPath(), help="File for the record.")
@as_json_option
def command(
    spec_source: str,
    changes: tuple[str, ...],
    level: str,
    simulator: str,
    seed: int,
    lanes: int | None,
    strategies: tuple[str, ...],
    flits: tuple[int, ...],
    collectives: str | None,
    phases: tuple[str, ...],
    liberty: tuple[Path, ...],
    effort: str,
    sizing: bool,
    path: Path | None,
    as_json: bool,
) -> None:
    """Co-simulate SPEC and write its timing record, which the performance model reads.

    Its clock is the published one, or with --liberty the shortest that synthesis finds, as
    `fred synth` does.
    """
    from gen.level import LEVELS
    from gen.write import check_folder

    _check_options(level, liberty)
    if level in _PHASES:
        more: dict[str, Any] = {"seed": seed}
        if level == "wafer":
            more |= {"phases": phases, "simulators": (simulator,)}
            more |= {"collectives": (collectives,)} if collectives else {}
        fabric = read_spec(spec_source, changes, LEVELS[level].load, LEVELS[level].model.file_kind)
        _characterize_phases(level, spec_source, fabric, strategies, flits, more, path, as_json)
        return
    spec = read_spec(spec_source, changes, LEVELS[level].load, LEVELS[level].model.file_kind)
    _check_spec(level, spec, lanes, spec_source)
    names = load_testbench(simulator)
    libraries = read_cells(liberty) if liberty else None
    work = Path("build") / "characterize" / spec.name
    parts = (work, work / "switch") if level == "switch" else (work,)
    folders = [one / name for one in parts for name in names]
    for one in folders:
        check_folder(one)
    logs = [one / "simulation.log" for one in folders]
    look = partial(tests_begun_last, logs, time.time())
    with simulating(), progress(f"characterizing {spec.name}", look):
        asked = _measurement(level)(spec=spec, simulators=names, seed=seed, lanes=lanes)
        record = asked.record(work)
    if libraries:
        record["clock"] = _synthesized(spec, spec_source, libraries, effort, sizing)
    if path is not None:
        write_json(record, path)
    if as_json:
        print_json(record)
        return
    _print(record)
    if path is not None:
        print(f"  {path}")


def _check_spec(level: str, spec: Any, lanes: int | None, source: str) -> None:
    """Fail if a switch or router cannot be measured, or not with the number of lanes."""
    from fred_hw.files import validate
    from gen.level import LEVELS

    for one in ("interconnect", level) if level == "switch" else (level,):
        LEVELS[one].check(spec, source)  # records of a switch have figures of its interconnect
    if level == "router" and spec.wrap:  # cycles are those from port to port of lone routers
        raise InputError(source, "wrap", "must be false with --level router, not true")
    if lanes is not None:
        validate(type(spec), {**spec.model_dump(), "lanes": lanes}, "--lanes")


def _check_options(level: str, liberty: tuple[Path, ...]) -> None:
    """Fail if options do not apply to the measurement."""
    without = f"must not be given with --level {level}"
    if not liberty:
        refuse_given("effort", "sizing", message="must be given only with --liberty")
    if level in ("endpoint", *_PHASES) and liberty:
        raise InputError("characterize", "--liberty", without)
    if level in _PHASES:
        refuse_given("lanes", message=without)
    if level == "mesh":
        refuse_given("simulator", "collectives", "phases", message=without)
    if level in _PHASES:
        return
    refuse_given("strategies", "flits", message="must be given only with --level wafer or mesh")
    refuse_given("collectives", "phases", message="must be given only with --level wafer")


def _characterize_phases(
    level: str,
    source: str,
    fabric: Any,
    strategies: tuple[str, ...],
    flits: tuple[int, ...],
    more: dict[str, Any],
    path: Path | None,
    as_json: bool,
) -> None:
    """Measure phases on a wafer's plane or a mesh, and print or write their durations."""
    for name, values in (("strategy", strategies), ("flits", flits)):
        if not values:
            raise InputError("characterize", f"--{name}", f"must be given with --level {level}")
    for count in flits:
        if not 1 <= count <= 1 << 16:
            raise InputError("--flits", "", f"must be 1 to 65536, not {count}")
    load_testbench(*more.get("simulators", ("verilator",)))
    with simulating(), checked("--strategy", spec=source), progress(f"measuring {fabric.name}"):
        asked = _measurement(level)(spec=fabric, strategies=strategies, flits=flits, **more)
        record = asked.record(Path("build") / "characterize" / fabric.name)
    if path is not None:
        write_json(record, path)
    if as_json:
        print_json(record)
        return
    how, where = ("collectives", "a plane of ") if level == "wafer" else ("algorithm", "")
    columns = ("strategy", "phase", how, "flits", "cycles")
    rows = [tuple(row[name] for name in columns) for row in record["rows"]]
    table(f"Phases alone on {where}{record['name']}", columns, rows)
    print(f"{record['flits_checked']} flits checked, seed {record['seed']}")
    if path is not None:
        print(f"  {path}")


def _measurement(level: str) -> Any:
    """Return the class of a measurement."""
    module, name = _MEASURERS[level]
    return getattr(import_module(module), name)


def _print(record: dict[str, Any]) -> None:
    """Print a record as text."""
    clock = record["clock"]
    if "router" in record:
        _print_router(record)
    elif "endpoint" in record:
        _print_endpoint(record)
    else:
        _print_switch(record)
    print(f"clock {clock['hz'] / 1e9:.6f} GHz, {clock['source']}")
    print(f"{record['flits_checked']} flits checked, seed {record['seed']}")


def _print_router(record: dict[str, Any]) -> None:
    """Print the measurements of a router."""
    router = record["router"]
    print(
        f"{record['name']}: a router takes {router['latency_cycles']} cycles, "
        f"{router['payload_share']:.4f} of the link rate is payload, "
        f"{router['ack_share']:.4f} of the flits are acks"
    )


def _print_endpoint(record: dict[str, Any]) -> None:
    """Print the measurements of an endpoint."""
    found = record["endpoint"]
    print(
        f"{record['name']}: an endpoint sends {found['start_cycles']} cycles after COMMAND, of a "
        f"ring {found['ring_start_cycles']}, and is done {found['finish_cycles']} after the last "
        f"flit; a step of a ring takes {found['step_cycles']} in addition to its message"
    )
    print(
        f"{found['flits_per_cycle']:.4f} flits per cycle, in a ring "
        f"{found['ring_flits_per_cycle']:.4f}; an ack after {found['ack_cycles']} cycles, and "
        f"{found['next_cycles']} from there to another flow, memory and links not counted"
    )


def _print_switch(record: dict[str, Any]) -> None:
    """Print the measurements of a switch."""
    print(
        f"{record['name']}: latency {record['latency_cycles']} cycles, "
        f"{record['throughput_flits_per_cycle']} flits per cycle and port, "
        f"{record['reconfiguration_cycles']} cycles lost to a new configuration"
    )
    whole = record["switch"]
    stages = ", ".join(f"{name} {cycles}" for name, cycles in whole["stages"].items())
    recovery = whole["recovery_cycles"]
    print(
        f"whole switch: latency {whole['latency_cycles']} cycles ({stages}), "
        f"{whole['payload_share']:.4f} of the link rate is payload, "
        f"{whole['ack_share']:.4f} of the flits are acks"
    )
    print(
        f"preemption after {whole['preemption_cycles']} cycles, recovery after "
        f"{recovery['to_switch']} cycles (link to the switch) or "
        f"{recovery['from_switch']} (from it), delays of the links not counted"
    )


def _synthesized(
    spec: Any, label: str, libraries: Any, effort: str, sizing: bool
) -> dict[str, float | str]:
    """Return the clock of a record, as synthesis of the whole switch or the router gives it."""
    from fred_hw.mesh.spec import MeshSpec
    from gen.clock import CLOCK_NS, ROUTER_CLOCK_HZ
    from synth.synthesis import from_spec, synthesize

    of_mesh = isinstance(spec, MeshSpec)
    target_ns = 1e9 / ROUTER_CLOCK_HZ if of_mesh else CLOCK_NS
    with steps(f"synthesizing {spec.name}") as step:
        source = from_spec(spec, "router" if of_mesh else "switch", label)
        result = synthesize(
            source, libraries, clock_ns=target_ns, effort=effort, sizing=sizing, progress=step
        )
    if not result.timing.clock_ns:
        raise InputError(libraries.label, "timing", "must give paths a delay, not 0 ns to all")
    return {"hz": 1e9 / result.timing.clock_ns, "source": result.provenance}
