"""What the pages link to, name and show exists, and their Python prints what they say."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from pkgutil import resolve_name

import pytest

from docs.generate.files import PACKAGES
from docs.generate.reference import models
from fred_cli.schemas.file_kind import FILES
from fred_hw.files import load_model
from fred_hw.pruning import NeedsFile
from perfmodel.workloads.workload import load_workload
from tests.written import written

from .pages import PAGES, ROOT, SAVED, blocks, inline, prose

FOLDERS = (*PACKAGES, "tests", "docs", "examples", "scripts")
PYTHON = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
FUNCTIONS = {
    name for path in PYTHON for name in re.findall(r"^(?:async )?def (\w+)", path.read_text(), re.M)
}
FIELDS = {name for path in PYTHON for name in re.findall(r"^    (\w+): ", path.read_text(), re.M)}
KEYS = {
    key
    for kind in FILES.values()
    for model in models(kind.schema()).values()
    for key in model["properties"]
}
LONG = "docs/how-to/driver.md"
"""It simulates a switch."""
RUN = [
    pytest.param(page, marks=[pytest.mark.slow] if page == LONG else [])
    for page in PAGES
    if page != SAVED and blocks(page, "python")
]


def slug(heading: str) -> str:
    """Return the anchor of a heading, as repository hosts make it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", prose(page)):
        path, _, anchor = target.partition("#")
        meant = (ROOT / page).parent / path if path else ROOT / page
        assert meant.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", meant.read_text(), re.MULTILINE)
            assert anchor in map(slug, headings), target


@pytest.mark.parametrize("page", PAGES)
def test_paths_and_modules_exist(page: str) -> None:
    for text in inline(page):
        if re.match(rf"({'|'.join(FOLDERS)})/[\w./*-]*$", text):
            assert list(ROOT.glob(text.rstrip("/"))), text
        elif found := re.match(rf"((?:{'|'.join(PACKAGES)})(?:\.\w+)+)\b", text):
            assert exists(found[1]), text


@pytest.mark.parametrize("page", PAGES)
def test_tests_and_scenarios_that_are_named_exist(page: str) -> None:
    """A name in backticks of five words and more is one of theirs, or a key or field."""
    found = [text for text in inline(page) if re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+){4,}", text)]
    assert [name for name in found if name not in FUNCTIONS | FIELDS | KEYS] == []


def exists(dotted: str) -> bool:
    """Return whether there is such a module, or such a name in one."""
    try:
        resolve_name(dotted)
    except (ImportError, AttributeError):
        return False
    return True


def test_pages_named_in_code_exist() -> None:
    named = {
        name for path in PYTHON for name in re.findall(r"\bdocs/[\w./-]+\.md\b", path.read_text())
    }
    assert named and [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_every_page_can_be_found_from_the_readme() -> None:
    found, new = set[Path](), [ROOT / "README.md"]
    while new:
        page = new.pop()
        found.add(page)
        links = re.findall(r"\]\((?!https?:)([^)#\s]+\.md)", page.read_text())
        new += [one for link in links if (one := (page.parent / link).resolve()) not in found]
    decisions = {path for path in map(ROOT.joinpath, PAGES) if path.parent.name == "decisions"}
    assert set(map(ROOT.joinpath, PAGES)) - found - decisions - {ROOT / "CHANGELOG.md"} == set()


@pytest.mark.parametrize("page", PAGES)
def test_python_imports_only_what_is_installed(page: str) -> None:
    text = "\n".join(block.text for block in blocks(page, "python"))
    found = re.findall(r"^\s*(?:from|import) (\w+)", text, re.MULTILINE)
    assert not {*found} & {"tests", "docs", "examples", "scripts"}


@pytest.mark.parametrize("page", RUN)
def test_python_prints_what_the_page_says(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The blocks of a page are one program; what it prints follows each, after `It prints`."""
    program, said = [], []
    for block in blocks(page, "python"):
        program.append(block.text)
        found = re.match(
            r"\n+It prints `(.*?)`|\n+(?:It prints\n+)?```text\n(.*?)```", block.after, re.DOTALL
        )
        if found:
            said.append(found[1] + "\n" if found[1] else found[2])
    assert said
    monkeypatch.chdir(tmp_path)
    exec(compile("\n".join(program), page, "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == "".join(said)


@pytest.mark.parametrize("page", [one for one in PAGES if "/tutorials/" not in one])
def test_yaml_is_a_workload_or_lists_strategies(page: str, tmp_path: Path) -> None:
    for number, block in enumerate(blocks(page, "yaml")):
        path = written(tmp_path / f"block-{number}.yaml", block.text)
        if block.text.startswith("strategies:"):
            assert load_model(NeedsFile, path).parsed(path.name)
        else:
            assert load_workload(str(path)).samples_per_replica


@pytest.mark.parametrize("page", [one for one in PAGES if blocks(one, "diff")])
def test_diffs_of_examples_apply(page: str) -> None:
    for block in blocks(page, "diff"):
        done = subprocess.run(
            ["git", "apply", "--check", "-"],
            input=block.text,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_modules_of_example_diffs_can_be_imported(tmp_path: Path) -> None:
    for package in PACKAGES:
        unused = shutil.ignore_patterns("__pycache__", "records")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=unused)
    modules: list[str] = []
    for block in (block for page in PAGES for block in blocks(page, "diff")):
        found = re.findall(r"^\+\+\+ b/(.*)\.py$", block.text, re.MULTILINE)
        if found and "records" not in found[0]:
            command = ["git", "apply", "-"]
            subprocess.run(command, input=block.text, cwd=tmp_path, text=True, check=True)
            modules += [name.replace("/", ".") for name in found]
    assert len(modules) > 10
    done = subprocess.run(
        [sys.executable, "-c", f"import {', '.join(modules)}"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_every_decision_has_a_number_of_its_own() -> None:
    numbers = [path.name[:4] for path in (ROOT / "docs" / "decisions").glob("*.md")]
    assert all(re.fullmatch(r"\d{4}", number) for number in numbers)
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "docs/decisions").glob("*.md")), ids=lambda path: path.stem[:4]
)
def test_decision_has_four_parts_on_one_page(path: Path) -> None:
    text = path.read_text("utf-8")
    parts = re.findall(r"^\*\*(\w+)\.\*\*|^## ", text, re.MULTILINE)
    assert parts == ["Context", "Decision", "Consequences", "Alternatives"]
    assert len([word for word in text.split() if re.search(r"\w", word)]) <= 400
