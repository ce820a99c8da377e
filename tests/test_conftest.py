"""Tests of what all tests share."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.sim
@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="runs in this process alone")
def test_tests_of_one_model_stay_on_one_worker(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("dist", "no") == "loadgroup":
        assert request.node.nodeid.endswith("@tests_test_conftest")


@pytest.mark.long
def test_large_volumes_are_run_where_they_are_asked_for(request: pytest.FixtureRequest) -> None:
    assert "long" in str(request.config.getoption("markexpr"))


@pytest.mark.slow_after_first
@pytest.mark.parametrize("case", range(3))
def test_the_edit_loop_runs_the_first_of_many_cases(
    case: int, request: pytest.FixtureRequest
) -> None:
    alone = len(request.session.items) == 1  # and therefore the first
    assert (request.node.get_closest_marker("slow") is None) == (case == 0 or alone)


@pytest.mark.slow
def test_a_worker_runs_a_file_and_the_longest_begins(tmp_path: Path) -> None:
    conftest = Path(__file__).parent / "conftest.py"
    (tmp_path / "conftest.py").write_text(conftest.read_text())
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\naddopts = --no-loadscope-reorder\nmarkers =\n"
        "    sim: s\n    slow: s\n    slow_after_first: s\n    long: s\n"
    )
    body = "import os, pathlib, time\nimport pytest\n"
    body += "def say(what):\n    time.sleep(0.05)\n"
    body += "    worker = os.environ['PYTEST_XDIST_WORKER']\n"
    body += f"    with open({str(tmp_path / 'said')!r}, 'a') as said:\n"
    body += "        said.write(f'{what} {worker}\\n')\n"
    tests = "@pytest.mark.parametrize('n', range(4))\ndef test_quick(n):\n    say(NAME)\n"
    for name in "abcdef":
        (tmp_path / f"test_{name}.py").write_text(body + tests.replace("NAME", repr(name)))
    long = "@pytest.mark.slow(9)\ndef test_long():\n    say('long')\n"
    (tmp_path / "test_z.py").write_text(body + tests.replace("NAME", "'z'") + long)
    run = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", tmp_path]
    places = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    ended = subprocess.run(
        run, cwd=tmp_path, env=places, capture_output=True, text=True, check=False
    )
    assert "29 passed" in ended.stdout, ended.stdout + ended.stderr
    said = [line.split() for line in (tmp_path / "said").read_text().splitlines()]
    assert "long" in {what for what, _ in said[:2]}
    workers = {what: {worker for what_, worker in said if what_ == what} for what, _ in said}
    assert {len(workers[name]) for name in "abcdefz"} == {1}, workers
