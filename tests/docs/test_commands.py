"""Every command of the pages does what the page says; a new one is found by itself."""

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from fred_cli.cli import cli
from fred_cli.main import main
from tests.fred_cli.walk import commands as walked
from tests.kept_designs import keep_designs

from .pages import PAGES, ROOT, SAVED, Shown, commands, inline

PLACEHOLDERS = {"SPEC": "small-4", "PRESET": "small-4", "KIND": "topology"}
FLOWS = "- {inputs: [0, 1], outputs: [2, 3]}\n"
ELSEWHERE = {
    "sim": "test_sim.py::test_sim_counts_what_the_manifest_states",
    "characterize": "test_characterize.py::test_characterize_prints_the_record_that_it_writes",
    "records": "test_records.py::test_a_record_of_today_is_current",
    "section": "test_reproduce.py::test_reproduce_says_how_far_the_protocol_moved_its_rows",
    "synth": "test_synth.py::test_a_library_is_known_by_its_name",
    "power": "test_power.py::test_power_of_an_all_reduce_is_above_that_of_an_idle_design",
    "hardware": "test_estimate.py::test_estimate_puts_hardware_beside_itself",
    "examples": "test_examples.py::test_files_are_copied_byte_by_byte",
    "rtl": "test_reproduce.py::test_rows_that_the_model_was_calibrated_on_are_marked",
}
"""Commands that are only read here, and the test that runs one; `section` is reproduce with a
section, `hardware` an iteration in RTL, of which that test has all but the simulation itself, and
`rtl` has rows that tests of `studies` compare one by one."""
SPECIAL = {
    ("gen", "switch"): "switch",
    ("gen", "endpoint"): "endpoint",
    ("gen", "mesh"): "mesh",
    ("gen", "wafer"): "wafer",
    ("compare", "--hardware"): "areas",
    ("compare", "--algorithms"): "algorithms",
    ("reproduce", "--rtl"): "rtl",
    ("reproduce", "--section"): "section",
    ("estimate", "--rtl"): "hardware",
}
"""Words that make a command another one in `ELSEWHERE` and `SMALLER`."""
_TINY = [*("--set", "lanes=1"), *("--set", "format=int8"), *("--set", "adder_registers=1")]
"""With two ports, tiny-2: others generate it too."""
_ONE_SWITCH = "[{name: one, chiplets: 5, ports: 2, npus: [0, 1]}]"
SMALLER = {
    "algorithms": ["--pattern", "reduce", "--size", "1MiB"],
    "compare": ["--topology", "fred-d", "--workload", "resnet-152"],
    "endpoint": [*_TINY, "--set", "ports=2"],
    "estimate": [],
    "report": ["--spec", "tiny-2"],
    "reproduce": ["--section", "wafer"],
    "strategies": ["--topology", "fred-d", "--least-npus", "20"],
    "mesh": ["--set", "lanes=1", "--set", "width=2", "--set", "height=1"],
    "switch": [*_TINY, "--set", "ports=2"],
    "wafer": ["--set", "lanes=1", "--set", "npus=2", "--set", f"switches={_ONE_SWITCH}"],
}
"""Commands that take long, and what makes them smaller: gen of a whole one has its level's name."""


def arguments(command: str) -> list[str]:
    words = [PLACEHOLDERS.get(word, word) for word in shlex.split(command)]
    if words[0].startswith("PATH="):
        words.pop(0)
    return [words[0].removeprefix(".venv/bin/"), *words[1:]]


def kind(command: str) -> str:
    """Return what `ELSEWHERE` and `SMALLER` call a command."""
    words = arguments(command)
    return next((name for pair, name in SPECIAL.items() if {*pair} <= {*words}), words[1])


def shown() -> dict[Shown, str]:
    """Return the commands of all pages, each once, with the page that shows it first."""
    found: dict[tuple[object, ...], tuple[Shown, str]] = {}
    for page in PAGES:
        if page.startswith("docs/tutorials/") or page == SAVED:
            continue  # test_tutorials.py runs these in their order
        for one in commands(page):
            key = (*arguments(one.command), one.output, one.status)
            found.setdefault(key, (one, page))
    return dict(found.values())


def long(one: Shown) -> list[pytest.MarkDecorator]:
    """Return the marks of a command that takes long: reports share much, so one worker."""
    shares = kind(one.command) == "report"
    return [pytest.mark.slow, *([pytest.mark.xdist_group("report")] if shares else [])]


def cases(program: str, run: bool = False) -> list[Any]:
    """Return the commands of a program; of those to run, the long ones are marked slow."""
    return [
        pytest.param(
            one,
            id=f"{Path(page).stem}: {one.command}",
            marks=long(one) if run and kind(one.command) in SMALLER else [],
        )
        for one, page in shown().items()
        if arguments(one.command)[0] == program and not (run and kind(one.command) in ELSEWHERE)
    ]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder to run in: examples to read, and nothing that a command could spoil."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "FLOWS").write_text(FLOWS)
    (tmp_path / "docs").mkdir()
    monkeypatch.chdir(tmp_path)
    keep_designs(monkeypatch)
    return tmp_path


def test_every_command_is_of_a_program_that_is_tested() -> None:
    known = {"fred", "make", "python", "pytest", "fusesoc"}
    assert {arguments(one.command)[0] for one in shown()} <= known
    assert len(shown()) > 20


def understand(words: list[str]) -> None:
    """Parse the words behind `fred` as it does."""
    with cli.make_context("fred", words) as context:
        name, command, rest = cli.resolve_command(context, words)
        assert name is not None and command is not None
        command.make_context(name, rest, parent=context)


@pytest.mark.parametrize("one", cases("fred"))
def test_command_is_understood(one: Shown) -> None:
    understand(arguments(one.command)[1:])


def demo() -> list[str]:
    """Return the commands of `make demo` behind `fred`, with the last value of each variable."""
    text = (ROOT / "scripts" / "demo.sh").read_text().replace("\\\n", " ")
    values = dict(re.findall(r"^ *(\w+)=(\S+)$", text, re.MULTILINE)) | {"fabric": "fred-d"}
    found = re.findall(r"^ *\$fred ([^|>\n]*)", text, re.MULTILINE)
    assert len(found) == text.count("$fred ") > 0
    return [re.sub(r"\$\{?(\w+)(/[^}]*\})?", lambda one: values[one[1]], line) for line in found]


@pytest.mark.parametrize("line", demo())
def test_command_of_the_demo_is_understood(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    understand(shlex.split(line))


@pytest.mark.parametrize("name", ELSEWHERE)
def test_command_that_is_only_read_here_is_run_by_another_test(name: str) -> None:
    file, test = ELSEWHERE[name].split("::")
    tree = ast.parse((ROOT / "tests" / "fred_cli" / "commands" / file).read_text())
    [found] = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == test]
    said = {one.value for one in ast.walk(found) if isinstance(one, ast.Constant)}
    assert said >= next(({*words} for words, kind in SPECIAL.items() if kind == name), {name})
    assert not any("long" in ast.unparse(one) for one in found.decorator_list)


@pytest.mark.parametrize("one", cases("fred", run=True))
def test_command_does_what_is_shown(
    one: Shown, place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    smaller = SMALLER.get(kind(one.command), []) if one.output is None else []
    monkeypatch.setattr(sys, "argv", [*arguments(one.command), *smaller])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capfd.readouterr()
    assert ended.value.code == one.status, said.err
    assert one.output is None or said.out == one.output
    for path in (place / "docs").rglob("*.md"):
        assert path.read_text() == (ROOT / path.relative_to(place)).read_text(), (
            "committed and stale"
        )


@pytest.mark.parametrize("one", cases("python"))
def test_module_runs(one: Shown, place: Path) -> None:
    command = [sys.executable, *arguments(one.command)[1:]]
    said = subprocess.run(
        command, cwd=place, env={"PYTHONPATH": str(ROOT)}, capture_output=True, check=False
    )
    assert said.returncode == 0, said.stderr
    assert said.stdout


def test_files_of_tests_exist() -> None:
    paths = [
        word
        for one in shown()
        if arguments(one.command)[0] == "pytest"
        for word in arguments(one.command)[1:]
        if not word.startswith("-")
    ]
    assert paths and [path for path in paths if not (ROOT / path).exists()] == []


def test_targets_of_make_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = {arguments(one.command)[1] for one in shown() if one.command.startswith("make ")}
    assert named and named <= targets


def test_names_of_commands_and_options_exist() -> None:
    with cli.make_context("fred", ["presets"]) as context:
        known = cli.list_commands(context)
    options = {
        option
        for _, context in walked()
        for parameter in context.command.params
        if isinstance(parameter, click.Option)
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    named = {text.split()[0] for page in PAGES for text in inline(page) if text.startswith("--")}
    assert named and named - {"--help"} <= options
    names = {found[1] for page in PAGES for text in inline(page) if (found := _NAME.match(text))}
    assert names and names <= set(known)


_NAME = re.compile(r"fred ([a-z]+)$")
