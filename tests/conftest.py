"""What all tests share."""

import gc
import os
import re
import signal
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from testbench.sim.cache import BUILDS, cpu_s
from testbench.sim.tools import icarus_bin

WITHOUT_ICARUS = ("test_vectors.py",)

# How long an example takes says more about the machine than about the example.
# Examples are the same in each run, so that a change is judged by what it changes; `make search`
# looks for others.
settings.register_profile("full run", deadline=None, derandomize=True, max_examples=60)
settings.register_profile("edit loop", deadline=None, derandomize=True, max_examples=25)
settings.register_profile("search", deadline=None, max_examples=1000, print_blob=True)


def pytest_configure(config: pytest.Config) -> None:
    """Choose how many examples properties get, before the tests are read."""
    # Designs are many objects that live for long: a quarter of the time went to looking for
    # garbage among them.
    gc.set_threshold(400_000, 50, 100)
    quick = "not slow" in str(config.getoption("markexpr"))
    chosen = config.getoption("--hypothesis-profile")
    settings.load_profile(str(chosen or ("edit loop" if quick else "full run")))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--timings", action="store_true", help="list the slowest tests, builds apart")


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in its own hook
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep tests of one model on one worker, begin with long ones, skip what lacks Icarus.

    A long one that came last would keep one worker busy while the other has nothing left. Short
    tests of a file are a group: what they share, such as a unit that is compiled, is made once, and
    a test that is handed out alone takes longer than most tests. Those of RoCE networks are one
    group: the event core is compiled once, which takes longer than all of them.
    """
    if not _whole(config):
        left = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=left)
        apart = set(left)
        items[:] = [item for item in items if item not in apart]
    seen: set[str] = set()
    for item in items:
        test = item.nodeid.partition("[")[0]
        if test in seen and item.get_closest_marker("slow_after_first"):
            item.add_marker(pytest.mark.slow)
        seen.add(test)
    skip = pytest.mark.skip(reason="Debian's package iverilog is not installed")
    for item in items:
        if not item.get_closest_marker("sim"):
            continue
        if not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(_model(item)))
        if icarus_bin() is None and item.path.name not in WITHOUT_ICARUS:
            item.add_marker(skip)
    seconds: dict[str, float] = {}
    groups: dict[pytest.Item, str] = {}
    for item in items:
        group, own_s = item.get_closest_marker("xdist_group"), _seconds(item)
        name = str(group.args[0]) if group else item.nodeid
        if not group and own_s <= 1:
            shared = "roce" if "roce" in item.nodeid else item.nodeid.partition("::")[0]
            name = re.sub(r"\W+", "_", f"{shared} {own_s}")
            item.add_marker(pytest.mark.xdist_group(name))
        groups[item] = name
        seconds[name] = seconds.get(name, 0) + own_s
    items.sort(key=lambda item: (-seconds[groups[item]], groups[item]))


def pytest_collection_finish() -> None:
    """Leave the tests themselves out of every search for garbage."""
    gc.freeze()


def _seconds(item: pytest.Item) -> float:
    """Return about how long a test takes [s], as the argument of its marker says, if it is slow."""
    slow = item.get_closest_marker("slow")
    return (*slow.args, 1)[0] if slow else 0


def _model(item: pytest.Item) -> str:
    """Return a name for what a test simulates: its file and its specification."""
    parameters: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    spec = [str(parameters[name]) for name in ("spec", "fields", "ports") if name in parameters]
    return re.sub(r"\W+", "_", "-".join([item.path.parent.name, item.path.stem, *spec]))


@pytest.fixture(autouse=True)
def endings() -> Iterator[None]:
    """Take back what `fred` does at its end, which is that of the process otherwise.

    A command that ends ignores signals; a test that runs one in this process would hand that on to
    every process that later tests of this worker start.
    """
    signals = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    hook = sys.unraisablehook
    yield
    sys.unraisablehook = hook
    for number, action in signals.items():
        signal.signal(number, action)


def _whole(config: pytest.Config) -> bool:
    """Return whether tests of large volume run."""
    return "long" in str(config.getoption("markexpr")).replace("not long", "")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Any:
    item.stash[_BEGUN] = cpu_s()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """Add the processor time of a phase of a test, and what was built in it."""
    report = yield
    now = cpu_s()
    builds = [(built.name, built.cpu_s) for built in BUILDS]
    used = now - item.stash[_BEGUN] - sum(seconds for _, seconds in builds)
    report.user_properties = [("cpu_s", used), ("builds", builds)]
    BUILDS.clear()
    item.stash[_BEGUN] = now
    return report


_BEGUN = pytest.StashKey[float]()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if not config.getoption("--timings"):
        return
    tests: dict[str, float] = {}
    builds: list[tuple[str, float]] = []
    for reports in terminalreporter.stats.values():
        for report in reports:
            properties = dict(getattr(report, "user_properties", ()))
            builds += properties.get("builds", ())
            if "cpu_s" in properties:
                tests[report.nodeid] = tests.get(report.nodeid, 0) + properties["cpu_s"]
    for title, rows in (("slowest tests", list(tests.items())), ("builds", builds)):
        total = sum(seconds for _, seconds in rows)
        terminalreporter.section(f"{title}: {len(rows)}, {total:.0f} s of processor time in all")
        for name, seconds in sorted(rows, key=lambda row: -row[1])[:20]:
            terminalreporter.write_line(f"{seconds:8.1f} s  {os.fsdecode(name)}")
