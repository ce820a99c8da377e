"""Tests of perfmodel.workloads.workload."""

import re
from pathlib import Path

import pytest

from fred_hw.compiler.placement import Strategy
from fred_hw.errors import InputError
from perfmodel.workloads import workload
from perfmodel.workloads.file import KINDS
from perfmodel.workloads.pipeline_schedule import SCHEDULES
from perfmodel.workloads.transformer import transformer
from perfmodel.workloads.workload import PUBLISHED, WORKLOADS, load_workload, parse_strategy
from tests.documented import documented_keys, read_keys
from tests.written import written

GOOD = """\
kind: transformer
layers: 2
hidden: 8
heads: 2
sequence: 4
vocabulary: 10
strategy: MP2-DP1-PP1
mode: stationary
microbatches: 2
samples_per_replica: 4
"""
RESNET = """\
kind: resnet
blocks: [1, 1, 1, 1]
image: 64
classes: 10
strategy: MP1-DP2-PP1
mode: stationary
microbatches: 1
samples_per_replica: 1
"""


def write(folder: Path, text: str) -> str:
    return str(written(folder / "workload.yaml", text))


@pytest.mark.parametrize(
    ("name", "strategy", "mode", "microbatches"),
    [
        ("resnet-152", Strategy(1, 20, 1), "stationary", 1),
        ("transformer-17b", Strategy(3, 3, 2), "stationary", 8),
        ("gpt-3", Strategy(2, 5, 2), "streaming", 2),
        ("transformer-1t", Strategy(1, 20, 1), "streaming", 1),
    ],
)
def test_published_set_up(name: str, strategy: Strategy, mode: str, microbatches: int) -> None:
    found = load_workload(name)
    assert found.strategy == strategy
    assert (found.mode, found.microbatches) == (mode, microbatches)
    assert found.samples_per_replica == 16


def test_shipped_workloads_are_those_of_the_paper_and_then_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert PUBLISHED == ("resnet-152", "transformer-17b", "gpt-3", "transformer-1t")
    assert WORKLOADS[: len(PUBLISHED)] == PUBLISHED
    monkeypatch.setattr(workload, "_FOLDER", tmp_path)
    for name in ("mine", "gpt-3", "bert", "resnet-152"):
        (tmp_path / f"{name}.yaml").touch()
    assert workload.shipped() == ("resnet-152", "gpt-3", "bert", "mine")


def test_file_is_read(tmp_path: Path) -> None:
    assert load_workload(write(tmp_path, GOOD)).network == transformer(2, 8, 2, 4, 10)
    tensor = GOOD.replace("MP2", "TP2")
    assert load_workload(write(tmp_path, tensor)) == load_workload(write(tmp_path, GOOD))
    assert len(load_workload(write(tmp_path, RESNET)).network.layers) == 1 + 4 + 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            GOOD.replace("transformer", "none"),
            f"kind: must be one of {', '.join(KINDS)}, not 'none'",
        ),
        (GOOD.replace("layers: 2", "layers: 0"), "layers: must be an integer from 1 to .*, not 0"),
        (GOOD.replace("layers: 2", "layers: 99999"), "layers: must .* 1 to 10000, not 99999"),
        (GOOD.replace("heads: 2", "heads: 3"), "heads: must be a divisor of hidden, 8, not 3"),
        (
            GOOD.replace("batches: 2", "batches: 3"),
            "microbatches: must be a divisor of samples_per_replica, 4, not 3",
        ),
        (GOOD.replace("MP2-DP1-PP1", "MP2"), "strategy: must be like MP2-DP5-PP2, not 'MP2'"),
        (GOOD.replace("stationary", "x"), "mode: must be one of stationary, streaming, not 'x'"),
        (GOOD + "schedule: x\n", f"schedule: must be one of {', '.join(SCHEDULES)}, not 'x'"),
        (GOOD + "overlap: 1\n", "overlap: must be a valid boolean, not 1"),
        (GOOD + "width: 1\n", "width: unknown key; allowed are .*"),
        (RESNET.replace("64", "65568"), "image: must be an integer from 32 to 65536, not 65568"),
        (RESNET.replace("64", "65"), "image: must be a multiple of 32, not 65"),
        (RESNET.replace("1, 1, 1, 1", "1, 1, 1"), r"blocks: must have 4 or more entries, not .*"),
        (
            RESNET.replace("1, 1, 1, 1", "1, 1, 1, 1, 1"),
            "blocks: must have at most 4 entries, not .*",
        ),
    ],
)
def test_bad_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError, match=rf"^{re.escape(path)}: {message}$"):
        load_workload(path)


def test_schedule_and_overlap_are_read(tmp_path: Path) -> None:
    plain = load_workload(write(tmp_path, GOOD))
    assert (plain.schedule, plain.overlap) == ("1f1b", False)
    other = load_workload(write(tmp_path, GOOD + "schedule: gpipe\noverlap: true\n"))
    assert (other.schedule, other.overlap) == ("gpipe", True)


def test_unknown_name_is_refused() -> None:
    message = (
        rf"^workload: must be one of the {len(WORKLOADS)} names that 'fred estimate --help' lists "
        r"or a path ending in \.yaml, not 'bert'$"
    )
    with pytest.raises(InputError, match=message):
        load_workload("bert")


@pytest.mark.parametrize("text", ["", "MP0-DP1-PP1", "MP1-PP1", "MP1-DP1-PP1-XP1"])
def test_bad_strategy_is_refused(text: str) -> None:
    message = rf"^strategy: must be like MP2-DP5-PP2, not {re.escape(repr(text))}$"
    with pytest.raises(InputError, match=message):
        parse_strategy(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("MP1-DP6-PP1-EP4", "must have an EP that divides DP, not MP1-DP6-PP1-EP4"),
        ("MP1-DP6-PP1-SP", "must have MP of 2 or more with SP, not MP1-DP6-PP1-SP"),
        ("MP1-DP6-PP1-CP0", "must be like MP2-DP5-PP2, not 'MP1-DP6-PP1-CP0'"),
        ("MP1-DP6-PP1-EP2-CP2", "must be like MP2-DP5-PP2, not 'MP1-DP6-PP1-EP2-CP2'"),
    ],
)
def test_sizes_that_do_not_go_together_are_named(text: str, said: str) -> None:
    with pytest.raises(InputError, match=f"^a: strategy: {said}$"):
        parse_strategy(text, "a")
    assert str(parse_strategy("MP2-DP4-PP1-CP3-EP2-SP")) == "MP2-DP4-PP1-CP3-EP2-SP"


def test_ranges_and_defaults_are_those_of_the_reference() -> None:
    assert read_keys("workload") == documented_keys("workload") != []
