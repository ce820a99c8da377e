"""Tests of `fred wafers`."""

from tests.fred_cli.fred import Fred


def test_wafers_prints_the_same_as_its_json(fred: Fred) -> None:
    arguments = ("wafers", "--topology", "fred-d", "--wafers", "4")
    said = fred.json(*arguments)
    assert said["npus"] == 80 and said["time_s"] > said["inside_s"] > 0
    out = fred.out(*arguments)
    assert f"{said['time_s'] * 1e6:,.2f} us" in out
