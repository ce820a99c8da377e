"""Tests of gen.layout."""

import re

import pytest

from gen.layout import laid_out


@pytest.mark.parametrize("length", [99, 100, 101, 102, 103, 104, 250])
def test_lines_are_broken_beyond_100_characters_and_keep_their_tokens(length: int) -> None:
    line = ("    " + "abcd " * 60)[: length - 1] + "x"
    first, *more = laid_out(f"{line}\n").rstrip("\n").split("\n")
    assert bool(more) == (length > 100)
    assert all(one.startswith(" " * 8) and one[8] != " " for one in more)
    assert max(map(len, (first, *more))) <= 100
    assert " ".join((first, *more)).split() == line.split()


@pytest.mark.parametrize(("ports", "first"), [(1, "module some(port_0);"), (30, "module some(")])
def test_ports_are_below_the_name_if_the_header_is_long(ports: int, first: str) -> None:
    names = [f"port_{k}" for k in range(ports)]
    text = laid_out(f"module some({', '.join(names)});\n")
    assert text.split("\n")[0] == first
    assert re.findall(r"port_\d+", text) == names


@pytest.mark.parametrize(
    ("constant", "written"),
    [
        (f"4096'h{1024 * '0'}", "4096'h0"),
        (f"438'sh{108 * '0'}a5", "438'sha5"),
        (f"196'h{49 * '0'}", f"196'h{49 * '0'}"),
    ],
)
def test_wide_constants_are_without_their_leading_zeros(constant: str, written: str) -> None:
    text = f"  assign {'a' * 20} = {'b' * 30} ?\n      {{}}\n      : {'c' * 30};\n"
    assert laid_out(text.format(constant)) == text.format(written)
