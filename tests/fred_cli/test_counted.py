"""Whatever commands work on for long is counted: with a total, so that a time remains."""

from pathlib import Path

import pytest

from fred_cli.progress import _Display
from tests.fred_cli.fred import Fred

EXAMPLES = Path(__file__).parents[2] / "examples"

COUNTED = {
    "collective --topology mesh:4x4": {"algorithms", "messages of the first of {} algorithms"},
    "collective --topology mesh:4x4 --algorithm ring": {"messages", "flows", "links"},
    "wafers --topology mesh:4x4": {"streams", "simulations", "links of the first of 3 simulations"},
    "estimate --topology mesh:2x2 --workload own.yaml": {"tasks"},
    "compare --topology mesh:2x2 --workload own.yaml --workload own.yaml": {"iterations"},
    "strategies --topology mesh:2x2 --workload own.yaml": {"strategies"},
    "sweep points.yaml": {"points"},
    f"cluster {EXAMPLES}/cluster.yaml --workload transformer-1t": {"strategies", "variants"},
    f"chakra convert {EXAMPLES}/three-layers.txt -o w --passes 2": {"passes", "nodes", "files"},
    f"chakra convert {EXAMPLES}/ring-2.goal -o w": {"ranks", "operations of the first of 2 ranks"},
    "chakra convert --workload own.yaml --topology mesh:2x2 -o w": {"tasks", "files"},
    "route demo-8 --strategy MP2-DP2-PP2": {"phases"},
    "gen tiny-2 -o made": {"bits"},
}
"""Commands, and some of what they count; {} is how many algorithms there are to try."""

SWEEP = "topologies: ['mesh:2x2', fred-d]\nworkloads: [own.yaml]\nstrategies: [MP2-DP2-PP1]\n"


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> dict[str, int | None]:
    """Return what is counted from now on, and of how many."""
    found: dict[str, int | None] = {}

    def note(_display: _Display, what: str, _done: int, total: int | None, _ahead: int = 0) -> None:
        found[what] = total

    monkeypatch.setattr(_Display, "told", note)
    return found


@pytest.mark.parametrize("words", COUNTED)
def test_all_that_takes_long_has_a_total(
    words: str, told: dict[str, int | None], fred: Fred, place: Path
) -> None:
    (place / "points.yaml").write_text(SWEEP)
    fred.out(*words.split())
    assert set(told) >= {what.format(told.get("algorithms")) for what in COUNTED[words]}
    assert None not in told.values()


def test_conflicts_of_a_search_are_counted(
    told: dict[str, int | None], fred: Fred, place: Path
) -> None:
    """Three flows of three inputs each, for which the quick searches find no way."""
    from tests.fred_cli.commands.test_route import UNDECIDED

    (place / "undecided.yaml").write_text(UNDECIDED)
    words = (
        "route",
        "l1-12",
        "undecided.yaml",
        "--set",
        "middle_switches=2",
        "--max-conflicts",
        "70000",
    )
    assert fred(*words)[0] == 3
    assert told["solver conflicts"] == 70_000
