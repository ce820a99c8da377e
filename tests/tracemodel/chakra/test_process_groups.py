"""Tests of tracemodel.chakra.process_groups."""

import json
from pathlib import Path
from typing import Any

import pytest

from fred_hw.errors import InputError
from tracemodel.chakra.files import read, read_tasks, write
from tracemodel.chakra.kinds import NodeType
from tracemodel.chakra.node import InOut, Node
from tracemodel.chakra.process_groups import ProcessGroups

ALL = {"pg_name": "7", "ranks": [], "group_size": 4, "group_count": 3}
LOW = {"pg_name": "8", "ranks": [1, 0], "group_size": 2}


def values(*groups: Any) -> str:
    """Return the values of the inputs of a node that lists groups, as JSON writes a list."""
    return json.dumps([json.dumps(groups)])


def found(text: str, ranks: int | None = 4) -> dict[str, tuple[int, ...]]:
    groups = ProcessGroups(ranks)
    groups.add(text, "w.0.et", 3)
    return groups.groups


def test_no_ranks_are_all_and_others_keep_their_order() -> None:
    assert found(values(ALL, LOW)) == {"7": (0, 1, 2, 3), "8": (1, 0)}


def test_list_may_be_as_python_writes_it_or_none() -> None:
    described = {**LOW, "group_desc": 'rank\'s \\ "own"'}
    text = json.dumps([described])
    assert found(repr([text])) == found(values(described)) == found(text) == {"8": (1, 0)}


def test_ranks_may_be_a_mapping_to_places() -> None:
    placed = {"pg_name": "8", "ranks": {"3": 1, "10": 0}}
    assert found(values(placed), 11) == {"8": (10, 3)}


def test_group_of_all_ranks_needs_no_entry() -> None:
    every = [{"pg_name": name, "ranks": [0, 1]} for name in ("0", "")]
    assert found(values(*every), 2) == {}


def test_size_says_who_all_are_where_one_trace_alone_is_known() -> None:
    assert found(values(ALL), None) == {"7": (0, 1, 2, 3)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "inputs: must be a list of process groups, not None"),
        ('["[1"]', "inputs: must be JSON, not text with an error.*"),
        (json.dumps(["[" * 200 + "]" * 200]), "inputs: must be JSON, .* nested at most .*"),
        ("[1]", "inputs: must list process groups, not 1"),
        ('{"a": 1}', "inputs: must be a list of process groups, not {'a': 1}"),
        (values({"ranks": [0]}), "inputs: pg_name: must be a text, not None"),
        (values({"pg_name": "8"}), ".*'8': ranks: must be a list of ranks, not None"),
        (values({**LOW, "ranks": ["a"]}), ".*'8': ranks: must be integers from 0 up, not 'a'"),
        (values({**LOW, "ranks": [None]}), ".*'8': ranks: must be integers from 0 up, not None"),
        (values({**LOW, "ranks": [True]}), ".*'8': ranks: must be integers from 0 up, not True"),
        (values({**LOW, "ranks": {"a": 0}}), ".*'8': ranks: must be integers from 0 up, not 'a'"),
        (values({**LOW, "ranks": [1, 1]}), ".*'8': ranks: must have each rank once, .*"),
        (values({**LOW, "ranks": [0, 4]}), ".*'8': ranks: must be ranks 0 to 3 of .*, not 4"),
        (values({**LOW, "group_size": 3}), ".*'8': group_size: .* of its ranks, 2, not 3"),
        (values({**ALL, "group_size": 8}), ".*'7': group_size: .* of its ranks, 4, not 8"),
        (values({"pg_name": "0", "ranks": [1]}), ".*'0': ranks: must be all 4 ranks .*, not 1"),
        (values(LOW, {**LOW, "ranks": [0, 1]}), ".*'8': ranks: must be the same as in w.0.et"),
    ],
)
def test_bad_groups_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=rf"^w\.0\.et: node 3: {message}$"):
        found(text)


def test_all_of_one_trace_need_a_number() -> None:
    with pytest.raises(InputError, match="ranks: must be listed in one trace of a set"):
        found(values({"pg_name": "7", "ranks": []}), None)


def test_metadata_nodes_alone_list_groups(tmp_path: Path) -> None:
    inputs = InOut(values(LOW))
    named = Node(1, "## process_group:init ##", NodeType.METADATA_NODE, inputs=inputs)
    others = (
        Node(2, "## process_group:init ##", NodeType.COMP_NODE, inputs=inputs),
        Node(3, "other", NodeType.METADATA_NODE, inputs=inputs),
        Node(4, "## process_group:init ##", NodeType.METADATA_NODE),
    )
    write(tmp_path / "w.et", (named, *others))
    for reader in (read, read_tasks):
        assert [node.groups for node in reader(tmp_path / "w.et")] == [inputs.values, "", "", ""]
