"""Tests of fred_cli.name_kinds."""

from pathlib import Path

import pytest

from fred_cli.name_kinds import check_name, name_kind
from fred_hw.errors import InputError
from fred_hw.file_kinds import SWITCH, TOPOLOGY, WORKLOAD


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("L1-12", SWITCH),
        ("fred-d", TOPOLOGY),
        ("torus:4x4", TOPOLOGY),
        ("Transformer-17B", WORKLOAD),
        ("fred-x", None),
        ("", None),
    ],
)
def test_names_have_one_kind(name: str, kind: str | None) -> None:
    assert name_kind(name) == kind
    for wanted in (SWITCH, TOPOLOGY, WORKLOAD):
        if kind in (None, wanted):
            check_name(name, wanted)
        else:
            with pytest.raises(InputError, match=rf"^{name}: must be {wanted}, not the (name|pre)"):
                check_name(name, wanted)


@pytest.mark.parametrize("file", ["fred-d", "fred-d.0.et", "fred-d.0.json"])
def test_a_file_or_a_set_of_traces_may_have_a_name_of_another_kind(file: str, place: Path) -> None:
    (place / file).touch()
    check_name("fred-d", WORKLOAD)
