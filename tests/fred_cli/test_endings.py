"""Tests of how `fred` ends: one line whatever goes wrong, and nothing left behind."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil
import pytest

PRESETS = ("presets", "--json")
START = "import sys; from fred_cli.main import main; main()"
ROOT = Path(__file__).parents[2]
PROGRESS = re.compile(r"[^:]*( \.\.\.|: .* per s.*|: \d+ s)\n$")
TWO_GIB = 2 << 30


def launch(
    arguments: Sequence[str],
    place: Path,
    environment: Mapping[str, str] | None = None,
    code: str = START,
    **options: object,
) -> subprocess.Popen[str]:
    """Start `fred` in a folder; standard streams are pipes unless said otherwise."""
    path = {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=place,
        env={**os.environ, **path, **(environment or {})},
        text=True,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},  # pyright: ignore[reportArgumentType, reportCallIssue]
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Return status, output and errors, but for lines that say how far a slow machine has come."""
    out, err = process.communicate(timeout=120)
    lines = [line for line in (err or "").splitlines(keepends=True) if not PROGRESS.match(line)]
    return process.returncode, out, "".join(lines)


@pytest.mark.parametrize("arguments", [PRESETS, ("presets",), ("--help",), ("--version",)])
def test_full_output_is_one_line(tmp_path: Path, arguments: Sequence[str]) -> None:
    with Path("/dev/full").open("w") as full:
        status, _, err = ended(launch(arguments, tmp_path, stdout=full))
    assert (status, err) == (
        2,
        "error: standard output: must be usable, not with: No space left on device\n",
    )


def test_closed_output_is_one_line(tmp_path: Path) -> None:
    process = launch(("presets",), tmp_path, stdout=None, preexec_fn=lambda: os.close(1))
    status, _, err = ended(process)
    assert (status, err) == (2, "error: standard output: must be open, not closed\n")


@pytest.mark.parametrize("number", [0, 2])
def test_closed_stream_is_none_that_files_are_opened_as(tmp_path: Path, number: int) -> None:
    def close() -> None:
        os.close(number)

    arguments = ("collective", "--topology", "mesh:2x2", "--draw", "x.svg")
    process = launch(arguments, tmp_path, stderr=None, preexec_fn=close)
    status, out, _ = ended(process)
    assert status == 0, out
    assert (tmp_path / "x.svg").read_text().startswith("<svg")


def test_reader_that_goes_away_ends_quietly(tmp_path: Path) -> None:
    process = launch(PRESETS, tmp_path)
    assert process.stdout
    process.stdout.close()
    process.stdout = None
    status, _, err = ended(process)
    assert (status, err) == (1, "")


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    "environment",
    [{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"PYTHONIOENCODING": "ascii"}],
    ids=["locale", "encoding"],
)
def test_names_that_the_locale_lacks_are_written(
    tmp_path: Path, environment: Mapping[str, str]
) -> None:
    (tmp_path / "größe").mkdir()
    (tmp_path / "größe" / "µ.yaml").write_text("kind: mesh\ncolumns: 2\nrows: 2\n")
    arguments = ("collective", "--topology", "größe/µ.yaml", "--draw", "größe/é.svg")
    status, out, err = ended(launch(arguments, tmp_path, environment))
    assert (status, err) == (0, "")
    assert r"gr\xf6\xdfe/\xb5.yaml" in out or r"\udc" in out
    assert (tmp_path / "größe" / "é.svg").exists()
    status, out, err = ended(launch(("gen", "größe.yaml", "-o", "o"), tmp_path, environment))
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.isascii()


@pytest.mark.sim
@pytest.mark.slow
def test_co_simulation_writes_to_a_folder_that_the_locale_lacks(tmp_path: Path) -> None:
    environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    arguments = ("sim", "tiny-2", "--sim", "icarus", "-o", "größe")
    status, out, err = ended(launch(arguments, tmp_path, environment))
    assert (status, err) == (0, "")
    assert out.endswith("all tests passed\n")
    assert (tmp_path / "größe" / "icarus" / "results.xml").exists()


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
@pytest.mark.parametrize(
    ("folder", "shown"),
    [("größe µ", "größe µ"), ("\x1b[31m\x07", r"\x1b[31m\x07"), ("\udcff", r"\udcff")],
    ids=["non-ascii", "control", "bytes"],
)
def test_co_simulation_writes_to_a_folder_of_any_name(
    tmp_path: Path, folder: str, shown: str, simulator: str
) -> None:
    """The simulator, its bench and the waves get the name as it is; a terminal does not obey it."""
    arguments = ("sim", "tiny-2", "--sim", simulator, "--waves", "-o", folder)
    status, out, err = ended(launch(arguments, tmp_path))
    assert (status, err) == (0, "")
    assert f"{shown}/{simulator}/results.xml\n" in out
    assert f"{shown}/{simulator}/waves." in out
    assert out.replace("\n", "").isprintable()
    written = {path.suffix for path in (tmp_path / folder / simulator).iterdir()}
    assert {".xml", ".log", ".json"} < written


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    "word",
    ["\x1b[31m\x07", "\udcff\udcfe", "a\nb", "x" * 5000],
    ids=["control", "bytes", "lines", "long"],
)
def test_words_of_the_command_line_are_shown_as_they_are_not_obeyed(
    tmp_path: Path, word: str
) -> None:
    for arguments in (
        (word,),
        ("gen", word, "-o", "o"),
        ("presets", f"--{word}"),
        ("presets", word),
    ):
        status, out, err = ended(launch(arguments, tmp_path))
        assert (status, out, err.count("\n")) == (2, "", 1), err
        assert err[:-1].isprintable()
        assert len(err) <= 301


SLEEPER = """
import subprocess, sys
from fred_hw.datapath.interconnect import Interconnect
def elaborate(*_):
    child = "import subprocess, sys, time; subprocess.Popen(['sleep', '60']); time.sleep(60)"
    subprocess.run([sys.executable, "-c", child])
Interconnect.elaborate = elaborate
from fred_cli.main import main
import signal
# What a shell, or what runs the tests, has ignored is handed on.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
main()
"""


def descendants(process: subprocess.Popen[str], count: int) -> list[psutil.Process]:
    """Return the processes below one, once there are so many."""
    for _ in range(600):
        found = psutil.Process(process.pid).children(recursive=True)
        if len(found) >= count and all(one.name() != "" for one in found):
            return found
        time.sleep(0.1)
    raise AssertionError("no child began")


@pytest.mark.parametrize(
    ("number", "word"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")]
)
def test_a_signal_ends_all_that_was_begun(
    tmp_path: Path, number: signal.Signals, word: str
) -> None:
    process = launch(("gen", "tiny-2", "-o", "o"), tmp_path, code=SLEEPER)
    children = descendants(process, 2)
    process.send_signal(number)
    status, out, err = ended(process)
    assert (status, out, err) == (128 + number, "", f"{word}\n")
    for child in children:
        assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
    assert list(tmp_path.iterdir()) == []


INTERRUPTED = (
    "import signal, sys\n"
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "signal.setitimer(signal.ITIMER_REAL, float(sys.argv.pop(1)))\n"
    "signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))\n"
    "from fred_cli.main import main\n"
    "main()\n"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "after_s",
    [
        pytest.param((place + 1) / 4, marks=pytest.mark.long if place % 2 else [])
        for place in range(8)
    ],
)
def test_an_interrupt_at_any_time_is_one_line(tmp_path: Path, after_s: float) -> None:
    arguments = (str(after_s), "gen", "tiny-2", "--level", "switch", "-o", "out")
    status, _, err = ended(launch(arguments, tmp_path, code=INTERRUPTED))
    assert (status, err) in {(130, "interrupted\n"), (0, "")}
    assert list(tmp_path.iterdir()) == ([tmp_path / "out"] if status == 0 else [])


EARLY = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
when = sys.argv.pop(1)
class Interrupting:
    @staticmethod
    def find_spec(name, *_):
        if name == when:
            sys.meta_path.remove(Interrupting)
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Interrupting)
from fred_cli.start import start
start()
"""


@pytest.mark.slow_after_first
@pytest.mark.parametrize("command", [PRESETS, ("doctor",)])
@pytest.mark.parametrize(
    "imported", ["fred_cli.main", "fred_cli.streams", "fred_hw.visible", "click", "fred_cli.cli"]
)
def test_an_interrupt_while_modules_are_imported_is_one_line(
    tmp_path: Path, imported: str, command: Sequence[str]
) -> None:
    status, out, err = ended(launch((imported, *command), tmp_path, code=EARLY))
    assert (status, out, err) == (130, "", "interrupted\n")


def test_an_interrupt_in_a_finalizer_is_not_forgotten(tmp_path: Path) -> None:
    code = (
        "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from fred_hw.datapath.interconnect import Interconnect\n"
        "class Late:\n"
        "    def __del__(self):\n        signal.raise_signal(signal.SIGINT)\n"
        "def elaborate(*_):\n    late = Late()\n    del late\n    import time\n    time.sleep(60)\n"
        "Interconnect.elaborate = elaborate\n" + START
    )
    status, out, err = ended(launch(("gen", "tiny-2", "-o", "o"), tmp_path, code=code))
    assert (status, out, err) == (130, "", "interrupted\n")


def test_an_interrupt_that_the_shell_has_ignored_stays_so(tmp_path: Path) -> None:
    code = (
        "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "import fred_hw.load as load\n"
        "signal.raise_signal(signal.SIGINT)\n" + START
    )
    assert ended(launch(PRESETS, tmp_path, code=code))[0] == 0


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("gen", "demo-8", "-o", "o"), marks=pytest.mark.slow),
        pytest.param(("gen", "demo-8", "--level", "switch", "-o", "o"), marks=pytest.mark.long),
        ("route", "small-4", "--strategy", "MP2-DP2-PP1"),
        ("collective", "--topology", "fred-d"),
    ],
    ids=" ".join,
)
def test_two_gib_are_enough_or_it_is_said(tmp_path: Path, arguments: Sequence[str]) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (TWO_GIB, TWO_GIB))

    status, _, err = ended(launch(arguments, tmp_path, preexec_fn=limit))
    said = "error: memory: must be more than this process may have\n"
    assert (status, err) in {(0, ""), (2, said)}
    assert status == 0 or list(tmp_path.iterdir()) == []


def test_memory_that_ends_is_one_line(tmp_path: Path) -> None:
    code = (
        "import fred_hw.load as load\n"
        "def greedy(*_):\n    return bytearray(1 << 62)\n"
        "load.load_spec = greedy\n" + START
    )
    said = "error: memory: must be more than this process may have\n"
    assert ended(launch(PRESETS, tmp_path, code=code)) == (2, "", said)


@pytest.mark.slow
@pytest.mark.parametrize("whom", ["process", "group"])
def test_an_interrupt_ends_reproduce_with_its_second_process(tmp_path: Path, whom: str) -> None:
    process = launch(
        ("reproduce", "--csv", "x.csv"),
        tmp_path,
        code="if __name__ == '__main__':\n"
        "    import signal\n"
        "    signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "    from fred_cli.main import main\n"
        "    main()\n",
        start_new_session=True,
    )
    children = descendants(process, 2)  # the second process, and what multiprocessing tracks
    time.sleep(2)
    (os.kill if whom == "process" else os.killpg)(process.pid, signal.SIGINT)
    status, out, err = ended(process)
    assert (status, out) == (130, "")
    assert err.splitlines()[-1] == "interrupted"
    assert "Traceback" not in err
    assert psutil.wait_procs(children, timeout=10)[1] == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.sim
@pytest.mark.slow
def test_two_simulations_in_a_folder_both_have_their_results(tmp_path: Path) -> None:
    arguments = ("sim", "tiny-2", "--sim", "icarus", "-o", "out", "--json", "--seed")
    both = [launch((*arguments, str(seed)), tmp_path) for seed in (11, 12)]
    for process, seed in zip(both, (11, 12), strict=True):
        status, out, err = ended(process)
        assert (status, json.loads(out)["seed"], json.loads(out)["failures"]) == (0, seed, 0), err


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_simulator_too(tmp_path: Path, number: signal.Signals) -> None:
    code = SLEEPER[SLEEPER.index("from fred_cli.main") :]
    arguments = ("sim", "tiny-2", "--sim", "icarus", "--level", "switch", "-o", "out")
    process = launch(arguments, tmp_path, code=code)
    simulators: list[psutil.Process] = []
    for _ in range(1200):
        found = psutil.Process(process.pid).children(recursive=True)
        simulators = [one for one in found if "vvp" in one.name()]
        if simulators:
            break
        time.sleep(0.1)
    assert simulators
    process.send_signal(number)
    status, out, err = ended(process)
    assert (status, out) == (128 + number, "")
    assert err.splitlines()[-1] in ("interrupted", "terminated")
    assert not [one for one in simulators if one.is_running() and one.status() != "zombie"]
