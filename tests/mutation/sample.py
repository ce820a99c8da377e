r"""Change one operator, number or condition at a time, and see whether a test fails.

The changes are those of cosmic-ray's operators; which ones are tried is drawn with a seed, so that
a sample can be repeated. Work is done in a copy of the repository. A mutant is tried on the tests
of its module first, then on those of its folder, then on all of the edit loop.
docs/explanation/evidence.md is made from the record of a run:

    python tests/mutation/sample.py --seed 2 --mutants 24 --near \
        --record testbench/evidence/records/source-mutants.json
"""

import ast
import difflib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import click
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from rich.console import Console
from rich.table import Table

__all__ = ["Mutant", "draw", "main", "places", "stages"]

ROOT = Path(__file__).resolve().parents[2]

AREAS = {
    "hardware": "fred_hw",
    "compiler": "fred_hw/compiler",
    "generator": "gen",
    "model": "perfmodel",
    "traces": "tracemodel",
    "clusters": "clustermodel",
    "studies": "studies",
    "synthesis": "synth",
}
"""Folders; a file is of the innermost. Benches are held by broken hardware, pages by tests."""

_UNUSED = ("RemoveDecorator", "VariableInserter", "VariableReplacer", "ExceptionReplacer")
"""Operators whose mutants are mostly names that do not exist, which any import shows."""


@dataclass(frozen=True)
class Mutant:
    """One change of one file.

    Parameters
    ----------
    area, path : str
        Part of the product, file in the repository.
    operator : str
        Operator of cosmic-ray.
    occurrence, line : int
        Which of its places in the file, and the line of that.
    """

    area: str
    path: str
    operator: str
    occurrence: int
    line: int


def _unseen(source: str) -> set[int]:
    """Return the lines with type annotations, which hold no behaviour."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        held: ast.expr | None = None
        if isinstance(node, ast.AnnAssign | ast.arg):
            held = node.annotation
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            held = node.returns
        if held is not None:
            lines |= set(range(held.lineno, (held.end_lineno or held.lineno) + 1))
    return lines


def places(area: str, path: str, source: str) -> Iterator[Mutant]:
    """Yield all mutants of a file whose lines hold behaviour."""
    unseen = _unseen(source)
    nodes = list(ast_nodes(get_ast(source)))
    for name in operator_names():
        if any(unused in name for unused in _UNUSED):
            continue
        operator = get_operator(name)()
        spots = (spot for node in nodes for spot in operator.mutation_positions(node))
        for occurrence, ((line, _), _) in enumerate(spots):
            if line not in unseen:
                yield Mutant(area, path, name, occurrence, line)


def draw(root: Path, count: int, seed: int) -> list[Mutant]:
    """Return a sample: areas in turn, any line of an area, any mutant of the line.

    Parameters
    ----------
    root : Path
        The repository.
    count, seed : int
        Mutants, 1 or more; seed of the sample.
    """
    rng = random.Random(seed)
    lines: dict[str, dict[tuple[str, int], list[Mutant]]] = {area: {} for area in AREAS}
    for area, folder in AREAS.items():
        inner = [root / other for other in AREAS.values() if other.startswith(f"{folder}/")]
        for file in sorted((root / folder).rglob("*.py")):
            if any(file.is_relative_to(other) for other in inner):
                continue
            path = file.relative_to(root).as_posix()
            for mutant in places(area, path, file.read_text()):
                lines[area].setdefault((path, mutant.line), []).append(mutant)
    order = {area: rng.sample(sorted(of), len(of)) for area, of in lines.items()}
    chosen: list[Mutant] = []
    while len(chosen) < count and any(order.values()):
        for area, left in order.items():
            if left and len(chosen) < count:
                chosen.append(rng.choice(lines[area][left.pop()]))
    return chosen


def stages(root: Path, path: str) -> list[list[str]]:
    """Return pytest's arguments: the module's tests, then the folder's, then the edit loop's."""
    module = Path(path)
    file = Path("tests") / module.parent / f"test_{module.stem}.py"
    folder = file.parent
    while not (root / folder).is_dir():
        folder = folder.parent
    found = [[str(file)]] if (root / file).is_file() else []
    return [*found, [str(folder), "-m", "not slow"], ["-n", "2", "-m", "not slow"]]


def attempt(
    tree: Path, mutant: Mutant, limit_s: int, *, near: bool = False
) -> tuple[str, str, str]:
    """Return what became of a mutant ("killed", "hung" or "survived"), where, and the change."""
    file = tree / mutant.path
    source = file.read_text()
    changed = mutate_code(source, get_operator(mutant.operator)(), mutant.occurrence)
    if changed is None:
        raise RuntimeError(f"{mutant}: no such place")
    difference = "".join(
        difflib.unified_diff(source.splitlines(True), changed.splitlines(True), n=0)
    ).split("\n", 2)[2]
    file.write_text(changed)
    try:
        for stage in stages(tree, mutant.path)[: -1 if near else None]:
            command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *stage]
            environment = {**os.environ, "PYTHONPATH": str(tree)}
            try:
                ran = subprocess.run(
                    command,
                    cwd=tree,
                    env=environment,
                    capture_output=True,
                    timeout=limit_s,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return "hung", " ".join(stage), difference
            if ran.returncode not in (0, 5):  # 5: no test was collected
                return "killed", " ".join(stage), difference
    finally:
        file.write_text(source)
    return "survived", "", difference


@click.command()
@click.option("--mutants", type=click.IntRange(1), default=110, help="How many are drawn.")
@click.option("--seed", type=int, default=1, help="Seed of the sample.")
@click.option("--limit", type=click.IntRange(1), default=600, help="Seconds for a step of tests.")
@click.option("--near", is_flag=True, help="Run tests of the module and of its folder alone.")
@click.option("--record", type=click.Path(path_type=Path), help="File for the results.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON alone.")
def main(
    mutants: int, seed: int, limit: int, near: bool, record: Path | None, as_json: bool
) -> None:
    """Print which mutants no test of the edit loop notices; exit status 1 if there is one."""
    begin, console = time.perf_counter(), Console(stderr=True)
    sample = draw(ROOT, mutants, seed)
    results: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        tree = Path(folder) / "tree"
        names = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.split("\0")
        for name in filter(None, names):
            if (ROOT / name).is_file():
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, tree / name)
        for number, mutant in enumerate(sample, start=1):
            outcome, where, difference = attempt(tree, mutant, limit, near=near)
            results.append(
                {**asdict(mutant), "outcome": outcome, "by": where, "difference": difference}
            )
            console.print(
                f"{number}/{len(sample)} {outcome} {mutant.path}:{mutant.line}", style="dim"
            )
    if record:
        found = {
            "date": datetime.now(UTC).date().isoformat(),
            "version": version("fred-hw"),
            "tools": {"cosmic-ray": version("cosmic-ray")},
            "seed": seed,
            "near": near,
            "seconds": round(time.perf_counter() - begin, 1),
            "mutants": [{key: one[key] for key in one if key != "by"} for one in results],
        }
        record.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if as_json:
        click.echo(json.dumps({"seed": seed, "mutants": results}))
    else:
        report(results)
    sys.exit(any(one["outcome"] == "survived" for one in results))


def report(results: list[dict[str, object]]) -> None:
    """Print the shares and the survivors."""
    console = Console()
    counts = Counter((one["area"], one["outcome"]) for one in results)
    table = Table("area", "mutants", "killed", "hung", "survived", "killed %")
    for area in [*AREAS, "all"]:
        killed, hung, survived = (
            sum(
                n
                for (where, what), n in counts.items()
                if what == outcome and area in (where, "all")
            )
            for outcome in ("killed", "hung", "survived")
        )
        total = killed + hung + survived
        share = f"{100 * (killed + hung) / total:.1f}" if total else ""
        table.add_row(area, str(total), str(killed), str(hung), str(survived), share)
    console.print(table)
    for one in results:
        if one["outcome"] == "survived":
            console.print(
                f"{one['path']}:{one['line']}", one["operator"], one["difference"], sep="\n"
            )


if __name__ == "__main__":
    main()
