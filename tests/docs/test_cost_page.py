"""Figures of docs/how-to/cost.md are those of the model."""

from perfmodel.published import IO_BYTES_PER_S, NPU_L1_BYTES_PER_S
from perfmodel.wafer_cost.chiplets import published_wafer
from perfmodel.wafer_cost.report import CostModel
from perfmodel.wafer_cost.yields import Process

from .pages import ROOT

PAGE = (ROOT / "docs/how-to/cost.md").read_text("utf-8")
MODEL = CostModel(
    published_wafer(), NPU_L1_BYTES_PER_S, IO_BYTES_PER_S, Process(0.1, 3.0, 10000, 5), 0.99
)


def test_chiplets() -> None:
    for one in MODEL.kind_rows([107.4]):
        sizes = f"{one.gb_per_s:,.1f} | {one.perimeter_mm:.2f} | {one.area_mm2:.1f}"
        assert f"| {one.name} | {one.chiplets} | {sizes} | {one.power_w:.2f} |" in PAGE


def test_densities() -> None:
    for one in MODEL.density_rows([107.4, 250, 1000]):
        share = f"{one.share:.2f}".removesuffix(".00")
        assert f"| {one.density:,g} | {one.area_mm2:,.0f} | {share} |" in PAGE


def test_prices() -> None:
    (one,) = MODEL.density_rows([107.4])
    assert None not in (one.chiplet_price, one.assembled_price, one.monolithic_price)
    assert (
        f"chiplets cost {one.chiplet_price:,.0f} and a good wafer {one.assembled_price:,.0f}."
    ) in PAGE
    assert f"costs {one.monolithic_price:,.0f}." in PAGE


def test_search() -> None:
    area = CostModel(published_wafer(), NPU_L1_BYTES_PER_S, IO_BYTES_PER_S)
    for chiplets, least in ((35, 1e9), (60, 600e9)):
        least = max(least, area.npu_bytes_per_s / 64)
        for one in area.search_rows(
            107.4, most_chiplets=chiplets, least_port_bytes_per_s=least, largest_mm2=858
        ):
            if one.l1s in (1, 5, 10):
                rate = f"{one.port_gb_per_s:.1f}".removesuffix(".0")
                assert f"| {one.chiplets} | {one.ports} | {rate} | {one.area_mm2:,.0f} |" in PAGE
