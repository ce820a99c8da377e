"""Tests of `fred wafers`."""

import json
from collections.abc import Callable

Run = Callable[..., tuple[int, str, str]]


def test_wafers_prints_the_same_as_its_json(fred: Run) -> None:
    arguments = ("wafers", "--topology", "fred-d", "--wafers", "4")
    said = json.loads(fred(*arguments, "--json")[1])
    assert said["npus"] == 80 and said["time_s"] > said["inside_s"] > 0
    status, out, err = fred(*arguments)
    assert (status, err) == (0, "")
    assert f"{said['time_s'] * 1e6:,.2f} us" in out
