"""Fixture of tests that compare a page with what its commands print."""

import json
import shlex

import pytest

from tests.fred_cli.fred import Fred

from .pages import ROOT, commands
from .printed import Printed


@pytest.fixture
def printed(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Printed:
    """Return a function that runs a command of the test's ``PAGE`` and returns its JSON.

    A command that the page does not show comes with one that it shows ``like`` it.
    """
    shown = {
        one.command.partition("fred ")[2].partition(" -o ")[0]
        for one in commands(request.module.PAGE)
    }
    monkeypatch.chdir(ROOT)

    def run(command: str, like: str = "") -> object:
        assert (like or command).partition(" -o ")[0] in shown
        status, out, err = Fred(monkeypatch, capfd)(*shlex.split(command), "--json")
        assert status == 0, err  # what takes long prints its progress there
        return json.loads(out)

    return run
