"""The page of proofs lists every property as it is now, each proven."""

import json

import pytest

from docs.generate.proofs import RESULTS
from testbench.formal.property import PROPERTIES

from .pages import ROOT

FOUND = {one["name"]: one for one in json.loads(RESULTS.read_text(encoding="utf-8"))["properties"]}


def test_every_property_is_listed_as_it_is() -> None:
    assert list(FOUND) == list(PROPERTIES)
    for name, one in PROPERTIES.items():
        listed = FOUND[name]
        assert (listed["shows"], listed["omits"]) == (one.shows, one.omits), name
        assert listed["cycles"] == (one.bound.cycles if one.bound else None), name


def test_readme_has_the_number_of_properties() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"| {len(PROPERTIES)} properties of units, links and small interconnects hold" in text


def test_every_listed_property_is_proven_and_can_fail() -> None:
    for name, one in FOUND.items():
        assert one["holds"] is True, name
        assert one["killed_after"] is not None, name
        assert one["covers"] and None not in one["covers"].values(), name


@pytest.mark.slow
@pytest.mark.parametrize("name", PROPERTIES)
def test_proven_netlist_is_that_of_today(name: str) -> None:
    """A proof of another netlist must be repeated: fred formal."""
    assert FOUND[name]["netlist_sha256"] == PROPERTIES[name].netlist_sha256()
