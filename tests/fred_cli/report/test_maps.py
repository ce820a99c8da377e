"""Tests of fred_cli.report.maps."""

from pathlib import Path

import pytest

from fred_cli.report.maps import maps
from fred_cli.report.study import Question, study
from tests.written import written

from .test_study import EXPERTS

EVERYTHING = [
    "MP reduce-scatter",
    "MP all-gather",
    "DP all-reduce",
    "PP multicast",
    "CP all-gather",
    "CP reduce-scatter",
    "EP all-to-all",
    "EP all-reduce",
]


@pytest.mark.slow_after_first
@pytest.mark.parametrize(
    ("strategy", "phases"),
    [
        ("MP2-DP2-PP2-CP2-EP2-SP", EVERYTHING),
        ("MP2-DP8-PP1", ["MP all-reduce", "DP all-reduce"]),
        ("MP1-DP1-PP4-CP4", ["DP all-reduce", "PP multicast", *EVERYTHING[4:6]]),
        ("MP1-DP4-PP4-EP4", ["DP all-reduce", "PP multicast", "EP all-to-all"]),
    ],
)
def test_each_phase_of_the_strategy_has_a_map(
    tmp_path: Path, strategy: str, phases: list[str]
) -> None:
    path = written(tmp_path / "own.yaml", EXPERTS)
    found = maps(study(Question(("mesh:4x4",), str(path), strategy, least_npus=16)))
    whole, *own = [one for one in found if "streamed" not in one.phase]
    assert whole.phase == "all-reduce of all NPUs"
    assert [one.phase for one in own] == [f"{phase} of {strategy}" for phase in phases]
    for one in found:
        assert one.fabric == "mesh:4x4" and 0 < max(share for _, share in one.loads) <= 1 + 1e-9


def test_an_exchange_within_a_row_leaves_the_columns_idle(tmp_path: Path) -> None:
    path = written(tmp_path / "own.yaml", EXPERTS)
    found = maps(study(Question(("mesh:4x4",), str(path), "MP1-DP16-PP1-EP4", least_npus=16)))
    exchange, reduction = (
        next(one for one in found if one.phase.startswith(words))
        for words in ("EP all-to-all", "EP all-reduce")
    )
    between = {tuple(name.split(" -> ")) for name, _ in exchange.loads}
    rows = [{f"npu_{4 * row + column}" for column in range(4)} for row in range(4)]
    assert between and all(any(set(ends) <= row for row in rows) for ends in between)
    assert not between & {tuple(name.split(" -> ")) for name, _ in reduction.loads}
