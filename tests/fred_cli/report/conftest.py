"""Reports of small-4, without and with the evidence, and headless Chromium to open them."""

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from fred_cli.main import main
from tests.chromium import launched


@dataclass(frozen=True)
class Report:
    """A report, as the command wrote it."""

    folder: Path
    said: dict[str, Any]

    @property
    def page(self) -> Path:
        return self.folder / "out" / "index.html"

    @property
    def text(self) -> str:
        return self.page.read_text(encoding="utf-8")

    @property
    def numbers(self) -> dict[str, Any]:
        return json.loads((self.folder / "out" / "report.json").read_text())

    @property
    def results(self) -> dict[str, Any]:
        """What `fred sim --json` prints of the switch."""
        return {**self.numbers["simulation"], "name": self.numbers["manifest"]["name"]}


def written(folder: Path, *arguments: str) -> Report:
    """Return the report that `fred report` writes."""
    out = StringIO()
    signals = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out):
        patch.setattr(sys, "unraisablehook", sys.unraisablehook)
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["fred", "report", "-o", "out", "--json", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
    for number, action in signals.items():  # ended commands leave them ignored
        signal.signal(number, action)
    assert ended.value.code == 0
    return Report(folder, json.loads(out.getvalue()))


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Return the report that `fred report` co-simulates and writes."""
    return written(tmp_path_factory.mktemp("report"), "--spec", "small-4")


@pytest.fixture(scope="session")
def evidence(report: Report, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Return the same report with the evidence."""
    folder = tmp_path_factory.mktemp("evidence")
    (folder / "results.json").write_text(json.dumps(report.results))
    arguments = ("--spec", "small-4", "--results", "results.json", "--evidence")
    return written(folder, *arguments)


@dataclass(frozen=True)
class Browser:
    """Opens pages in windows of any width, and notes what they complain of."""

    browser: Any

    @contextmanager
    def page(
        self, path: Path, width: int, scheme: str = "light", *, drawn: bool = True
    ) -> Iterator[tuple[Any, list[str]]]:
        """Yield a page, with all charts drawn, and the lines of its console."""
        context = self.browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        context.set_default_timeout(240_000)  # [ms]; machines that are busy with tests are slow
        page, said = context.new_page(), []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda one: None if _local(one.url) else said.append(one.url))
        try:
            page.goto(path.as_uri())
            if drawn:
                page.wait_for_function("typeof charts === 'undefined' || charts.drawnAll()")
            yield page, said
        finally:
            context.close()


def _local(address: str) -> bool:
    return address.startswith(("file:", "data:", "blob:"))


# Not for the session: playwright leaves an event loop running, which asyncio forbids others.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return headless Chromium with a profile of its own."""
    with launched() as opened:
        yield Browser(opened)
