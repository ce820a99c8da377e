"""`fred characterize`."""

from pathlib import Path

import click

from fred_cli.cosimulation import load_testbench, simulating
from fred_cli.options import as_json_option, read_spec, set_option, simulator_option, spec_argument
from fred_cli.output import check_folder, checked, progress, say_json, write_json
from fred_hw.errors import InputError

__all__ = ["command"]


@click.command("characterize")
@spec_argument
@set_option
@simulator_option("icarus")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of all stimulus.")
@click.option("--lanes", type=int, help="Lanes to co-simulate; cycle counts do not depend on it.")
@click.option("-o", "--output", "path", type=Path, help="File for the record.")
@as_json_option
def command(
    spec_source: str,
    changes: tuple[str, ...],
    simulator: str,
    seed: int,
    lanes: int | None,
    path: Path | None,
    as_json: bool,
) -> None:
    """Co-simulate SPEC and write its timing record, which the performance model reads."""
    from fred_hw.files import validate
    from fred_hw.spec import SwitchSpec

    spec = read_spec(spec_source, changes)
    if path is not None and path.is_dir():
        raise InputError(str(path), "", "must be a file, not a directory")
    if path is not None:
        check_folder(path.parent)
    if lanes is not None:
        validate(SwitchSpec, {**spec.model_dump(), "lanes": lanes}, "--lanes")
    _, names = load_testbench(simulator)
    from testbench.characterize import characterize as measure

    work = Path("build") / "characterize" / spec.name
    with simulating(), checked("--seed"), progress(f"characterizing {spec.name}"):
        record = measure(spec, work, simulators=names, seed=seed, lanes=lanes)
    if path is not None:
        write_json(record, path)
    if as_json:
        say_json(record)
        return
    clock = record["clock"]
    print(
        f"{record['name']}: latency {record['latency_cycles']} cycles, "
        f"{record['throughput_flits_per_cycle']} flits per cycle and port, "
        f"{record['reconfiguration_cycles']} cycles lost to a new configuration"
    )
    whole = record["switch"]
    if whole:
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
    print(f"clock {clock['hz'] / 1e9:.6f} GHz, {clock['source']}")
    print(f"{record['flits_checked']} flits checked, seed {seed}")
    if path is not None:
        print(f"  {path}")
