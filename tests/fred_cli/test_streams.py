"""Tests of fred_cli.streams."""

import io

import click

from fred_cli.streams import VisibleStream


def test_what_is_printed_is_visible_and_the_rest_is_of_the_stream() -> None:
    data = io.BytesIO()
    below = io.TextIOWrapper(data, "utf-8")
    stream = VisibleStream(below)
    print("a\x1b[2Jb", "ö", file=stream)
    click.echo("c\x07", file=stream)  # pyright: ignore[reportArgumentType]
    below.flush()
    assert data.getvalue().decode() == "a\\x1b[2Jb ö\nc\\x07\n"
    assert stream.encoding == "utf-8" and not stream.isatty()
