"""Command `fred sim`."""

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from fred_cli.cell_options import liberty_option
from fred_cli.command import Command
from fred_cli.cosimulation import (
    REGRESSIONS,
    check_tests,
    load_testbench,
    simulating,
    tests_begun_last,
)
from fred_cli.names import names_in, test_name
from fred_cli.options import (
    ListingOption,
    NameOrFile,
    OutputPath,
    as_json_option,
    level_option,
    only_option,
    read_pruned,
    refuse_given,
    seed_option,
    set_option,
    simulator_option,
    spec_argument,
)
from fred_cli.output import print_json, table
from fred_cli.progress import progress

__all__ = ["command"]


def _waves() -> str:
    from testbench.sim.simulator import SIMULATORS

    formats = [f"{SIMULATORS[name].waves.upper()} with {name.title()}" for name in SIMULATORS]
    return f"Record waves: {', '.join(sorted(formats))}."


@click.command("sim", cls=Command, example="fred sim small-4 --sim icarus --seed 1")
@spec_argument
@set_option
@simulator_option
@seed_option
@level_option(lambda: REGRESSIONS)
@click.option(
    "--netlist",
    type=NameOrFile(names_in("fred_cli.netlists", "NETLISTS")),
    metavar="NETLIST",
    help="Simulate a netlist as well, and compare its outputs cycle by cycle: generic, of Yosys' "
    "own gates; mapped, of cells of --liberty; or a Verilog file of such cells.",
)
@liberty_option()
@click.option("--waves", is_flag=True, cls=ListingOption, listing=_waves)
@click.option(
    "--test", "tests", multiple=True, metavar="NAME", type=test_name, help="Run only this test."
)
@click.option(
    "-o", "--output", "folder", type=OutputPath(folder=True), help="Folder for logs and results."
)
@only_option
@as_json_option
def command(
    spec_source: str,
    changes: tuple[str, ...],
    simulator: str,
    seed: int,
    level: str,
    netlist: str | None,
    liberty: tuple[Path, ...],
    waves: bool,
    tests: tuple[str, ...],
    folder: Path | None,
    needs: Path | None,
    as_json: bool,
) -> int:
    """Co-simulate SPEC against the golden model; exit status 1 if a test fails."""
    from fred_cli.netlists import netlist_maker
    from gen.write import check_folder

    spec = read_pruned(spec_source, changes, needs, level)
    check_tests(tests, "pruned" if getattr(spec, "only", None) else level)
    if netlist is None:
        refuse_given("liberty", message="must be given with --netlist, and only with it")
    synthesize = netlist and netlist_maker(netlist, liberty, spec_source)
    names, regression = load_testbench(simulator), REGRESSIONS[level]
    from testbench.cosimulation.compared import compare_with_rtl

    work = folder or Path("build/sim-results", spec.name, "" if level == "interconnect" else level)
    for name in names:
        check_folder(work / name)
    run = regression.run
    if synthesize:
        run = partial(compare_with_rtl, regression.run, synthesize=synthesize)
    found = []
    for name in names:
        title = f"{spec.name} in {name}, seed {seed}"
        logs = [work / name / inner / "simulation.log" for inner in ("", "rtl", "netlist")]
        begun = partial(tests_begun_last, logs, time.time())
        with simulating(), progress(title, begun):
            options = {"simulator": name, "seed": seed, "waves": waves, "tests": tests}
            found.append(run(spec, work / name, **options))
    compared = found if synthesize else []
    results = [one for both in compared for one in (both.rtl, both.netlist)] or found
    failures = sum(len(result.failures) for result in results)
    failures += sum(bool(one.difference) for one in compared)
    if as_json:
        said = {"name": spec.name, "level": level, "simulator": simulator, "seed": seed}
        print_json(said | {"failures": failures} | _said(results, compared, regression.latency))
        return int(failures > 0)
    _report(results, compared, seed, waves)
    print(f"{failures} failures" if failures else "all tests passed")
    return int(failures > 0)


def _said(results: Sequence[Any], compared: Sequence[Any], latency: str) -> dict[str, Any]:
    """Return all results, and how netlists compare with the RTL, as JSON values."""
    first = results[0]
    return {
        "tests": len(first.tests),
        "latency_cycles": first.measurements.get(latency),
        "throughput_flits_per_cycle": first.measurements.get("throughput_flits_per_cycle"),
        "runs": [result.to_dict() for result in results],
        **({"netlists": [one.to_dict() for one in compared]} if compared else {}),
    }


def _report(results: Sequence[Any], compared: Sequence[Any], seed: int, waves: bool) -> None:
    """Print all results, and how netlists compare with the RTL."""
    for result in results:
        _print(result, seed, waves)
    for one in compared:
        where = f"in {one.netlist.simulator}, {one.changes:,} values"
        print(f"  netlist and RTL {where}: {one.difference or 'outputs are equal'}")


def _print(result: Any, seed: int, waves: bool) -> None:
    """Print the test results of one simulator, and the figures that the tests reported."""
    from perfmodel.figures import figures_of

    rows = [
        (test.name, "passed" if test.passed else f"FAILED: {test.message}", f"{test.wall_s:.2f}")
        for test in result.tests
    ]
    table(f"{result.simulator} {result.version}, seed {seed}", ("test", "outcome", "s"), rows)
    measured: list[tuple[str, ...]] = []
    for key, figure in result.figures.items():
        meaning = figure["meaning"]
        for name, value in figures_of(key, result.measurements[key]):
            shown = f"{value:.6g}" if isinstance(value, float) else str(value)
            measured.append((name, shown, figure["unit"], meaning))
            meaning = ""  # stands once for all values of a figure
    table("measured", ("figure", "value", "unit", "meaning"), measured)
    print(f"  results: {result.results_xml}" + (f"\n  waves: {result.waves}" if waves else ""))
