"""Figures of docs/how-to/numerics.md are those that its command prints."""

from .printed import Printed
from .test_tables import rows

PAGE = "docs/how-to/numerics.md"
ABOVE = (
    "The tree has smaller errors than the ring in each format, since each operand passes through "
    "fewer additions:"
)


def test_errors(printed: Printed) -> None:
    found = printed("numerics examples/wafer-20.yaml --distribution positive")["formats"]
    shown = {one["format"]: one for one in found}
    for name, tree, tree_rounded, ring, ring_rounded, equal in rows(PAGE, ABOVE):
        one = shown[name]
        for cell, order in ((tree, one["tree"]), (ring, one["ring"])):
            assert cell == f"{order['max_ulps']:.3g}, {order['mean_ulps']:.3g}"
        shares = (one["tree"]["rounded"], one["ring"]["rounded"], one["equal"])
        for cell, share in zip((tree_rounded, ring_rounded, equal), shares, strict=True):
            assert cell == f"{100 * share:.1f}"
        assert one["tree"]["mean_ulps"] < one["ring"]["mean_ulps"]


def test_errors_of_wider_sums(printed: Printed) -> None:
    command = "numerics examples/wafer-20.yaml --distribution positive --set accumulation=fp32"
    shown = {one["format"]: one for one in printed(command)["formats"]}
    found = rows(PAGE, "## Wider sums inside the switches")
    assert len(found) == 4
    for name, *cells in found:
        one = shown[name]
        assert one["accumulation"] == "fp32"
        for at, order in enumerate((one["tree"], one["accumulated"])):
            assert cells[2 * at] == f"{order['mean_ulps']:.3g}"
            assert cells[2 * at + 1] == f"{100 * order['rounded']:.1f}"
        assert one["accumulated"]["mean_ulps"] < one["tree"]["mean_ulps"]
    assert shown["fp32"]["accumulated"] is None


def test_a_format_without_more_bits_of_fraction_rounds_as_before(printed: Printed) -> None:
    found = printed("numerics l1-12 --set accumulation=tf32")["formats"]
    shown = {one["format"]: one for one in found}
    assert shown["fp16"]["accumulated"] == shown["fp16"]["tree"]
    assert shown["bf16"]["accumulated"]["rounded"] > shown["bf16"]["tree"]["rounded"]
