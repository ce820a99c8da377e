"""A sample of source mutants fails the tests of their modules.

The sample is small and quick, so that `make test` tries it in each run; `make source-mutants` draws
from all modules. A survivor shows a missing test of its module, or an equivalent mutant, which
belongs into testbench/evidence/equivalent.py.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from testbench.evidence.equivalent import outcome

from .sample import AREAS, ROOT, attempt, copied, draw, stages, tried

MODULES = (
    ("hardware", "fred_hw/control/counter.py"),
    ("compiler", "fred_hw/compiler/ring_messages.py"),
    ("generator", "gen/yosys.py"),
    ("model", "perfmodel/clock.py"),
    ("traces", "tracemodel/chakra/text_head.py"),
    ("clusters", "clustermodel/tiers.py"),
    ("studies", "studies/study/front.py"),
    ("synthesis", "synth/includes.py"),
)
"""Areas and modules whose own tests are quick and noticed every mutant that is not equivalent."""

SEED, MUTANTS, LIMIT_S = 1, 8, 60
"""Mutants of a module, each of another line; it may have fewer lines."""


@pytest.fixture(scope="module")
def tree() -> Iterator[Path]:
    with copied(ROOT) as copy:
        yield copy


def test_every_area_has_a_module() -> None:
    assert [area for area, _ in MODULES] == [*AREAS]


@pytest.mark.slow(20)
@pytest.mark.xdist_group("source_mutants")  # they share the copy
@pytest.mark.parametrize(("area", "path"), MODULES)
def test_tests_of_a_module_notice_a_sample_of_its_mutants(area: str, path: str, tree: Path) -> None:
    own = [next(stages(tree, path))]
    # Without a mutant they pass in the copy, so it is the mutant that makes them fail.
    assert tried(tree, own, LIMIT_S) == ("survived", "")
    sample = draw(tree, MUTANTS, SEED, [(area, path)])
    assert sample
    found = [attempt(tree, mutant, own, LIMIT_S) for mutant in sample]
    assert [one for one in found if outcome(one) == "survived"] == []
