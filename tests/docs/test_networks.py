"""Tests of docs.generate.networks, and of the text beside its table and figure."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs.generate.networks import HEIGHT, LEFT, WIDTH, draw_networks
from fred_hw.adder_delays import REFERENCE_NS
from fred_hw.files import load_model
from perfmodel.switch_timing.networks import REDUCING, SHIPPED_NETWORKS, NetworkRecord

from .pages import ROOT
from .printed import Printed
from .test_tables import rows


def number(cell: str) -> float:
    return float(cell.replace(",", ""))


PAGE = "docs/explanation/hardware.md"
TEXT = " ".join((ROOT / PAGE).read_text("utf-8").split())
MAIN = ("adders", "multiplexers", "pipeline")
SVG = "{http://www.w3.org/2000/svg}"
NETWORK_OPTIONS = {
    "FRED_3": "",
    "FRED_2": " --set middle_switches=2",
    "crossbar": " --level crossbar",
    "Benes": " --level benes",
}
NETWORKS = {
    ports: dict(zip(NETWORK_OPTIONS, zip(*2 * [map(number, cells)], strict=True), strict=True))
    for ports, *cells in rows(PAGE, "### Networks at full effort")
}
"""Area [um2] and clock [ns] of each network, by ports."""
ROUTERS = {
    row: (number(area_um2), number(clock_ns))
    for row, area_um2, clock_ns in rows(PAGE, "### Routers at full effort")
}
MESH = "examples/mesh-5x4.yaml --set width=2 --set height=2 --set controllers=false"
ROUTER = "small-4 --set ports=5 --set lanes=1 --level switch"


def test_each_network_has_a_point_which_is_filled_on_the_front() -> None:
    record = load_model(NetworkRecord, SHIPPED_NETWORKS)
    points = [*ElementTree.fromstring(draw_networks()).iter(f"{SVG}circle")]
    assert len(points) == len(record.networks)
    fronts = [one.name for n in {one.ports for one in record.networks} for one in record.front(n)]
    filled = sum(one.get("fill") != "white" for one in points)
    assert filled == len(fronts)
    for one in points:
        assert LEFT < float(one.get("cx", "0")) < WIDTH
        assert 0 < float(one.get("cy", "0")) < HEIGHT


def test_text_beside_the_table_has_the_figures_of_the_record() -> None:
    record = load_model(NetworkRecord, SHIPPED_NETWORKS)
    found = {(one.network, one.ports): one for one in record.networks}
    fred, crossbar, benes = (found[name, 8] for name in ("FRED_3", "crossbar", "benes"))
    large, other = found["FRED_3", 64], found["crossbar", 64]
    assert benes.random_share is not None
    assert fred.random_share == crossbar.random_share == 1
    for said in (
        f"FRED_3 takes {100 * fred.area_um2 / crossbar.area_um2:.0f} % of the crossbar's area.",
        (
            f"FRED_3 takes {100 * large.area_um2 / other.area_um2:.0f} % of the area and "
            f"{100 * large.mw_per_port / other.mw_per_port:.0f} % of the power."
        ),
        f"the Benes network is {100 * (1 - benes.area_um2 / fred.area_um2):.0f} % smaller",
        f"takes {benes.latency_cycles} cycles rather than {fred.latency_cycles}",
        f"routes {100 * benes.random_share:.1f} % of the random flow sets",
        f"registers of configuration and bypass take {100 * fred.other_share:.0f} % of FRED_3(8)",
    ):
        assert said in TEXT


def test_text_has_the_figures_of_a_mesh_whose_routers_reduce() -> None:
    record = load_model(NetworkRecord, SHIPPED_NETWORKS)
    found = {(one.network, one.ports): one for one in record.networks}
    mesh, switch, plain = (found[name, 8] for name in (REDUCING, "switch", "mesh"))
    large, fred, small = found[REDUCING, 64], found["FRED_3", 64], found[REDUCING, 16]
    largest = [found[name, 64].mw_per_port for name in ("mesh", REDUCING)]
    ratios = [
        2 * (1 - 1 / n) * found["mesh", n].mw_per_port / found[REDUCING, n].mw_per_port
        for n in (4, 64)
    ]
    of_switch = found["switch", 16].mw_per_port
    shares = mesh.random_share, mesh.phase_share, large.random_share, large.phase_share
    assert None not in (*shares, fred.random_share)
    assert (switch.random_share, switch.phase_share, fred.phase_share) == (1, 1, 1)
    sets, phases, large_sets, large_phases = (f"{100 * (one or 0):.1f} %" for one in shares)
    for said in (
        f"the mesh takes {mesh.area_um2 / switch.area_um2:.1f} times the area of the switch",
        f"routes {sets} of the random flow sets and {phases} of the phases at once",
        f"routes {large_sets} of the random flow sets and {large_phases} of the phases",
        f"the interconnect FRED_3 {100 * (fred.random_share or 0):.1f} % and 100 %",
        f"the mesh takes {small.mw_per_port:.0f} mW per port, and the switch {of_switch:.0f}",
        (
            f"With 64 ports, plain routers take {largest[0]:.0f} mW per port, and routers that "
            f"reduce {largest[1]:.0f}"
        ),
        f"takes {ratios[0]:.2f} times the energy with 4 ports, and {ratios[1]:.2f} times with 64",
        f"takes {100 * plain.area_um2 / mesh.area_um2:.0f} % of the area of `mesh+reduction`",
    ):
        assert said in TEXT, said


@pytest.mark.sim
@pytest.mark.long
def test_power_of_a_mesh_is_that_of_fred_power(printed: Printed, tmp_path: Path) -> None:
    record = load_model(NetworkRecord, SHIPPED_NETWORKS)
    (row,) = (one for one in record.networks if (one.network, one.ports) == ("mesh", 4))
    command = (
        f"power {MESH} --set format=fp16 --set lanes=1 --level mesh --liberty nangate45 "
        f"--effort area --clock {record.target_clock_ns:g}ns --cycles {record.cycles}"
    )
    assert command in TEXT
    found = printed(f"{command} -o {tmp_path / 'work'}")["workloads"][-1]
    assert found["workload"] == "all_reduce"
    # Names of nets alone move power by about 1 percent.
    assert found["total"]["total_w"] == pytest.approx(row.all_reduce_w, rel=0.03)


@pytest.mark.sim
@pytest.mark.slow
def test_power_of_the_adder_of_an_npu(printed: Printed, tmp_path: Path) -> None:
    command = (
        "power small-4 --set ports=2 --set lanes=1 --liberty nangate45 --effort area "
        "--clock 0.853ns --cycles 64"
    )
    assert command in TEXT
    units = printed(f"{command} -o {tmp_path / 'work'}")["workloads"][-1]["units"]
    (adder,) = (one["total_w"] for one in units if one["module"] == "fp16_add_a2")
    (said,) = re.findall(r"An adder at full rate would take ([\d.]+) mW", TEXT)
    assert 1e3 * adder == pytest.approx(float(said), rel=0.03, abs=0.05)


@pytest.mark.long  # thousands of cells in each
@pytest.mark.parametrize(
    ("options", "area", "share"),
    [
        (
            "--level interconnect",
            "FRED_3(8) takes {:.1f} kGE",
            "With four lanes they take {:.1f} %",
        ),
        ("--level crossbar", "the crossbar {:.1f} kGE", ""),
        ("--level benes", "the Benes network {:.1f} kGE", ""),
        ("--set lanes=16 --level interconnect", "", "with sixteen {:.1f} %"),
    ],
)
def test_networks_of_more_lanes(printed: Printed, options: str, area: str, share: str) -> None:
    found = printed(f"synth small-4 --set ports=8 {options} --liberty nangate45 --effort area")
    other = sum(one["share"] for one in found["classes"] if one["name"] not in MAIN)
    assert area.format(found["gate_equivalents"] / 1e3) in TEXT
    assert share.format(100 * other) in TEXT


@pytest.mark.parametrize(
    ("ports", "network"),
    [
        pytest.param(ports, network, marks=pytest.mark.slow if quick else pytest.mark.long)
        for ports, of in NETWORKS.items()
        for network in of
        for quick in [(ports, network) == ("4", "FRED_3")]
    ],
)
def test_networks_at_full_effort(printed: Printed, ports: str, network: str) -> None:
    base, effort = "synth small-4 --set ports", "--liberty nangate45 --effort clock"
    command, like = (
        f"{base}={n} --set lanes=1{NETWORK_OPTIONS[network]} {effort}" for n in (ports, "16")
    )
    found = printed(command, like=like)
    # Names of nets alone move area and clock by a few percent.
    area_um2, clock_ns = NETWORKS[ports][network]
    assert found["area_um2"] == pytest.approx(area_um2, rel=0.04)
    assert found["clock_ns"] == pytest.approx(clock_ns, rel=0.08)


@pytest.mark.long  # minutes each
@pytest.mark.parametrize(
    ("row", "options"),
    [
        ("whole switch of 5 ports around FRED_3", ROUTER),
        (
            "the same around a crossbar: a router that multicasts and reduces",
            f"{ROUTER} --set network=crossbar",
        ),
        (
            "router of the 5 x 4 mesh, which does neither",
            "examples/mesh-5x4.yaml --set format=fp16 --set lanes=1 --level router",
        ),
    ],
)
def test_routers_at_full_effort(printed: Printed, row: str, options: str) -> None:
    found = printed(f"synth {options} --liberty nangate45 --effort clock")
    area_um2, clock_ns = ROUTERS[row]
    assert found["area_um2"] == pytest.approx(area_um2, rel=0.04)
    assert found["clock_ns"] == pytest.approx(clock_ns, rel=0.08)


def test_all_networks_and_routers_meet_the_reference_clock_at_full_effort() -> None:
    assert [*NETWORKS] == ["4", "8", "16", "32", "64"]
    assert len(ROUTERS) == 3
    figures = [pair for of in NETWORKS.values() for pair in of.values()]
    assert max(clock_ns for _, clock_ns in (*figures, *ROUTERS.values())) < REFERENCE_NS
    last = NETWORKS["64"]
    share = last["FRED_3"][0] / last["crossbar"][0]
    assert f"With 64 ports FRED_3 takes {100 * share:.0f} % of the crossbar's area" in TEXT


def test_only_the_crossbar_becomes_slower_with_more_ports() -> None:
    clocks = {(int(n), name): its[1] for n, of in NETWORKS.items() for name, its in of.items()}
    least, *_ = sorted(clocks.values())
    slower = [key for key, clock_ns in clocks.items() if clock_ns > 1.01 * least]
    assert slower == [(32, "crossbar"), (64, "crossbar")]
