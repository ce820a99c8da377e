"""Commands of the switch: gen, route, sim, characterize, presets."""

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from fred_hw.errors import InputError

from .output import (
    as_json_option,
    check_folder,
    checked,
    plain,
    progress,
    say_json,
    table,
    write_json,
)

__all__ = ["COMMANDS", "load_testbench"]

spec_argument = click.argument("spec_source", metavar="SPEC")
set_option = click.option(
    "--set", "changes", multiple=True, metavar="KEY=VALUE", help="Change a field of SPEC."
)
seed_option = click.option("--seed", type=int, help="Seed of all stimulus; random by default.")


def read_spec(source: str, changes: tuple[str, ...]) -> Any:
    """Return the specification named on the command line, with its ``--set`` changes."""
    from fred_hw.load import load_spec, parse_change

    return load_spec(source, dict(parse_change(change) for change in changes))


@click.command()
@as_json_option
def presets(as_json: bool) -> None:
    """List the specifications that come with the package."""
    from fred_hw.load import PRESETS, load_spec, preset_summary

    rows = [(name, load_spec(name).name, preset_summary(name)) for name in PRESETS]
    if as_json:
        say_json({"presets": [dict(zip(("preset", "name", "for"), r, strict=True)) for r in rows]})
        return
    table("Presets", ("preset", "name", "for"), rows)


@click.command()
@spec_argument
@set_option
@click.option("-o", "--output", "folder", required=True, type=Path, help="Folder to write to.")
@as_json_option
def gen(spec_source: str, changes: tuple[str, ...], folder: Path, as_json: bool) -> None:
    """Write Verilog, manifest, FuseSoC core, timing constraints and lint waivers of SPEC.

    SPEC is a YAML file or a preset.
    """
    from gen.design import generate
    from gen.write import write_files

    design = generate(read_spec(spec_source, changes))
    paths = write_files(design.files(), folder)
    report = {
        "name": design.name,
        "files": [str(path) for path in paths],
        "modules": design.modules,
        "verilog_bytes": design.manifest["verilog_bytes"],
        "latency_cycles": design.latency_cycles,
        "microswitches": design.microswitches,
    }
    if as_json:
        say_json(report)
        return
    print(
        f"{design.name}: {len(design.modules)} modules, {report['verilog_bytes']:,} bytes, "
        f"latency {design.latency_cycles} cycles"
    )
    kinds = {"R", "D", "RD", *(kind for kind, n in design.microswitches.items() if n)}
    print("; ".join(f"{n} {kind}" for kind, n in design.microswitches.items() if kind in kinds))
    for path in paths:
        print(f"  {path}")


@click.command()
@spec_argument
@click.argument("flows_file", metavar="[FLOWS]", required=False, type=Path)
@set_option
@click.option("--strategy", help="Route all phases of a strategy like MP2-DP5-PP2 instead.")
@click.option("--effort", type=int, help="Bound on the exact search, in solver conflicts.")
@click.option("--draw", "picture", type=Path, metavar="FILE", help="Draw routed FLOWS as SVG.")
@as_json_option
def route(
    spec_source: str,
    flows_file: Path | None,
    changes: tuple[str, ...],
    strategy: str | None,
    effort: int | None,
    picture: Path | None,
    as_json: bool,
) -> int:
    """Route FLOWS, a YAML or JSON list of {inputs, outputs}, on SPEC.

    Exit status 3 if they conflict, 4 if the effort ended before that was known.
    """
    from fred_hw.compiler.flows import read_flows
    from fred_hw.compiler.placement import Strategy, phases
    from fred_hw.compiler.routing import EFFORT
    from fred_hw.compiler.routing import route as route_flows

    spec = read_spec(spec_source, changes)
    if (flows_file is None) == (strategy is None):
        raise InputError("route", "FLOWS", "must be a file, or --strategy given, but not both")
    if picture is not None and strategy is not None:
        raise InputError("route", "--draw", "must be given with FLOWS, not with --strategy")
    if strategy is not None:
        with checked("--strategy"):
            sets = phases(Strategy.parse(strategy), ports=spec.ports)
    else:
        assert flows_file is not None
        sets = {"flows": read_flows(flows_file, spec.ports)}
    # A strategy of one worker has no phases, so nothing that could clash.
    nothing = _routing_report(route_flows((), spec.ports, spec.middle))
    with checked("--effort"):
        results = {
            name: route_flows(
                flows, spec.ports, spec.middle, effort=EFFORT if effort is None else effort
            )
            for name, flows in sets.items()
        }
    if picture is not None:
        _draw(results["flows"], picture)
    statuses = {result.status for result in results.values()}
    reports = {name: _routing_report(result) for name, result in results.items()}
    if as_json:
        first = next(iter(reports.values()), nothing)
        worst = next((r for r in reports.values() if not r["routed"]), first)
        say_json({**worst, "phases": reports} if strategy else worst)
    else:
        for name, report in reports.items():
            print(f"{name}: {_routing_text(report)}")
        if not reports:
            print("nothing to route: the strategy has one worker")
    return 3 if "conflict" in statuses else 4 if "unknown" in statuses else 0


def _draw(result: Any, path: Path) -> None:
    """Write the routed flows as SVG; a conflict draws nothing."""
    from gen.write import write_files

    from .drawing import draw_interconnect

    if path.is_dir():
        raise InputError(str(path), "", "must be a file, not a directory")
    if result.configuration is not None:
        svg = draw_interconnect(result.configuration, result.flows)
        write_files({path.name: svg + "\n"}, path.parent)


def _routing_report(result: Any) -> dict[str, Any]:
    configuration = result.configuration
    return {
        "routed": result.status == "routed",
        "status": result.status,
        "flows": [flow.to_dict() for flow in result.flows],
        "paths": plain(result.paths),
        "conflict": [
            {"index": index, **result.flows[index].to_dict()} for index in result.conflict
        ],
        "conflict_is_smallest": result.smallest if result.conflict else None,
        "configuration": None
        if configuration is None
        else {"word": f"{configuration.pack():#x}", **configuration.to_dict()},
    }


def _routing_text(report: dict[str, Any]) -> str:
    if report["routed"]:
        return f"routed, {len(report['flows'])} flows, word {report['configuration']['word']}"
    if report["status"] == "unknown":
        return "unknown: the effort ended before a routing or a conflict was found"
    flows = "; ".join(
        f"{flow['index']}: {flow['inputs']} -> {flow['outputs']}" for flow in report["conflict"]
    )
    kind = "smallest" if report["conflict_is_smallest"] else "irreducible"
    return f"conflict; {kind} set that clashes: {flows}"


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
@click.option("--waves", is_flag=True, help="Record waves: FST with Icarus, VCD with Verilator.")
@click.option("--test", "tests", multiple=True, metavar="NAME", help="Run only this test.")
@click.option("-o", "--output", "folder", type=Path, help="Folder for logs and results.")
@as_json_option
def sim(
    spec_source: str,
    changes: tuple[str, ...],
    simulator: str,
    seed: int | None,
    waves: bool,
    tests: tuple[str, ...],
    folder: Path | None,
    as_json: bool,
) -> int:
    """Co-simulate SPEC against the golden model; exit status 1 if a test fails."""
    spec = read_spec(spec_source, changes)
    _check_tests(tests)
    if folder is not None:
        check_folder(folder)
    cosimulation, runner = load_testbench()
    seed = cosimulation.fresh_seed() if seed is None else seed
    work = folder or Path("build") / "sim-results" / spec.name
    names = runner.SIMULATORS if simulator == "both" else (simulator,)
    results = []
    for name in names:
        with _simulating(), checked("--seed"), progress(f"{spec.name} in {name}, seed {seed}"):
            results.append(
                cosimulation.cosimulate(
                    spec, work / name, simulator=name, seed=seed, waves=waves, tests=tests
                )
            )
    failures = sum(len(result.failures) for result in results)
    if as_json:
        first = results[0]
        say_json(
            {
                "name": spec.name,
                "simulator": simulator,
                "tests": len(first.tests),
                "failures": failures,
                "latency_cycles": first.measurements.get("latency_cycles"),
                "throughput_flits_per_cycle": first.measurements.get("throughput_flits_per_cycle"),
                "seed": seed,
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
        table(f"{result.simulator} {result.version}, seed {seed}", ("test", "outcome", "s"), rows)
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
    print(f"clock {clock['hz'] / 1e9:.6f} GHz, {clock['source']}")
    print(f"{record['flits_checked']} flits checked, seed {seed}")
    if path is not None:
        print(f"  {path}")


def _check_tests(names: tuple[str, ...]) -> None:
    """Refuse names of tests that the bench lacks; it can only be imported inside a simulator."""
    bench = find_spec("testbench.tb_interconnect")
    assert bench is not None and bench.origin is not None
    tree = ast.parse(Path(bench.origin).read_text(encoding="utf-8"))
    known = [
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
        from testbench import cosimulation, runner
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
    from testbench.runner import SimulatorError

    try:
        yield
    except SimulatorError as error:
        raise InputError("--sim", "", str(error)) from None


COMMANDS = (presets, gen, route, sim, characterize)
