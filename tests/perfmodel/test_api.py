"""Tests of perfmodel.api."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from fred_hw.errors import InputError
from perfmodel.api import Wafer, compare, to_dataframe
from perfmodel.topology.parse import parse_topology
from perfmodel.training.compute import Npu
from perfmodel.training.estimate import estimate
from perfmodel.training.request import Request
from perfmodel.training.strategies import feasible, sweep
from perfmodel.workloads.workload import load_workload, with_batch
from tests.written import written

EXAMPLES = Path("examples")


def test_a_wafer_estimates_what_the_functions_do() -> None:
    wafer, job = Wafer.from_yaml(EXAMPLES / "mesh-8x6.yaml"), load_workload("transformer-17b")
    same = estimate(Request.of(parse_topology("examples/mesh-8x6.yaml"), job, "MP3-DP8-PP2"))
    for workload in (job, "transformer-17b"):
        assert wafer.estimate(workload, "MP3-DP8-PP2") == same
    assert wafer.npus == 48
    result = Wafer.named("fred-d").collective("all_reduce", 1e9)
    assert result.groups == (tuple(range(20)),)


def test_npus_of_a_wafer_change_by_key() -> None:
    wafer = Wafer.named("fred-d")
    slow = wafer.with_npu(peak_flops=1e12, efficiency={"matmul": 0.5})
    assert slow.estimate("resnet-152").busy_s > wafer.estimate("resnet-152").busy_s
    assert wafer.topology.npu_rates == {}
    assert Npu().peak_flops > 1e12


def test_study_has_the_strategies_that_fit_fastest_first() -> None:
    wafer, job = Wafer.named("fred-d"), load_workload("resnet-152")
    found = wafer.strategies(job, samples=16, least_npus=20)
    batch = with_batch(job, 16, 1)
    rows = sweep([Request.of(wafer.topology, batch)], feasible(job, 20, 20))
    assert list(found) == [row.estimate for row in rows if row.feasible]
    assert len(found) > 1
    times = found.to_dataframe()["time_per_sample_s"]
    assert list(times) == sorted(times)


def test_strategies_take_context_expert_and_sequence_parallelism() -> None:
    wafer, job = Wafer.named("mesh:2x2"), load_workload("mixtral-8x7b")
    some = replace(job, network=replace(job.network, layers=job.network.layers[:3]))
    found = wafer.strategies(some, samples=4, least_npus=4, cp=(1, 2), ep=(1, 2), sp=True)
    choices = feasible(some, 4, 4, cp=(1, 2), ep=(1, 2), sp=True)
    rows = sweep([Request.of(wafer.topology, with_batch(some, 4, 1))], choices)
    assert list(found) == [row.estimate for row in rows if row.feasible]
    names = [str(one.strategy) for one in found]
    assert all(any(part in name for name in names) for part in ("-CP2", "-EP2", "-SP"))


def test_studies_take_remote_memory(tmp_path: Path) -> None:
    pool = written(tmp_path / "pool.yaml", "memory-type: MEMORY_POOL\nremote-mem-bw: 1\n")
    wafer = Wafer.named("fred-d")
    [one] = compare([wafer], ["resnet-152"], memory=pool)
    assert one == wafer.estimate("resnet-152", memory=pool) != wafer.estimate("resnet-152")
    some = wafer.strategies("resnet-152", samples=16, least_npus=20, memory=pool)
    same = wafer.strategies("resnet-152", samples=16, least_npus=20)
    loads = {row.strategy: row.communication_s["input_load"] for row in same}
    assert all(row.communication_s["input_load"] > loads[row.strategy] for row in some)


def test_table_has_a_column_for_each_figure_and_survives_parquet(tmp_path: Path) -> None:
    wafers = [Wafer.named("mesh:5x4"), Wafer.named("fred-d")]
    study = compare(wafers, ["resnet-152"])
    table = study.to_dataframe()
    assert list(table["topology"]) == ["mesh:5x4", "fred-d"]
    for row, one in zip(table.to_dict("records"), study, strict=True):
        assert row["iteration_time_s"] == one.iteration_time_s
        assert row["exposed_s.dp"] == one.exposed_s.dp
        assert row["memory.weights_bytes"] == one.memory.weights_bytes
        assert row["communication_s.dp"] == one.communication_s["dp"]
        assert "assumed" not in row and one.provenance.assumptions[0] in row["provenance"]
    table.to_parquet(tmp_path / "table.parquet")
    assert pd.read_parquet(tmp_path / "table.parquet").equals(table)
    result = wafers[1].collective("all_reduce", 1e6)
    collective = to_dataframe([result])
    assert collective["time_s"][0] == result.time_s
    assert "links" not in collective and collective["bottleneck.link"][0] == result.bottleneck.link


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Wafer.from_yaml("wafer"), r"wafer: must be a path ending in \.yaml"),
        (
            lambda: Wafer.named("ring"),
            r"topology: must be one of mesh:.*, not 'ring'",
        ),
        (lambda: Wafer.named("fred-d").with_npu(hbm=1), r"npu: hbm: unknown key; allowed are .*"),
        (
            lambda: Wafer.named("fred-d").estimate("bert"),
            r"workload: must be one of the 11 .*",
        ),
        (
            lambda: Wafer.named("fred-d").strategies("gpt-3", samples=0),
            r"gpt-3: samples_per_replica: must be 1 to 1048576, not 0",
        ),
        (
            lambda: Wafer.named("fred-d").strategies("gpt-3", cp=(1, 0)),
            r"cp: must be 1 to 4096, not 0",
        ),
        (lambda: Wafer.named("fred-d").strategies("gpt-3", ep=()), r"ep: must be 1 .*, not none"),
        (
            lambda: Wafer.named("fred-d").strategies("resnet-152", ep=(3,)),
            r"least_npus: must leave a strategy that goes with resnet-152 and the CP and EP given",
        ),
    ],
    ids=["file", "name", "npu", "workload", "samples", "cp", "ep", "none"],
)
def test_bad_input_is_refused(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(InputError, match=f"^{message}$"):
        call()


def test_table_without_pandas_says_what_to_install() -> None:
    code = (
        "import sys\nsys.modules['pandas'] = None\n"
        "from fred_hw.errors import InputError\nfrom perfmodel.api import to_dataframe\n"
        "try:\n    to_dataframe([])\nexcept InputError as error:\n    print(error)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.startswith(
        "pandas: must be installed for tables: pip install 'fred-hw[tables]'"
    )


def test_wafers_whose_npus_differ_are_compared_only_on_request() -> None:
    mesh, fred = Wafer.named("mesh:5x4"), Wafer.named("fred-d").with_npu(peak_flops=1e12)
    message = r"^topology: must have equal NPUs unless npu_from or as_is is given, not peak_flops "
    with pytest.raises(InputError, match=message):
        compare([mesh, fred], ["resnet-152"])
    fast, slow = compare([mesh, fred], ["resnet-152"], as_is=True)
    assert (fast, slow) == (mesh.estimate("resnet-152"), fred.estimate("resnet-152"))
    both = compare([mesh, fred], ["resnet-152"], npu_from="fred-d", algorithm="auto")
    assert both.estimates[1] == fred.estimate("resnet-152", algorithm="auto")
    assert both.estimates[0].busy_s == both.estimates[1].busy_s > 10 * fast.busy_s
