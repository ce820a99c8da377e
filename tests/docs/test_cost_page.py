"""Figures of docs/how-to/cost.md are those that its commands print."""

from dataclasses import fields

from perfmodel.published import CHIPLET_AREA_MM2, SWITCH_AREA
from perfmodel.wafer_cost.report import FaultRow

from .pages import ROOT, commands
from .printed import Printed, like
from .test_tables import rows

PAGE = "docs/how-to/cost.md"
TEXT = " ".join((ROOT / PAGE).read_text("utf-8").split())
COMMANDS = [one.command.removeprefix(".venv/bin/fred ") for one in commands(PAGE)]


def test_areas(printed: Printed) -> None:
    found = printed("cost examples/wafer-20.yaml")
    kinds = [one for one in found["chiplets"] if one["gb_per_s_per_mm"] == 107.4]
    names = ("chiplets", "gb_per_s", "perimeter_mm", "area_mm2", "power_w")
    told = rows(PAGE, "## Area and wiring")
    assert [row[0] for row in told] == [one["name"] for one in kinds]
    for row, one in zip(told, kinds, strict=True):
        assert row[1:] == [like(*pair) for pair in zip(row[1:], map(one.get, names), strict=True)]
    told = rows(PAGE, "The second table has the totals at each density:")
    names = ("gb_per_s_per_mm", "area_mm2", "share_percent")
    for row, one in zip(told, found["densities"], strict=True):
        assert row == [like(*pair) for pair in zip(row, map(one.get, names), strict=True)]
    area = found["densities"][0]["area_mm2"]
    explained = [
        area / SWITCH_AREA.value,
        *(kinds[k]["area_mm2"] / CHIPLET_AREA_MM2[n] for k, n in ((2, 10), (0, 12))),
    ]
    words = (
        "explain {:.0%} of the published area. They explain {:.0%} of the assumed area of an L2 "
        "chiplet, and {:.0%} of an L1 chiplet."
    )
    assert words.format(*explained).replace("%", " %") in TEXT


def test_prices(printed: Printed) -> None:
    [command] = [one for one in COMMANDS if one.startswith("cost") and "--bond-yield" in one]
    one = printed(command)["densities"][0]
    words = (
        "chiplets cost {chiplet_price:,.0f} and a good wafer {assembled_price:,.0f}. A wafer of "
        "monolithic switches has a yield of {monolithic_yield:.1%} and costs "
        "{monolithic_price:,.0f}."
    )
    assert words.format(**one).replace("%", " %") in TEXT


def test_faults(printed: Printed) -> None:
    names = {
        "link of an NPU": "NPU to L1",
        "link of an I/O controller": "I/O to L1",
        "link between L1 and L2": "L1 to L2",
    }
    found = {
        one["kind"]: one
        for one in printed("cost examples/wafer-20.yaml --strategy MP2-DP5-PP2")["faults"]
    }
    told = rows(PAGE, "## Faults that a plane survives")
    assert len(told) == len(found)
    for name, *row in told:
        one = found[names.get(name, name)]
        slow = one["plane_slowdown"]
        assert row == [
            str(one["faults"]),
            str(one["survived"]),
            "-" if slow is None else f"{slow:.2f}",
            f"{one['wafer_slowdown']:.3f}",
        ]


def test_search(printed: Printed) -> None:
    wide = "cost --search --min-port-bandwidth 600 --max-chiplets 60 --strategy MP2-DP5-PP2"
    found = {"35": printed("cost --search")["search"], "ports": printed(wide)["search"]}
    told = rows(PAGE, "## Search for a better wafer")
    assert len(told) == 4
    areas: list[float] = []
    for bounds, l1s, chiplets, ports, *row in told:
        [one] = [x for x in found[bounds.split()[0]] if str(x["l1s"]) == l1s.partition(",")[0]]
        assert (chiplets, ports) == (str(one["chiplets"]), one["ports"])
        figures = one["port_gb_per_s"], one["area_mm2"]
        assert row == [like(*pair) for pair in zip(row, figures, strict=True)]
        areas.append(one["area_mm2"])
    assert f"L2 of 20 chiplets saves {1 - areas[2] / areas[0]:.0%}".replace("%", " %") in TEXT


def test_fields(printed: Printed) -> None:
    """The page lists every field of JSON, by key."""
    found = printed("cost --search")
    found["faults"] = [{one.name: None for one in fields(FaultRow)}]
    told = {one[0].strip("`"): one[2] for one in rows(PAGE, "## Use the results in other programs")}
    assert told.keys() == found.keys()
    for name, made in found.items():
        if isinstance(made, list):
            assert [word.strip("`") for word in told[name].split(", ")] == list(made[0])
