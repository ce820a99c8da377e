"""Tests of perfmodel.studies.sweep_points: what a sweep file says, and what is refused in it."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from fred_hw.errors import InputError
from perfmodel.studies import sweep_points
from perfmodel.studies.strategies import feasible
from perfmodel.studies.sweep_points import MAX_POINTS, Sweep, load_sweep
from perfmodel.workloads.workload import load_workload
from tests.written import written

BASE = {"topologies": ["mesh:2x2", "fred-d"], "workloads": ["resnet-152"]}
MESH = "kind: mesh\ncolumns: 3\nrows: 2\n"


def read(folder: Path, **keys: Any) -> Sweep:
    path = written(folder / "sweep.yaml", yaml.safe_dump({**BASE, **keys}))
    return load_sweep(path)


def test_files_are_relative_to_the_sweep_and_called_as_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "wafer.yaml").write_text(f"{MESH}protocol: ideal\n")
    names = ["fred-d", "folder/wafer.yaml"]
    job = Path(sweep_points.__file__).parents[1] / "workloads" / "resnet-152.yaml"
    (tmp_path / "job.yaml").write_text(job.read_text())
    sweep = read(tmp_path, topologies=names, workloads=["job.yaml"])
    [group] = sweep.groups
    assert [(one.topology, one.protocol) for one in group] == [
        ("fred-d", "measured"),
        ("folder/wafer.yaml", "ideal"),
    ]
    requests = [sweep.request(replace(one, strategy="MP1-DP6-PP1")) for one in group]
    assert [one.topology.name for one in requests] == names
    assert requests[1].topology.npus == 6
    assert requests[0].workload.name == "job.yaml"
    assert sweep.baseline == "fred-d"
    asked = read(tmp_path, topologies=names, protocols=["ideal", "measured"])
    assert [[one.protocol for one in group] for group in asked.groups] == [
        ["ideal", "ideal"],
        ["measured", "measured"],
    ]


def test_points_go_workload_by_workload_and_topologies_stand_together(tmp_path: Path) -> None:
    sweep = read(
        tmp_path,
        workloads=["resnet-152", "gpt-3"],
        strategies=["MP1-DP2-PP1", "MP1-DP1-PP2"],
        npus=[{"hbm_bytes": "2e9"}, {}],
    )
    assert [(g[0].workload, g[0].strategy, g[0].npu) for g in sweep.groups] == [
        (workload, strategy, npu)
        for workload in ("resnet-152", "gpt-3")
        for strategy in ("MP1-DP2-PP1", "MP1-DP1-PP2")
        for npu in ("hbm_bytes=2000000000", "")
    ]
    assert all([one.topology for one in g] == BASE["topologies"] for g in sweep.groups)


REFUSED = {
    "no topologies": ({"topologies": []}, r"topologies: must have 1 or more entries, not \[\]"),
    "topology": (
        {"topologies": ["fred-d", "ring"]},
        r"topologies\.1: must be one of mesh:COLUMNSxROWS, .* or a path .*, not 'ring'",
    ),
    "size": (
        {"topologies": ["mesh:0x2"]},
        r"topologies\.0: columns: must be an integer from 1 to 256, not 0",
    ),
    "type": ({"topologies": [5]}, r"topologies\.0: must be a valid string, not 5"),
    "twice": (
        {"topologies": ["fred-d", "fred-a", "fred-d"]},
        r"topologies: must have each entry once, not 'fred-d' twice",
    ),
    "same file": (
        {"topologies": ["wafer.yaml", "./wafer.yaml"]},
        r"topologies: must have each file once, not 'wafer\.yaml' and '\./wafer\.yaml'",
    ),
    "nul": ({"topologies": ["a\0.yaml"]}, r"topologies: must be names of files, not 'a.x00\.yaml'"),
    "loop": ({"workloads": ["loop.yaml"]}, r"workloads: must be .*, not 'loop\.yaml'"),
    "workload": (
        {"workloads": ["bert"]},
        r"workloads\.0: must be .*, not 'bert'",
    ),
    "strategy": (
        {"strategies": ["MP1-DP2-PP1", "MP2"]},
        r"strategies\.1: must be like MP2-DP5-PP2, not 'MP2'",
    ),
    "strategies": (
        {"strategies": "some"},
        r"strategies: must be all, or a list of one or more like MP2-DP5-PP2, not 'some'",
    ),
    "same strategy": (
        {"strategies": ["MP1-DP2-PP1", "MP01-DP2-PP1"]},
        r"strategies: must have each entry once, not 'MP01-DP2-PP1' twice",
    ),
    "same in other letters": (
        {"strategies": ["MP1-DP2-PP1", "TP1-DP2-PP1"]},
        r"strategies: must have each entry once, not 'TP1-DP2-PP1' twice",
    ),
    "least": ({"least_npus": 4}, r"least_npus: must be given with strategies: all alone"),
    "cp": ({"cp": [2]}, r"cp: must be given with strategies: all alone"),
    "ep": (
        {"ep": [2], "strategies": ["MP1-DP2-PP1"]},
        r"ep: must be given with strategies: all alone",
    ),
    "sp": ({"sp": True}, r"sp: must be given with strategies: all alone"),
    "cp of 0": (
        {"strategies": "all", "cp": [1, 0]},
        r"cp\.1: must be an integer from 1 to 4096, not 0",
    ),
    "ep twice": (
        {"strategies": "all", "ep": [2, 2]},
        r"ep: must have each entry once, not 2 twice",
    ),
    "no experts": (
        {"strategies": "all", "ep": [2]},
        r"strategies: must leave one that goes with resnet-152, not none with cp \[1\], ep \[2\]",
    ),
    "too many": ({"strategies": "all", "least_npus": 5}, r"least_npus: must be 1 to 4, not 5"),
    "compute": (
        {"compute_models": ["peak:2", "guessed"]},
        r"compute_models\.1: must be one of first-principles, .*, not 'guessed'",
    ),
    "factor": (
        {"compute_models": ["scaled:0"]},
        r"compute_models\.0: must be scaled:K with K from 1e-06 to 1e\+06, not 'scaled:0'",
    ),
    "unfair": (
        {"topologies": ["ideal.yaml", "fred-d"], "compute_models": ["calibrated"]},
        r"compute_models\.0: must be first-principles for fabrics some of whose .* are ideal",
    ),
    "algorithm": (
        {"algorithms": ["auto", "gossip"]},
        r"algorithms\.1: must be one of the \d+ names .*, not 'gossip'",
    ),
    "placement": (
        {"placements": ["nowhere"]},
        r"placements\.0: must be one of auto, anneal, linear, .*, not 'nowhere'",
    ),
    "protocol": (
        {"protocols": ["free"]},
        r"protocols\.0: must be one of measured, ideal, not 'free'",
    ),
    "npu": ({"npus": [{"cores": 2}]}, r"npus\.0\.cores: unknown key; allowed are peak_flops, .*"),
    "same npu": (
        {"npus": [{"hbm_bytes": 2e9}, {"hbm_bytes": "2e9"}]},
        r"npus: must have each entry once, .*",
    ),
    "no change": (
        {"npus": [{}, {"efficiency": {}}]},
        r"npus: must have each entry once, not two that are alike",
    ),
    "baseline": (
        {"baseline": "fred-a"},
        r"baseline: must be one of mesh:2x2, fred-d, not 'fred-a'; did you mean 'fred-d'\?",
    ),
    "memory": (
        {"memories": ["none", "pool"]},
        r"memories\.1: must be none, or a path ending in \.yaml, not 'pool'",
    ),
    "same memory": ({"memories": ["none", "none"]}, r"memories: must have each entry once, .*"),
    "key": ({"topology": ["fred-d"]}, r"topology: unknown key; allowed are topologies, .*"),
    "samples": ({"samples": 0}, r"samples: must be an integer from 1 to 1048576, not 0"),
}


@pytest.mark.parametrize(("keys", "message"), REFUSED.values(), ids=REFUSED)
def test_bad_files_are_refused(keys: dict[str, Any], message: str, tmp_path: Path) -> None:
    (tmp_path / "wafer.yaml").write_text(MESH)
    (tmp_path / "ideal.yaml").write_text(f"{MESH}protocol: ideal\n")
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    with pytest.raises(InputError, match=f"^{re.escape(str(tmp_path))}/sweep.yaml: {message}$"):
        read(tmp_path, **keys)


def test_what_is_wrong_in_another_file_names_that(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("kind: mesh\ncolumns: 2\n")
    for keys, message in (
        ({"topologies": ["bad.yaml"]}, r"bad\.yaml: rows: is required and was not given"),
        ({"workloads": ["bad.yaml"]}, r"bad\.yaml: must be a workload, not a topology .*"),
        (
            {"memories": ["bad.yaml"]},
            r"bad\.yaml: must be an ASTRA-sim remote memory, not .*",
        ),
        ({"topologies": ["none.yaml"]}, r"none\.yaml: must be an existing file, .*"),
    ):
        with pytest.raises(InputError, match=f"^{re.escape(str(tmp_path))}/{message}$"):
            read(tmp_path, **keys)


def test_all_strategies_are_those_of_the_cp_ep_and_sp_that_are_asked_for(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"topologies": ["mesh:4x2", "mesh:3x3"], "strategies": "all"}
    keys |= {"workloads": ["mixtral-8x7b", "resnet-152"], "least_npus": 8}
    sweep = read(tmp_path, **keys, cp=[1, 2], ep=[1, 4], sp=True)
    for name in keys["workloads"]:
        job = load_workload(name)
        more: dict[str, Any] = {"cp": [1, 2], "ep": [1, 4], "sp": True}
        want = [str(one) for one in feasible(job, 8, 8, **more)]
        assert [g[0].strategy for g in sweep.groups if g[0].workload == name] == want
    found = {g[0].strategy for g in sweep.groups if g[0].workload == "mixtral-8x7b"}
    assert {"MP1-DP8-PP1-EP4", "MP2-DP2-PP1-CP2-SP", "MP1-DP4-PP1-CP2-EP4"} <= found
    assert not [g for g in sweep.groups if g[0].workload == "resnet-152" and "C" in g[0].strategy]
    plain = {group[0].strategy for group in read(tmp_path, **keys).groups}
    assert not [one for one in plain if "C" in one or "E" in one or "S" in one]


def test_strategies_beyond_the_limit_are_not_all_looked_for(tmp_path: Path) -> None:
    keys = {"topologies": ["mesh:32x32"], "workloads": ["mixtral-8x7b"], "strategies": "all"}
    message = r"sweep\.yaml: must have at most 10,000 points, not 10,001 or more$"
    with pytest.raises(InputError, match=message):
        read(tmp_path, **keys, least_npus=1, cp=[1, 2, 4, 8], ep=[1, 2, 4, 8], sp=True)


@pytest.mark.slow
def test_points_have_a_limit_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_POINTS == 10_000
    npus = [{"peak_flops": n} for n in range(1, 5002)]
    message = r"sweep\.yaml: must have at most 10,000 points, not 10,002 or more$"
    with pytest.raises(InputError, match=message):
        read(tmp_path, npus=npus)
    assert len(read(tmp_path, npus=npus[:5000]).groups) == 5000
    monkeypatch.setattr(sweep_points, "MAX_POINTS", 5)
    three = ["MP1-DP2-PP1", "MP1-DP1-PP2", "MP1-DP1-PP1"]
    for strategies in (three, "all"):
        with pytest.raises(InputError, match=r"must have at most 5 points, not \d+ or more$"):
            read(tmp_path, strategies=strategies)
    assert len(read(tmp_path, strategies=three[:2]).groups) == 2
