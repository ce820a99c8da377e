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
