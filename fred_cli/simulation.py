"""Commands that co-simulate: sim, characterize."""

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from fred_hw.errors import InputError

from .arguments import level_option, read_spec, seed_option, set_option, spec_argument
from .output import as_json_option, check_folder, checked, progress, say_json, table, write_json

__all__ = ["COMMANDS", "load_testbench"]

_BENCHES = {
    "interconnect": ("testbench.benches.tb_interconnect",),
    "switch": (
        "testbench.benches.tb_switch",
        "testbench.benches.tb_switch_link",
        "testbench.benches.tb_switch_measures",
    ),
}
_LATENCY = {"interconnect": "latency_cycles", "switch": "switch_latency_cycles"}


@click.command()
@spec_argument
@set_option
@click.option(
    "--sim",
    "simulator",
    type=click.Choice(["verilator", "icarus", "both"]),
    default="verilator",
    show_default=True,
)
@seed_option
@level_option
@click.option("--waves", is_flag=True, help="Record waves: FST with Icarus, VCD with Verilator.")
@click.option("--test", "tests", multiple=True, metavar="NAME", help="Run only this test.")
@click.option("-o", "--output", "folder", type=Path, help="Folder for logs and results.")
@as_json_option
def sim(
    spec_source: str,
    changes: tuple[str, ...],
    simulator: str,
    seed: int | None,
    level: str,
    waves: bool,
    tests: tuple[str, ...],
    folder: Path | None,
    as_json: bool,
) -> int:
    """Co-simulate SPEC against the golden model; exit status 1 if a test fails."""
    spec = read_spec(spec_source, changes)
    _check_tests(tests, _BENCHES[level])
    if folder is not None:
        check_folder(folder)
    cosimulation, runner = load_testbench()
    chosen: int = cosimulation.fresh_seed() if seed is None else seed
    cosimulate = cosimulation.cosimulate
    work = folder or Path("build") / "sim-results" / spec.name
    if level == "switch":
        from testbench.cosimulation.switch import cosimulate_switch as cosimulate

        work = folder or work / "switch"
    names = runner.SIMULATORS if simulator == "both" else (simulator,)
    results = []
    for name in names:
        with _simulating(), checked("--seed"), progress(f"{spec.name} in {name}, seed {chosen}"):
            results.append(
                cosimulate(spec, work / name, simulator=name, seed=chosen, waves=waves, tests=tests)
            )
    failures = sum(len(result.failures) for result in results)
    if as_json:
        first = results[0]
        say_json(
            {
                "name": spec.name,
                "level": level,
                "simulator": simulator,
                "tests": len(first.tests),
                "failures": failures,
                "latency_cycles": first.measurements.get(_LATENCY[level]),
                "throughput_flits_per_cycle": first.measurements.get("throughput_flits_per_cycle"),
                "seed": chosen,
                "runs": [result.to_dict() for result in results],
            }
        )
        return int(failures > 0)
    for result in results:
        rows = [
            (
                test.name,
                "passed" if test.passed else f"FAILED: {test.message}",
                f"{test.wall_s:.2f}",
            )
            for test in result.tests
        ]
        table(f"{result.simulator} {result.version}, seed {chosen}", ("test", "outcome", "s"), rows)
        for key, value in result.measurements.items():
            print(f"  {key}: {value}")
        print(f"  results: {result.results_xml}" + (f"\n  waves: {result.waves}" if waves else ""))
    print(f"{failures} failures" if failures else "all tests passed")
    return int(failures > 0)


@click.command()
@spec_argument
@set_option
@click.option(
    "--sim",
    "simulator",
    type=click.Choice(["verilator", "icarus", "both"]),
    default="icarus",
    show_default=True,
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of all stimulus.")
@click.option("--lanes", type=int, help="Lanes to co-simulate; cycle counts do not depend on it.")
@click.option("-o", "--output", "path", type=Path, help="File for the record.")
@as_json_option
def characterize(
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
    _, runner = load_testbench()
    from testbench.characterize import characterize as measure

    names = runner.SIMULATORS if simulator == "both" else (simulator,)
    work = Path("build") / "characterize" / spec.name
    with _simulating(), checked("--seed"), progress(f"characterizing {spec.name}"):
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


def _check_tests(names: tuple[str, ...], modules: tuple[str, ...]) -> None:
    """Refuse names of tests that benches lack; they can only be imported inside a simulator."""
    known: list[str] = []
    for module in modules:
        bench = find_spec(module)
        assert bench is not None and bench.origin is not None
        tree = ast.parse(Path(bench.origin).read_text(encoding="utf-8"))
        known += [
            node.name
            for node in tree.body
            if isinstance(node, ast.AsyncFunctionDef) and node.decorator_list
        ]
    for name in names:
        if name not in known:
            raise InputError("--test", "", f"must be one of {', '.join(known)}, not {name!r}")


def load_testbench() -> tuple[Any, Any]:
    """Import the co-simulation, which an installation may lack, and its runner.

    Raises
    ------
    InputError
        It is not installed.
    """
    try:
        from testbench.cosimulation import interconnect as cosimulation
        from testbench.sim import runner
    except ImportError as error:
        message = f"must be installed for co-simulation: pip install 'fred-hw[sim]' ({error})"
        raise InputError("cocotb", "", message) from None
    import logging

    logging.getLogger("Verilator").setLevel(logging.ERROR)
    logging.getLogger("Icarus").setLevel(logging.ERROR)
    return cosimulation, runner


@contextmanager
def _simulating() -> Iterator[None]:
    """Turn a simulator that is missing or fails into an error line."""
    from testbench.sim.runner import SimulatorError

    try:
        yield
    except SimulatorError as error:
        raise InputError("--sim", "", str(error)) from None


COMMANDS = (sim, characterize)
