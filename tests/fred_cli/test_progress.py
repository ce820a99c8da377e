"""Tests of fred_cli.progress."""

import io
import re
import sys
import time

import pytest

from fred_cli import progress as shown
from fred_cli.progress import progress, steps
from fred_hw.progress import count, parts, track


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown, "_QUIET_S", 0.05)
    monkeypatch.setattr(shown, "_LINE_S", 0.2)
    monkeypatch.setattr(shown, "_REFRESH_S", 0.02)


def test_what_is_soon_done_is_not_spoken_of(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shown, "_QUIET_S", 60.0)
    with progress("working"):
        assert list(track([1], "items")) == [1]
    assert capsys.readouterr() == ("", "")


def test_lines_have_rate_and_remaining_time(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("working"):
        for _ in track(range(8), "items"):
            time.sleep(0.1)
    out, err = capsys.readouterr()
    first, *between, last = err.splitlines()
    assert (out, first) == ("", "working ...")
    assert re.fullmatch(r"working: \d+ s", last)
    assert between
    for line in between:
        found = re.fullmatch(r"working: (\d) of 8 items, (\S+) per s, (\d+) s left", line)
        assert found and 0 < float(found[2]) <= 10.5


@pytest.mark.slow
def test_a_long_part_is_taken_to_go_on_as_those_before_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Four of ten took 0.4 s; the five that follow at once should take 0.5 s, and take 1.2 s."""
    with progress("working"), parts("bits", 100) as begin:
        for _ in range(4):
            begin(10)
            time.sleep(0.1)
        begin(59)
        time.sleep(1.2)
        begin(1)
    text = capsys.readouterr().err
    found = re.findall(r"working: 40 of 100 bits, \S+ per s(, (\d+) s left)?$", text, re.MULTILINE)
    assert len(found) >= 4
    # By the rate of the four alone it would be more and more: 2.4 s in the end.
    assert [left for _, left in found][-2:] == ["0", "0"]


@pytest.mark.slow
def test_nobody_knows_what_remains_of_a_last_part_that_takes_too_long(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with progress("working"), parts("bits", 100) as begin:
        begin(90)
        time.sleep(0.4)
        begin(10)
        time.sleep(0.8)
    assert re.fullmatch(
        r"working: 90 of 100 bits, \S+ per s", capsys.readouterr().err.splitlines()[-2]
    )


def test_what_nobody_knows_the_number_of_has_a_rate(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("working"):
        count("units", 3)
        time.sleep(0.4)
    assert re.search(r"^working: 3 units, \S+ per s$", capsys.readouterr().err, re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("total", [None, 3])
def test_what_has_been_counted_is_not_shown_for_what_comes_after(
    total: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress("working"):
        if total is None:
            count("units", 3)
        else:
            assert list(track(range(total), "units")) == [0, 1, 2]
        time.sleep(1.2)
    between = capsys.readouterr().err.splitlines()[1:-1]
    assert between[0].startswith("working: 3 ")
    assert re.fullmatch(r"working: \d s", between[-1])


def test_what_is_looked_at_is_counted_too(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("working", lambda: ("tests", 2, 4)):
        time.sleep(0.4)
    line = r"^working: 2 of 4 tests, (\S+) per s, \d+ s left$"
    rates = re.findall(line, capsys.readouterr().err, re.MULTILINE)
    assert rates
    assert all(float(rate) < 2 / 0.1 for rate in rates), rates  # from the begin of the work


def test_what_was_looked_at_is_not_shown_for_what_is_counted_then(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with progress("working", lambda: ("tests", 2, 4)):
        time.sleep(0.4)
        count("bytes", 1, 8)
        time.sleep(0.4)
    *_, before, _ = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"working: 1 of 8 bytes, \S+ per s, \d+ s left", before)


def test_what_is_not_counted_has_its_time(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("working"):
        time.sleep(0.4)
    assert re.search(r"^working: 0 s$", capsys.readouterr().err, re.MULTILINE)


class Terminal(io.StringIO):
    """What rich takes for a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_has_one_line_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with progress("working [a]"):
        for _ in track(range(5), "items"):
            time.sleep(0.1)
    said = sys.stderr.getvalue()  # pyright: ignore[reportAttributeAccessIssue]
    assert "working [a]" in said
    assert re.search(r"[1-4] of 5 items, \S+ per s, \d+ s left", said)
    assert "\x1b[2K" in said
    assert re.search(r"working \[a\]: \d+ s\n$", said)


def test_an_error_stops_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="no"), progress("working"):
        raise ValueError("no")
    time.sleep(0.3)
    assert capsys.readouterr().err == ""


def test_steps_are_said_where_they_are_apart(capsys: pytest.CaptureFixture[str]) -> None:
    with steps("working") as step:
        step("too soon")
        time.sleep(0.1)
        step("first")
        step("too soon")
    assert capsys.readouterr().err.splitlines()[:2] == ["working ...", "first"]


def test_what_begins_again_has_a_rate_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("working"):
        count("bytes", 10_000, 10_000)
        time.sleep(0.5)
        for done in (1, 2, 3, 4):
            count("bytes", done, 8)
            time.sleep(0.1)
    found = re.findall(r"[1-4] of 8 bytes, (\S+) per s", capsys.readouterr().err)
    assert found and max(map(float, found)) > 5


@pytest.mark.slow
def test_what_is_within_the_first_has_no_part_in_the_rate_of_all(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with progress("working"):
        for _ in track(range(4), "items"):
            for _ in track(range(4), "steps"):
                time.sleep(0.1)
    said = capsys.readouterr().err
    within = r"^working: [1-3] of 4 steps of the first of 4 items, \S+ per s, \d s left$"
    assert re.search(within, said, re.MULTILINE)
    rates = re.findall(r"^working: 1 of 4 items, (\S+) per s, \d s left$", said, re.MULTILINE)
    assert rates and 1.5 < float(rates[0]) <= 2.6
