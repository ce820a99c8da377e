"""Tests of the mutation sample: what is drawn, and what is run for it."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

from . import netlists, sample
from .sample import Mutant, attempt, draw, places, stages

SOURCE = """
def larger(a: int | None, b: int = 2) -> int:
    return a if a > b else b
"""

TESTS = """
from gen.larger import larger

def test_of_two() -> None:
    assert larger(3, 1) == 3
    assert larger(1, 3) == 3
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for path, text in {"gen/larger.py": SOURCE, "tests/gen/test_larger.py": TESTS}.items():
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n')
    return tmp_path


@pytest.mark.parametrize(
    ("source", "changed"),
    [
        ("a: int | None = b + c", ["b - c"]),
        ("def f(a: 'x | y' = b | c) -> d | e: ...", ["b & c"]),
        ("@dataclasses.dataclass(frozen=True)\nclass A: ...", []),
        ("@lru_cache(maxsize=8)\ndef f(): ...", []),
        ("@click.option(default=True)\ndef f(): ...", ["default=False"]),
        ("if TYPE_CHECKING:\n    import a", []),
        ("if TYPE_CHECKING_OFF:\n    a", ["if not TYPE_CHECKING_OFF"]),
        ("zip(a, b, strict=True)", []),
        ("def f(a, /, *, b): ...", []),
        ("def f(*, a=2 * b): ...", ["2 / b", " 3 * b"]),
        ("check(a, strict=True)", ["strict=False"]),
        ("a is None", ["a is not None"]),
    ],
)
def test_only_parts_with_behaviour_are_changed(source: str, changed: list[str]) -> None:
    drawn = list(places("generator", "gen/larger.py", source))
    texts = [
        mutate_code(source, get_operator(one.operator)(), one.occurrence) or "" for one in drawn
    ]
    for part in changed:
        assert any(part in text for text in texts)
    assert bool(drawn) == bool(changed)
    kept = [word for word in ("int | None", "x | y", "d | e", "frozen=True") if word in source]
    assert all(word in text for word in kept for text in texts)


def test_sample_depends_on_the_seed_alone(tree: Path) -> None:
    assert draw(tree, 5, 1) == draw(tree, 5, 1)
    assert len({mutant for seed in range(20) for mutant in draw(tree, 1, seed)}) > 1


def test_every_file_of_a_package_is_of_one_area(tree: Path) -> None:
    for path in ("fred_hw/unit.py", "fred_hw/mesh/router.py", "fred_hw/compiler/flows.py"):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(SOURCE)
    found = {(mutant.area, mutant.path) for mutant in draw(tree, 10**6, 1)}
    assert found == {
        ("generator", "gen/larger.py"),
        ("hardware", "fred_hw/unit.py"),
        ("hardware", "fred_hw/mesh/router.py"),
        ("compiler", "fred_hw/compiler/flows.py"),
    }


def test_module_is_tried_before_its_folder(tree: Path) -> None:
    steps = [step[0] for step in stages(tree, "gen/larger.py")]
    assert steps == ["tests/gen/test_larger.py", "tests/gen"]


def test_tests_that_import_the_module_come_last(tree: Path) -> None:
    for path, line in {
        "tests/docs/test_page.py": "from gen.larger import larger",
        "tests/docs/test_other.py": "from gen.larger_still import larger",
    }.items():
        (tree / path).parent.mkdir(exist_ok=True)
        (tree / path).write_text(line)
    steps = [*stages(tree, "gen/larger.py")]
    assert steps[-1] == ["tests/docs/test_page.py", "-m", "not slow"]


def test_module_without_tests_has_those_of_its_package(tree: Path) -> None:
    (tree / "tests/gen/levels").mkdir()
    steps = [*stages(tree, "gen/levels/top.py")]
    assert [step[0] for step in steps] == ["tests/gen/levels", "tests/gen"]
    assert [step[0] for step in stages(tree, "gen/top.py")] == ["tests/gen"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("operator", "outcome"), [("Gt_LtE", "killed"), ("Gt_GtE", "survived")], ids=["seen", "equal"]
)
def test_outcome_is_that_of_the_tests(tree: Path, operator: str, outcome: str) -> None:
    mutant = Mutant(
        "generator", "gen/larger.py", f"core/ReplaceComparisonOperator_{operator}", 0, 3
    )
    found = attempt(tree, mutant, stages(tree, mutant.path), 60)
    assert found["outcome"] == outcome
    assert "-    return a if a > b else b" in found["difference"]
    assert (tree / "gen/larger.py").read_text() == SOURCE


@pytest.mark.parametrize("command", [sample.main, netlists.main], ids=["sources", "netlists"])
def test_record_is_refused_before_the_mutants_are_tried(command: click.Command) -> None:
    found = CliRunner().invoke(command, ["--mutants", "1", "--record", "no/such/file"])
    assert found.exit_code == 2
    assert "must be a file in a folder that exists, not 'no/such/file'" in found.output
