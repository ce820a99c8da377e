"""`fred characterize`."""

import time
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from fred_cli.cosimulation import load_testbench, simulating, tests_begun_last
from fred_cli.options import (
    OutputPath,
    as_json_option,
    effort_option,
    liberty_option,
    measured_level_option,
    read_cells,
    read_mesh,
    read_spec,
    set_option,
    simulator_option,
    sizing_option,
    spec_argument,
)
from fred_cli.output import checked, say_json, write_json
from fred_cli.progress import progress, steps
from fred_hw.errors import InputError

__all__ = ["command"]


@click.command("characterize")
@spec_argument
@set_option
@measured_level_option
@simulator_option("icarus")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of all stimulus.")
@click.option("--lanes", type=int, help="Lanes to co-simulate; cycle counts do not depend on it.")
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
    from gen.write import check_folder

    for option in ("effort", "sizing"):
        given = click.get_current_context().get_parameter_source(option)
        if not liberty and given is not ParameterSource.DEFAULT:
            raise InputError("characterize", f"--{option}", "must be given only with --liberty")
    of_mesh = level == "router"
    spec = (read_mesh if of_mesh else read_spec)(spec_source, changes)
    if lanes is not None:
        _check_lanes(spec, lanes)
    _, names = load_testbench(simulator)
    libraries = read_cells(liberty) if liberty else None
    work = Path("build") / "characterize" / spec.name
    parts = (work,) if of_mesh else (work, work / "switch")
    folders = [one / name for one in parts for name in names]
    for one in folders:
        check_folder(one)
    logs = [one / "simulation.log" for one in folders]
    look = partial(tests_begun_last, logs, time.time())
    with simulating(), checked("--seed"), progress(f"characterizing {spec.name}", look):
        record = _measurer(of_mesh)(spec, work, simulators=names, seed=seed, lanes=lanes)
    if libraries:
        record["clock"] = _synthesized(spec, spec_source, libraries, effort, sizing)
    if path is not None:
        write_json(record, path)
    if as_json:
        say_json(record)
        return
    _print(record)
    if path is not None:
        print(f"  {path}")


def _check_lanes(spec: Any, lanes: int) -> None:
    """Refuse a number of lanes that no switch or mesh has."""
    from fred_hw.files import validate

    validate(type(spec), {**spec.model_dump(), "lanes": lanes}, "--lanes")


def _measurer(of_mesh: bool) -> Any:
    """Return what measures a record."""
    if of_mesh:
        from testbench.characterize_mesh import characterize_mesh

        return characterize_mesh
    from testbench.characterize import characterize

    return characterize


def _print(record: dict[str, Any]) -> None:
    """Print a record for a reader."""
    clock = record["clock"]
    if "router" in record:
        _print_router(record)
    else:
        _print_switch(record)
    print(f"clock {clock['hz'] / 1e9:.6f} GHz, {clock['source']}")
    print(f"{record['flits_checked']} flits checked, seed {record['seed']}")


def _print_router(record: dict[str, Any]) -> None:
    """Print what was measured of a router."""
    router = record["router"]
    print(
        f"{record['name']}: a router takes {router['latency_cycles']} cycles, "
        f"{router['payload_share']:.4f} of the link rate is payload, "
        f"{router['ack_share']:.4f} of the flits are acks"
    )


def _print_switch(record: dict[str, Any]) -> None:
    """Print what was measured of a switch."""
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
    """Return the clock of a record as synthesis of the whole switch, or of a router, finds it."""
    from fred_hw.mesh.spec import MeshSpec
    from gen.clock import CLOCK_NS, ROUTER_CLOCK_HZ
    from synth.synthesis import from_mesh, from_spec, synthesize

    of_mesh = isinstance(spec, MeshSpec)
    target_ns = 1e9 / ROUTER_CLOCK_HZ if of_mesh else CLOCK_NS
    with steps(f"synthesizing {spec.name}") as step:
        source = from_mesh(spec, label) if of_mesh else from_spec(spec, "switch", label)
        result = synthesize(
            source, libraries, clock_ns=target_ns, effort=effort, sizing=sizing, progress=step
        )
    if not result.timing.clock_ns:
        raise InputError(libraries.label, "timing", "must give paths a delay, not 0 ns to all")
    return {"hz": 1e9 / result.timing.clock_ns, "source": result.provenance}
