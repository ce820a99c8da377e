"""Yield and price of chiplets, and of a wafer that they are bonded to.

Defects are clustered: a die of area A is good with probability (1 + A D / a)^-a, the negative
binomial model (Stapper, IBM Journal of Research and Development 27 (1983)), for a density D of
defects and a clustering parameter a. None of the parameters is published for FRED: the user gives
them.
"""

from dataclasses import dataclass
from math import floor, isfinite, pi, sqrt

__all__ = ["Process", "assembly_yield", "dies_per_wafer", "price_of_good"]

_WAFER_MM = 300.0
"""Diameter of a wafer [mm]."""


@dataclass(frozen=True, slots=True)
class Process:
    """Assumptions of the user about the manufacturing of chiplets.

    Parameters
    ----------
    defects_per_cm2 : float
        Density of defects that break a die.
    clustering : float
        Clustering parameter: the smaller, the more defects are on few dies.
    wafer_price, test_price : float
        Price of a processed wafer, and of the test of one die, in the same currency.
    """

    defects_per_cm2: float
    clustering: float
    wafer_price: float = 0.0
    test_price: float = 0.0

    def die_yield(self, area_mm2: float) -> float:
        """Return the share of good dies of an area."""
        defects = area_mm2 / 100 * self.defects_per_cm2
        return (1 + defects / self.clustering) ** -self.clustering

    def known_good_price(self, area_mm2: float) -> float | None:
        """Return the price of a die that has passed its test; None if none ever does.

        Raises
        ------
        ValueError
            No die of this area fits on a wafer.
        """
        price = self.wafer_price / dies_per_wafer(area_mm2) + self.test_price
        return price_of_good(price, self.die_yield(area_mm2))

    def monolithic_price(self, area_mm2: float) -> float | None:
        """Return the price of a wafer on which all switches, of one area together, are good.

        None if there is never one.
        """
        return price_of_good(self.wafer_price + self.test_price, self.die_yield(area_mm2))


def price_of_good(price: float, share: float) -> float | None:
    """Return the price of one that is good, given that of any and the share of good ones.

    None if it is beyond all numbers: none is good.
    """
    return price / share if share and isfinite(price / share) else None


def dies_per_wafer(area_mm2: float) -> int:
    """Return the whole square dies of a wafer of 300 mm, without an edge exclusion.

    The formula of de Vries (IEEE Transactions on Semiconductor Manufacturing 18 (2005)) subtracts
    the dies that the edge cuts: pi d^2 / 4 A - pi d / sqrt(2 A).

    Raises
    ------
    ValueError
        No die of this area fits on a wafer.
    """
    found = floor(pi * _WAFER_MM**2 / 4 / area_mm2 - pi * _WAFER_MM / sqrt(2 * area_mm2))
    if found < 1:
        raise ValueError(f"chiplets must fit on a wafer of 300 mm, not have {area_mm2:,.0f} mm2")
    return found


def assembly_yield(bond_yield: float, chiplets: int, planes: int, spared: int = 0) -> float:
    """Return the share of wafers that are good after all chiplets are bonded.

    A plane is good if all of its chiplets are, or if the only bad one is among those that it
    survives.

    Parameters
    ----------
    bond_yield : float
        Share of bonded chiplets that work.
    chiplets, planes : int
        All chiplets of the wafer, and its planes.
    spared : int
        Chiplets of a plane whose fault the plane survives.
    """
    each = chiplets // planes
    whole = bond_yield**each
    one_bad = spared * (1 - bond_yield) * bond_yield ** (each - 1)
    return (whole + one_bad) ** planes
