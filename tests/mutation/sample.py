"""Change one operator, number or condition at a time, and see whether a test fails.

The changes are those of cosmic-ray's operators; which ones are tried is drawn with a seed, so that
a sample can be repeated. Work is done in a copy of the repository. A mutant is tried on the tests
of its module first, then on those of its folder, and on others that import it.
`make source-mutants` records a run, and docs/explanation/evidence.md is made from the record.
"""

import ast
import difflib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from rich.console import Console
from rich.table import Table

from testbench.evidence.equivalent import outcome
from testbench.evidence.summary import source_scores

from .option import record_option

__all__ = [
    "AREAS",
    "ROOT",
    "Mutant",
    "attempt",
    "copied",
    "draw",
    "files",
    "main",
    "places",
    "stages",
    "tried",
]

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

_UNUSED = (
    # Their mutants are mostly names that do not exist, which any import shows.
    *("RemoveDecorator", "VariableInserter", "VariableReplacer", "ExceptionReplacer"),
    # There is one None, and whether equal numbers are one object is up to the interpreter.
    *("Operator_Is_Eq", "Operator_IsNot_NotEq", "Operator_Eq_Is", "Operator_NotEq_IsNot"),
)
"""Ends of names of operators that are not used."""

_DECLARING = ("dataclass", "lru_cache", "cache")
"""Decorators without behaviour: the type checker finds writes to frozen data classes."""


_PYTEST = (sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider")

_OUTPUTS = (".git", ".venv", "build", "__pycache__", ".*_cache", ".hypothesis", "*.egg-info")
"""What is neither source nor test."""


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


Span = tuple[tuple[int, int], tuple[int, int]]
"""Line and column of the first character, and of the one after the last."""


def _unseen(source: str) -> list[Span]:
    """Return the parts that hold no behaviour: tests cannot notice a change of them.

    These are annotations, decorators that declare a data class or the size of a cache, conditions
    on type checking, and the check of ``zip`` that its arguments have one length.
    """
    found: list[ast.expr | None] = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.AnnAssign() | ast.arg():
                found.append(node.annotation)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found += [one for one in node.decorator_list if _name(one) in _DECLARING]
                found.append(None if isinstance(node, ast.ClassDef) else node.returns)
            case ast.If() if _name(node.test) == "TYPE_CHECKING":
                found.append(node.test)
            case ast.Call() if _name(node) == "zip":
                found += [one.value for one in node.keywords if one.arg == "strict"]
            case _:
                pass
    return [
        ((one.lineno, one.col_offset), (one.end_lineno or 0, one.end_col_offset or 0))
        for one in found
        if one is not None
    ]


def _name(node: ast.expr) -> str:
    """Return the last part of the name of an object, or of the function that is called."""
    return ast.unparse(node.func if isinstance(node, ast.Call) else node).rpartition(".")[2]


def places(area: str, path: str, source: str) -> Iterator[Mutant]:
    """Yield all mutants of the parts of a file that hold behaviour."""
    unseen = _unseen(source)
    nodes = list(ast_nodes(get_ast(source)))
    # The lone ``*`` in a list of parameters is no operator: the type checker finds wrong calls.
    unseen += [(one.start_pos, one.end_pos) for one in nodes if _is_separator(one)]
    for name in operator_names():
        if name.endswith(_UNUSED):
            continue
        operator = get_operator(name)()
        spots = (spot for node in nodes for spot in operator.mutation_positions(node))
        for occurrence, (begin, end) in enumerate(spots):
            if not any(first <= begin and end <= last for first, last in unseen):
                yield Mutant(area, path, name, occurrence, begin[0])


def _is_separator(node: Any) -> bool:
    """Return whether a node of parso separates parameters of different kinds."""
    return node.type == "operator" and node.parent.type == "parameters"


def files(root: Path, areas: Iterable[str] = tuple(AREAS)) -> Iterator[tuple[str, str]]:
    """Yield area and path of each file of some areas, in order."""
    for area in areas:
        folder = AREAS[area]
        inner = [root / other for other in AREAS.values() if other.startswith(f"{folder}/")]
        for file in sorted((root / folder).rglob("*.py")):
            if not any(file.is_relative_to(other) for other in inner):
                yield area, file.relative_to(root).as_posix()


def draw(
    root: Path, count: int, seed: int, among: Iterable[tuple[str, str]] | None = None
) -> list[Mutant]:
    """Return a sample: areas in turn, any line of an area, any mutant of the line.

    Parameters
    ----------
    root : Path
        The repository.
    count, seed : int
        Mutants, 1 or more; seed of the sample.
    among : iterable of (str, str), optional
        Area and path of the files; all by default.
    """
    rng = random.Random(seed)
    lines: dict[str, dict[tuple[str, int], list[Mutant]]] = {}
    for area, path in files(root) if among is None else among:
        for mutant in places(area, path, (root / path).read_text(encoding="utf-8")):
            lines.setdefault(area, {}).setdefault((path, mutant.line), []).append(mutant)
    order = {area: rng.sample(sorted(of), len(of)) for area, of in lines.items()}
    chosen: list[Mutant] = []
    while len(chosen) < count and any(order.values()):
        for area, left in order.items():
            if left and len(chosen) < count:
                chosen.append(rng.choice(lines[area][left.pop()]))
    return chosen


@contextmanager
def copied(root: Path) -> Iterator[Path]:
    """Provide a copy of the sources and tests of a repository, and remove it at the end."""
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(root, tree, symlinks=True, ignore=shutil.ignore_patterns(*_OUTPUTS))
        yield tree


def stages(root: Path, path: str) -> Iterator[list[str]]:
    """Yield pytest's arguments, the nearest tests of a module first.

    These are the tests of the module, those of its folder, and those of other folders that import
    it, except the slow ones. A module without tests of its own has those of its package, too.

    Parameters
    ----------
    root : Path
        The repository.
    path : str
        File of the module.
    """
    module = Path(path)
    file = Path("tests") / module.parent / f"test_{module.stem}.py"
    folder = file.parent
    while not (root / folder).is_dir():
        folder = folder.parent
    own = (root / file).is_file()
    if own:
        yield [str(file)]
    yield [str(folder), "-m", "not slow"]
    name = re.compile(rf"\b{re.escape('.'.join(module.with_suffix('').parts))}(?![\w.])")
    others = [
        str(test.relative_to(root))
        for test in sorted((root / "tests").rglob("test_*.py"))
        if not test.is_relative_to(root / folder) and name.search(test.read_text(encoding="utf-8"))
    ]
    if not own and folder.parent.name not in ("", "tests"):
        others = [str(folder.parent), *others]
    if others:
        yield [*others, "-m", "not slow"]


def attempt(tree: Path, mutant: Mutant, steps: Iterable[list[str]], limit_s: int) -> dict[str, Any]:
    """Return a mutant's fields, its ``outcome``, the tests that it fails ``by``, ``difference``.

    Parameters
    ----------
    tree : Path
        Copy of the repository; the mutant is taken back at the end.
    mutant : Mutant
        The mutant.
    steps, limit_s : iterable of list of str, int
        As in :func:`tried`.
    """
    file = tree / mutant.path
    source = file.read_text(encoding="utf-8")
    changed = mutate_code(source, get_operator(mutant.operator)(), mutant.occurrence)
    if changed is None:
        raise RuntimeError(f"{mutant}: no such place")
    lines = difflib.unified_diff(source.splitlines(True), changed.splitlines(True), n=0)
    difference = "".join(lines).split("\n", 2)[2]
    file.write_text(changed, encoding="utf-8")
    try:
        became, by = tried(tree, steps, limit_s)
    finally:
        file.write_text(source, encoding="utf-8")
    return {**asdict(mutant), "outcome": became, "by": by, "difference": difference}


def tried(tree: Path, steps: Iterable[list[str]], limit_s: int) -> tuple[str, str]:
    """Return whether a copy is "killed", "hung" or "survived", and the arguments of the tests.

    Parameters
    ----------
    tree : Path
        Copy of the repository.
    steps : iterable of list of str
        Arguments of pytest, for one run after the other.
    limit_s : int
        Time for a test [s].
    """
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    for step in steps:
        # A test that hangs ends the process, also within a call of compiled code.
        limits = [f"--timeout={limit_s}", "--timeout-method=thread"]
        try:
            ran = subprocess.run(
                [*_PYTEST, *limits, *step],
                cwd=tree,
                env=environment,
                capture_output=True,
                timeout=10 * limit_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "hung", " ".join(step)
        if ran.returncode not in (0, 5):  # 5: no test was collected
            return "killed", " ".join(step)
    return "survived", ""


@click.command()
@click.option("--mutants", type=click.IntRange(1), default=40, help="How many are drawn.")
@click.option("--seed", type=int, default=1, help="Seed of the sample.")
@click.option(
    "--area", type=click.Choice(list(AREAS)), multiple=True, help="Draw of it; all areas."
)
@click.option("--limit", type=click.IntRange(1), default=600, help="Seconds for a test.")
@record_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON alone.")
def main(
    mutants: int,
    seed: int,
    area: tuple[str, ...],
    limit: int,
    record: Path | None,
    as_json: bool,
) -> None:
    """Print which mutants no test near their module notices; exit status 1 if there is one."""
    begin, console = time.perf_counter(), Console(stderr=True)
    sample = draw(ROOT, mutants, seed, files(ROOT, area or AREAS))
    results: list[dict[str, Any]] = []
    with copied(ROOT) as tree:
        for number, mutant in enumerate(sample, start=1):
            steps = stages(tree, mutant.path)
            result = attempt(tree, mutant, steps, limit)
            results.append(result)
            place = f"{mutant.path}:{mutant.line}"
            console.print(f"{number}/{len(sample)} {result['outcome']} {place}", style="dim")
    if record:
        found = {
            "date": datetime.now(UTC).date().isoformat(),
            "version": version("fred-hw"),
            "tools": {"cosmic-ray": version("cosmic-ray")},
            "seed": seed,
            "seconds": round(time.perf_counter() - begin, 1),
            "mutants": [{key: one[key] for key in one if key != "by"} for one in results],
        }
        record.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if as_json:
        click.echo(json.dumps({"seed": seed, "mutants": results}))
    else:
        report(results)
    sys.exit(any(outcome(one) == "survived" for one in results))


def report(results: list[dict[str, Any]]) -> None:
    """Print the scores and the survivors."""
    console, found = Console(), {"mutants": results}
    table = Table("area", "mutants", "killed", "judged equivalent", "survived", "score")
    for score in source_scores(found):
        table.add_row(*map(str, score))
    console.print(table)
    for one in results:
        if outcome(one) == "survived":
            console.print(
                f"{one['path']}:{one['line']}", one["operator"], one["difference"], sep="\n"
            )


if __name__ == "__main__":
    main()
