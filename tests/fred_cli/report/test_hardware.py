"""Tests of fred_cli.report.hardware and its charts: RTL beside the model."""

import json
import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from fred_cli.drawings.hardware import phases_chart
from fred_cli.report.hardware import gather_hardware

# What reports say of it is computed once for all tests of reports.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("report")]


def traces(drawn: str) -> list[list[dict[str, Any]]]:
    """Return the traces of each panel of a chart."""
    panels = re.findall(r'<script type="application/json">(.*?)</script>', drawn)
    return [json.loads(one)["data"] for one in panels]


def test_each_fabric_is_drawn_in_rtl_and_in_the_model_on_one_axis() -> None:
    found = gather_hardware()
    drawn = found.charts()["iterations"]
    assert 'class="panels stacked"' in drawn
    ends = re.findall(r'"range":\[0,([0-9.]+)\]', drawn)
    assert len(ends) == len(found.iterations) and len(set(ends)) == 1
    assert drawn.count('"margin":{"l":104,') == len(ends)
    longest = max(max(one.record.time_s, one.model_s) for one in found.iterations)
    assert 0.99 * longest <= float(ends[0]) * 1e-6 <= 1.05 * longest
    for one, panel in zip(found.iterations, traces(drawn), strict=True):
        assert one.shown == [0, next(n for n, lane in sorted(one.rtl.items()) if lane.stage)]
        spans = sum(len(lanes[npu].spans) for lanes in (one.rtl, one.model) for npu in one.shown)
        assert sum(len(trace["x"]) for trace in panel) == spans > 250
        assert {trace["name"] for trace in panel} == {"compute", "mp", "dp", "pp"}


@pytest.mark.slow
def test_all_phases_that_were_measured_are_in_it() -> None:
    rows = gather_hardware().rows
    assert len(rows) == sum(row.ok for row in rows) == 656


def test_one_timeline_has_both_fabrics_in_rtl_and_in_the_model() -> None:
    found = gather_hardware()
    events = found.timeline()["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    fabrics = [one.record.fabric.capitalize() for one in found.iterations]
    assert [*names.values()] == [f"{one}, {what}" for one in fabrics for what in ("RTL", "model")]
    spans = [e for e in events if e["ph"] == "X"]
    for pid, one in zip((0, 2), found.iterations, strict=True):
        measured = [span for own in one.record.npus for span in own]
        assert sum(e["pid"] == pid for e in spans) == len(measured) > 1000
        ends = [max(e["ts"] + e["dur"] for e in spans if e["pid"] == pid + k) for k in (0, 1)]
        assert ends[0] <= one.record.time_s * 1e6 * (1 + 1e-9)
        assert ends[1] <= one.model_s * 1e6 * (1 + 1e-9)
    threads = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    for thread in threads:
        own = [(e["ts"], e["ts"] + e["dur"]) for e in spans if (e["pid"], e["tid"]) == thread]
        assert own == sorted(own)
        assert all(a[1] <= b[0] * (1 + 1e-9) for a, b in pairwise(own)), thread


def test_busy_times_are_of_all_npus_of_a_stage() -> None:
    for one in gather_hardware().iterations:
        rows = one.busy()
        assert {(row.stage, row.kind) for row in rows} == {
            (stage, kind) for stage in (0, 1) for kind in ("compute", "mp", "dp", "pp")
        }
        for row in rows:
            own = [lane for lane in one.rtl.values() if lane.stage == row.stage]
            times = [lane.busy_s(row.kind) for lane in own]
            assert len(own) == 10 and (min(times), max(times)) == (row.least_s, row.most_s)
            # Tasks that overlap count once.
            assert row.most_s <= one.record.time_s and row.model_s <= one.model_s


def test_phases_that_the_model_misses_are_not_filled() -> None:
    first, *others = gather_hardware().rows
    assert first.ok
    rows = [replace(first, ok=False), *others]
    for panel in traces(phases_chart(rows, "chart")):
        points = [trace for trace in panel if trace["mode"] == "markers"]
        symbols = [one for trace in points for one in trace["marker"]["symbol"]]
        assert len(symbols) == len(rows)
        assert symbols.count("circle-open") == 1 + sum(not row.ok for row in others)
    other = phases_chart([replace(rows[0], collectives="other"), *rows], "chart")
    assert other.count("other</li>") == 1
