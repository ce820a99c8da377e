"""Tests of tracemodel.chakra.traces."""

import re
from pathlib import Path

import pytest

from fred_hw.errors import InputError
from tracemodel.chakra.files import read
from tracemodel.chakra.traces import ENDINGS, find_traces, groups_path, trace_path, trace_paths

from .golden import LLAMA


def test_real_set_has_four_ranks() -> None:
    assert find_traces(LLAMA) == [Path(f"{LLAMA}.{rank}.et.gz") for rank in range(4)]


def test_ranks_are_sorted_as_numbers(tmp_path: Path) -> None:
    for rank in range(12):
        trace_path(tmp_path / "a.b", rank).touch()
    for other in ("a.b.01.et", "a.b.x.et", "aab.0.et", "a.b.12.txt"):
        (tmp_path / other).touch()
    found = find_traces(tmp_path / "a.b")
    assert [path.name for path in found] == [f"a.b.{rank}.et" for rank in range(12)]


@pytest.mark.parametrize("ending", ENDINGS)
def test_target_may_give_the_ending_of_a_set(tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"a.b{ending}"
    paths = trace_paths(target, 2)
    assert [path.name for path in paths] == [f"a.b.0{ending}", f"a.b.1{ending}"]
    assert groups_path(target) == groups_path(tmp_path / "a.b") == tmp_path / "a.b.groups.json"
    for path in (*paths, groups_path(target)):
        path.touch()
    assert find_traces(tmp_path / "a.b") == paths


@pytest.mark.parametrize("prefix", ["a", "a.b", "a.gz", "a.ET", ".et", "a.et/b"])
def test_target_without_an_ending_is_a_prefix(prefix: str) -> None:
    assert trace_paths(Path(prefix), 2) == [Path(f"{prefix}.{rank}.et") for rank in range(2)]
    assert groups_path(Path(prefix)) == Path(f"{prefix}.groups.json")


def test_missing_rank_is_named(tmp_path: Path) -> None:
    for rank in (0, 1, 3):
        trace_path(tmp_path / "w", rank).touch()
    line = f"{tmp_path}/w.2.et: must exist, as the trace of rank 3 exists"
    with pytest.raises(InputError, match=f"^{re.escape(line)}$"):
        find_traces(tmp_path / "w")


@pytest.mark.parametrize("prefix", ["w", "none/w"])
def test_prefix_of_nothing_is_refused(tmp_path: Path, prefix: str) -> None:
    (tmp_path / "w.et").touch()
    message = r"must be the prefix of traces such as w\.0\.et, of which there are none$"
    with pytest.raises(InputError, match=message):
        find_traces(tmp_path / prefix)


OTHER_KINDS = {
    "w.txt": "a text workload of ASTRA-sim 1.0, .*: fred chakra convert FILE -o PREFIX",
    "w.goal": "a schedule in GOAL, .*: fred chakra convert FILE -o PREFIX",
    "W.ONNX": "a trained network, .*: fred repurpose",
    "w.yaml": "a YAML file; .*: fred chakra convert --workload FILE --topology .* -o PREFIX",
    "w.yml": "a YAML file; .*",
}


@pytest.mark.parametrize("name", OTHER_KINDS)
def test_files_of_other_kinds_are_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("x")
    with pytest.raises(InputError, match=rf"must be a Chakra trace, not {OTHER_KINDS[name]}$"):
        read(path)
    wanted = rf"must be the prefix of a set of traces, not {OTHER_KINDS[name]}$"
    with pytest.raises(InputError, match=wanted):
        find_traces(path)
    trace_path(path, 0).touch()
    assert find_traces(path) == [trace_path(path, 0)]


@pytest.mark.parametrize("ending", ["et", "0.et", "12.et.gz", "0.json", "json.gz"])
def test_a_single_trace_is_no_set(tmp_path: Path, ending: str) -> None:
    message = r"must be the prefix of a set of traces, such as w of w\.0\.et, not a single trace$"
    with pytest.raises(InputError, match=message):
        find_traces(tmp_path / f"w.{ending}")
