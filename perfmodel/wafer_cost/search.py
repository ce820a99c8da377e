"""Search over wafers of L1 switches below one L2 for the least area, or price, of their switches.

All candidates have the NPUs, I/O controllers, rates, format, lanes and protocol of a given wafer,
and the same rate between an L1 and the L2 for each NPU. They differ in the number of L1 switches,
the chiplets of a switch (an L1 has one for each plane, and the rate of a port is that of an NPU
over the planes) and thus in the ports of a chiplet. A candidate is legal if ``WaferSpec`` accepts
it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from fred_hw.wafer.spec import WaferSpec
from perfmodel.published import IO_BYTES_PER_S, NPU_L1_BYTES_PER_S

from .chiplets import LIKE_FIELDS, ChipletKind, area_mm2, chiplet_kinds, tree_wafer

__all__ = ["FIELD_MM2", "Candidate", "best_of_each", "wafers_like"]

FIELD_MM2 = 26.0 * 33.0
"""Largest exposure field of a lithography scanner, 26 mm x 33 mm [mm2] (Nikon, NSR scanners)."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A wafer that the search found.

    Parameters
    ----------
    wafer : WaferSpec
        The wafer.
    kinds : tuple of ChipletKind
        Its chiplets.
    area_mm2 : float
        Area of all chiplets at the density of the search [mm2].
    value : float
        What the search minimizes: the area, or the price of all chiplets.
    """

    wafer: WaferSpec
    kinds: tuple[ChipletKind, ...]
    area_mm2: float
    value: float

    @property
    def chiplets(self) -> int:
        """Number of all chiplets."""
        return sum(one.chiplets for one in self.kinds)

    @property
    def l1s(self) -> int:
        """Number of L1 switches."""
        return sum(bool(one.npus) for one in self.wafer.switches)

    @property
    def l2_chiplets(self) -> int:
        """Number of chiplets of the L2; 0 without one."""
        return self.chiplets - self.l1s * self.wafer.planes

    @property
    def ports(self) -> tuple[int, ...]:
        """Ports of each kind of chiplet."""
        return tuple(one.ports for one in self.kinds)

    @property
    def port_bytes_per_s(self) -> float:
        """Rate of a port, each direction [B/s]."""
        return self.kinds[0].port_bytes_per_s


def wafers_like(wafer: WaferSpec, most_chiplets: int, most_planes: int) -> Iterator[WaferSpec]:
    """Yield all legal wafers with the NPUs, controllers and rates of one.

    Parameters
    ----------
    wafer : WaferSpec
        The wafer.
    most_chiplets, most_planes : int
        Bounds of chiplets and planes; the rate of a port is that of an NPU over the planes.

    Raises
    ------
    ValueError
        The wafer is neither one switch alone nor L1 switches below one L2, its L1 switches differ
        in their uplinks for each NPU, or its switches differ in a field of ``LIKE_FIELDS``.
    """
    share = _uplinks_per_npu(wafer)
    for l1s in range(1, wafer.npus + 1):
        up = share * wafer.npus / l1s
        if wafer.npus % l1s or (l1s > 1 and up.denominator > 1):
            continue
        uplinks = int(up) if l1s > 1 else 0
        for parts in range(1, uplinks + 1) if l1s > 1 else (0,):
            if parts and uplinks % parts:
                continue
            for planes in range(1, min(most_planes, most_chiplets // (l1s + parts)) + 1):
                try:
                    yield tree_wafer(
                        npus=wafer.npus,
                        controllers=wafer.controller_count,
                        l1s=l1s,
                        planes=planes,
                        parts=parts,
                        uplinks=uplinks,
                        like=wafer,
                    )
                except ValueError:  # no legal wafer, in any number of planes
                    break


def _uplinks_per_npu(wafer: WaferSpec) -> Fraction:
    """Return the rate from an L1 to the L2 for each of its NPUs, in rates of an NPU."""
    below, top = wafer.below(wafer.root), wafer.switches[wafer.root]
    if not below:
        return Fraction(1)
    l1s = [wafer.switches[one] for one in below]
    if any(map(wafer.below, below)) or top.npus or top.controllers or not all(x.npus for x in l1s):
        raise ValueError(
            "switches must be L1s with NPUs below one L2 without NPUs and I/O controllers, "
            "not another tree"
        )
    for name in LIKE_FIELDS:
        if any(getattr(one, name) != getattr(top, name) for one in l1s):
            raise ValueError(f"switches must all have the same {name}, not different ones")
    shares = {Fraction(one.uplinks, one.uplink_cycles * len(one.npus)) for one in l1s}
    if len(shares) > 1:
        raise ValueError(
            "switches must have the same uplinks for each NPU in all L1s, not different ones"
        )
    return shares.pop()


def best_of_each(
    wafers: Iterable[WaferSpec],
    density: float,
    *,
    largest_mm2: float,
    price: Callable[[Sequence[ChipletKind]], float | None] | None = None,
    npu_bytes_per_s: float = NPU_L1_BYTES_PER_S,
    io_bytes_per_s: float = IO_BYTES_PER_S,
) -> tuple[Candidate, ...]:
    """Return the best wafer of each number of L1 switches, the best of all first.

    Parameters
    ----------
    wafers : iterable of WaferSpec
        Wafers to compare.
    density : float
        Density of I/O [GB/s/mm].
    largest_mm2 : float
        Largest area of a chiplet [mm2].
    price : callable, optional
        Returns the price of all chiplets, which is then the value in place of the area; None if
        they cannot be had, so that the wafer is not compared.
    npu_bytes_per_s, io_bytes_per_s : float
        As for ``chiplet_kinds``.
    """
    best: dict[int, Candidate] = {}
    for wafer in wafers:
        kinds = chiplet_kinds(wafer, npu_bytes_per_s=npu_bytes_per_s, io_bytes_per_s=io_bytes_per_s)
        if any(one.area_mm2(density) > largest_mm2 for one in kinds):
            continue
        total = area_mm2(kinds, density)
        value = price(kinds) if price else total
        if value is None:
            continue
        found = Candidate(wafer, kinds, total, value)
        known = best.get(found.l1s)
        # Of equal values, the first has the fewest chiplets.
        if known is None or found.value < known.value:
            best[found.l1s] = found
    return tuple(sorted(best.values(), key=lambda one: one.value))
