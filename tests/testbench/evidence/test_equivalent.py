"""Tests of testbench.evidence.equivalent."""

from pathlib import Path

import pytest

from testbench.evidence.equivalent import EQUIVALENT, Equivalent, outcome, reason

ROOT = Path(__file__).resolve().parents[3]
KNOWN = EQUIVALENT[0]


@pytest.mark.parametrize("one", EQUIVALENT, ids=lambda one: f"{one.path}: {one.after}")
def test_reviewed_line_exists_and_has_a_reason(one: Equivalent) -> None:
    lines = [line.strip() for line in (ROOT / one.path).read_text(encoding="utf-8").splitlines()]
    assert one.before in lines
    assert one.before != one.after
    assert one.why.endswith(".")


@pytest.mark.parametrize(
    ("path", "difference", "known"),
    [
        (KNOWN.path, f"@@ -1 +1 @@\n-  {KNOWN.before}\n+  {KNOWN.after}\n", True),
        ("gen/write.py", f"@@ -1 +1 @@\n-{KNOWN.before}\n+{KNOWN.after}\n", False),
        (KNOWN.path, f"@@ -1 +1 @@\n-{KNOWN.before}\n+{KNOWN.after}0\n", False),
        (KNOWN.path, f"@@ -1 +2 @@\n-{KNOWN.before}\n+{KNOWN.after}\n+more()\n", False),
    ],
    ids=["known", "other file", "other change", "more changes"],
)
def test_only_the_reviewed_change_is_equivalent(path: str, difference: str, known: bool) -> None:
    mutant = {"path": path, "difference": difference, "outcome": "survived"}
    assert reason(mutant) == (KNOWN.why if known else None)
    assert outcome(mutant) == ("equivalent" if known else "survived")
    # A test that fails shows that the review was wrong.
    assert outcome(mutant | {"outcome": "killed"}) == "killed"
    assert outcome(mutant | {"outcome": "hung"}) == "killed"
