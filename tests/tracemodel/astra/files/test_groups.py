"""Tests of tracemodel.astra.files.groups."""

from pathlib import Path

import pytest

from fred_hw.errors import InputError
from tests.written import written
from tracemodel.astra.files.groups import check_members, load_groups


def test_groups_keep_the_order_of_their_ring(tmp_path: Path) -> None:
    path = written(tmp_path / "w.json", '{"1": [3, 0, 2], "12": [1]}')
    groups = load_groups(path)
    assert groups == {"1": (3, 0, 2), "12": (1,)}
    check_members(groups, 4, "w.json")
    line = r"^w\.json: 1: must hold ranks 0 to 2 of the traces, not 3$"
    with pytest.raises(InputError, match=line):
        check_members(groups, 3, "w.json")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[1]", r"must be a mapping of groups to NPUs, not \[1\]"),
        ('{"0": [1]}', "groups must be numbers from 1 up, not '0'"),
        ('{"tp": [1]}', "groups must be numbers from 1 up, not 'tp'"),
        ('{"1": []}', r"1: must be a list of one NPU or more, not \[\]"),
        ('{"1": 3}', "1: must be a list of one NPU or more, not 3"),
        ('{"1": [0, -1]}', "1.1: must be an integer from 0 to 65535, not -1"),
        ('{"1": [0, "x"]}', "1.1: must be an integer from 0 to 65535, not 'x'"),
        ('{"1": [0, 2, 0]}', "1: must hold each NPU once, not 0 twice"),
    ],
)
def test_bad_file_is_refused(text: str, line: str, tmp_path: Path) -> None:
    path = written(tmp_path / "w.json", text)
    with pytest.raises(InputError, match=rf"w\.json: {line}$"):
        load_groups(path)


def test_a_number_of_yaml_is_a_group_once(tmp_path: Path) -> None:
    path = written(tmp_path / "w.yaml", "1: [0]\n2: [1]\n")
    assert load_groups(path) == {"1": (0,), "2": (1,)}
    path.write_text("1: [0]\n'1': [1]\n")
    with pytest.raises(InputError, match=r"w\.yaml: 1: must occur once, not several times$"):
        load_groups(path)
