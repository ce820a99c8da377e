"""Tests of fred_cli.values: how sizes, groups and clocks are read."""

import re

import pytest

from fred_cli.values import parse_clock, parse_group, parse_size
from fred_hw.errors import InputError

UNITS = "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB"


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("0", 0),
        ("17", 17),
        ("17B", 17),
        ("1.5kB", 1500),
        ("64MB", 64e6),
        ("2.GB", 2e9),
        ("3TB", 3e12),
        ("1KiB", 1024),
        ("2MiB", 2 * 1024**2),
        ("1GiB", 1024**3),
        ("0.5TiB", 1024**4 / 2),
        (" 1 gib ", 1024**3),
    ],
)
def test_size_is_read(text: str, size_bytes: float) -> None:
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize("text", ["", "GiB", "-1", "+1", "1e9", ".5GB", "1 G B", "1Gib/s", "inf"])
def test_size_of_another_form_is_refused(text: str) -> None:
    message = f"--size: must be a number with one of {UNITS}, not {text!r}"
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        parse_size(text)


@pytest.mark.parametrize(
    ("text", "members"),
    [
        (None, None),
        ("3", [3]),
        ("0,1,4-7", [0, 1, 4, 5, 6, 7]),
        ("7,0-2", [7, 0, 1, 2]),
        ("5-5", [5]),
        (" 1 , 2-3 ", [1, 2, 3]),
        ("0,0", [0, 0]),
    ],
)
def test_group_is_read_in_its_order(text: str | None, members: list[int] | None) -> None:
    assert parse_group(text) == members


@pytest.mark.parametrize("text", ["", ",", "1,", "a", "-1", "1-", "1-2-3", "3-2"])
def test_group_of_another_form_is_refused(text: str) -> None:
    message = f"--group: must be NPU numbers like 0,1,4-7, not {text!r}"
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        parse_group(text)


def test_group_of_too_many_is_refused() -> None:
    assert len(parse_group("0-65535") or []) == 65536
    message = "--group: must hold at most 65536 NPUs, not '0-9999999'"
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        parse_group("0-9999999")


@pytest.mark.parametrize(
    ("text", "period_ns"),
    [
        ("0.853ns", 0.853),
        ("853 ps", 0.853),
        ("853PS", 0.853),
        (".5us", 500),
        ("1.25GHz", 0.8),
        ("500MHz", 2),
        ("1000kHz", 1000),
    ],
)
def test_clock_is_read_as_a_period(text: str, period_ns: float) -> None:
    assert parse_clock(text) == pytest.approx(period_ns)


@pytest.mark.parametrize("text", ["", "1", "ns", "0ns", "-1ns", "1e3ps", "1 s", "1ns/2", "inf ns"])
def test_clock_of_another_form_is_refused(text: str) -> None:
    check_refused(text)


@pytest.mark.parametrize(
    ("number", "unit"),
    [("9" * 400, "ns"), ("9" * 308, "us"), ("9" * 400, "GHz"), ("." + "0" * 319 + "1", "kHz")],
    ids=["digits", "period", "frequency", "slow"],
)
def test_clock_that_no_number_holds_is_refused(number: str, unit: str) -> None:
    check_refused(number + unit)


def check_refused(text: str) -> None:
    units = "ps, ns, us, kHz, MHz, GHz"
    what = f"must be a number above 0 with one of {units}, not {text!r}"
    with pytest.raises(InputError) as refused:
        parse_clock(text)
    assert str(refused.value) == str(InputError("--clock", "", what))
    assert len(str(refused.value)) <= 300
