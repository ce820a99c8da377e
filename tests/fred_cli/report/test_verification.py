"""The section on verification has what the records state, as the page of evidence does."""

import re
from html import unescape

import pytest

from docs.generate.evidence import evidence_page
from fred_cli.report.page import Made
from fred_cli.report.verification import verification
from fred_cli.templates import environment
from testbench.evidence.summary import ATTACKS, PROOFS, read, summaries


@pytest.fixture(scope="module")
def cells() -> list[list[str]]:
    """Return the cells of each row of the section's tables."""
    template = environment("fred_cli.report").get_template("verification.html.j2")
    html = template.render(**verification(), made=Made("fred report", "2026-01-02", "9.8.7"))
    rows = re.findall(r"<tr>(<td.*?)</tr>", html)
    return [[unescape(cell) for cell in re.findall(r"<td.*?>(.*?)</td>", row)] for row in rows]


def test_each_check_is_shown_as_on_the_page_of_evidence(cells: list[list[str]]) -> None:
    page = evidence_page()
    rows = [one for some in summaries(read()).values() for one in some]
    assert len(rows) == 7
    for one in rows:
        assert [one.name, one.result, one.omits, one.run, one.command] in cells
        assert one.result in page and one.run in page and f"`{one.command}`" in page


def test_each_property_is_shown_with_its_depth_and_what_it_omits(cells: list[list[str]]) -> None:
    for one in read()[PROOFS]["properties"]:
        [row] = [row for row in cells if row[0] == one["name"]]
        depth = f"{one['cycles']} cycles" if one["method"] == "bounded" else "induction"
        assert row[1] == one["shows"].replace("`", "")
        assert row[2:5] == [depth, one["omits"], str(one["killed_after"])]


def test_attacks_and_mutants_are_shown_in_detail(cells: list[list[str]]) -> None:
    for one in read()[ATTACKS]:
        flits, failures = f"{one['flits']:,}", str(len(one["failures"]))
        assert any(row[2] == str(one["seed"]) and row[6] == flits for row in cells if len(row) > 6)
        assert failures == "0"
    assert ["online_router_m3_p3", "10", "7", "0", "3", "70.0 %"] in cells
    assert any(row[0] == "toggle" for row in cells)
