"""Rows of `fred cost`: chiplets, totals by density, links, faults and the search."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fred_hw.compiler.placement import Strategy
from fred_hw.wafer.faults import Outcome, outcomes
from fred_hw.wafer.program import COLLECTIVES, compile_strategy
from fred_hw.wafer.spec import WaferSpec

from .chiplets import ChipletKind, area_mm2, chiplet_kinds, wiring
from .search import best_of_each, wafers_like
from .yields import Process, assembly_yield, price_of_good

__all__ = [
    "CostModel",
    "DensityRow",
    "FaultRow",
    "KindRow",
    "SearchRow",
    "WiringRow",
    "fault_rows",
]


@dataclass(frozen=True, slots=True)
class KindRow:
    """A kind of chiplets at a density of I/O; its figures are those of one chiplet."""

    gb_per_s_per_mm: float
    name: str
    chiplets: int
    gb_per_s: float
    perimeter_mm: float
    area_mm2: float
    logic_mm2: float
    power_w: float
    die_yield: float | None
    price: float | None


@dataclass(frozen=True, slots=True)
class DensityRow:
    """Totals of the switches of a wafer at a density of I/O.

    Parameters
    ----------
    gb_per_s_per_mm : float
        Density [GB/s/mm].
    chiplets : int
        Number of chiplets.
    area_mm2, share_percent : float
        Area of all, and its share of the area at the first density [%].
    chiplet_price, assembled_price : float or None
        Price of known-good chiplets, and that over the yield of bonding.
    monolithic_yield, monolithic_price : float or None
        Yield of all switches as one area of a wafer, and the price of a wafer over it.
    """

    gb_per_s_per_mm: float
    chiplets: int
    area_mm2: float
    share_percent: float
    chiplet_price: float | None
    assembled_price: float | None
    monolithic_yield: float | None
    monolithic_price: float | None


@dataclass(frozen=True, slots=True)
class WiringRow:
    """Links of one kind, and the edge of chiplets and ends that they need."""

    name: str
    links: int
    tb_per_s: float
    edge_mm: float


@dataclass(frozen=True, slots=True)
class FaultRow:
    """Single faults of one kind in a plane.

    Parameters
    ----------
    kind : str
        Kind of fault.
    faults, survived : int
        Faults in a plane, and those that it survives.
    plane_slowdown : float or None
        Largest slowdown of a phase on a plane that survives; None if none does.
    wafer_slowdown : float or None
        Largest slowdown if each plane gets data in proportion to its rate. A plane that does not
        survive gets none; None if the wafer has no other.
    why : str
        Why faults are not survived.
    """

    kind: str
    faults: int
    survived: int
    plane_slowdown: float | None
    wafer_slowdown: float | None
    why: str


@dataclass(frozen=True, slots=True)
class SearchRow:
    """The best wafer of a number of L1 switches; `rounds` is None without a strategy."""

    l1s: int
    planes: int
    l2_chiplets: int
    chiplets: int
    ports: str
    port_gb_per_s: float
    largest_mm2: float
    area_mm2: float
    price: float | None
    rounds: int | None


@dataclass(frozen=True)
class CostModel:
    """Area, yield and price of the switches of a wafer.

    Parameters
    ----------
    wafer : WaferSpec
        The wafer.
    npu_bytes_per_s, io_bytes_per_s : float
        Rates of an NPU and of an I/O controller [B/s].
    process : Process or None
        Assumptions on defects, and on prices if the price of a wafer is above 0.
    bond_yield : float
        Share of bonded chiplets that work.
    spared : int
        Chiplets of a plane whose fault the plane survives.
    """

    wafer: WaferSpec
    npu_bytes_per_s: float
    io_bytes_per_s: float
    process: Process | None = None
    bond_yield: float = 1.0
    spared: int = 0

    @property
    def kinds(self) -> tuple[ChipletKind, ...]:
        """Kinds of chiplets."""
        return chiplet_kinds(
            self.wafer, npu_bytes_per_s=self.npu_bytes_per_s, io_bytes_per_s=self.io_bytes_per_s
        )

    @property
    def _priced(self) -> Process | None:
        """The assumptions, if they contain a price."""
        return self.process if self.process and self.process.wafer_price else None

    @property
    def bonded_yield(self) -> float:
        """Share of wafers that are good after bonding."""
        chiplets = sum(one.chiplets for one in self.kinds)
        return assembly_yield(self.bond_yield, chiplets, self.wafer.planes, self.spared)

    def kind_rows(self, densities: Iterable[float]) -> Iterator[KindRow]:
        """Yield the kinds of chiplets at each density.

        Raises
        ------
        ValueError
            A chiplet with a price does not fit on a wafer.
        """
        for density in densities:
            for one in self.kinds:
                area = one.area_mm2(density)
                yield KindRow(
                    density,
                    one.name,
                    one.chiplets,
                    one.bytes_per_s / 1e9,
                    one.perimeter_mm(density),
                    area,
                    one.logic_mm2,
                    one.power_w,
                    self.process.die_yield(area) if self.process else None,
                    self._priced.known_good_price(area) if self._priced else None,
                )

    def density_rows(self, densities: Sequence[float]) -> Iterator[DensityRow]:
        """Yield the totals at each density; see ``kind_rows``."""
        kinds = self.kinds
        first = area_mm2(kinds, densities[0])
        for density in densities:
            area = area_mm2(kinds, density)
            price = self._price(kinds, density) if self._priced else None
            yield DensityRow(
                density,
                sum(one.chiplets for one in kinds),
                area,
                100 * area / first,
                price,
                None if price is None else price_of_good(price, self.bonded_yield),
                self.process.die_yield(area) if self.process else None,
                self._priced.monolithic_price(area) if self._priced else None,
            )

    def _price(self, kinds: Sequence[ChipletKind], density: float) -> float | None:
        """Return the price of all known-good chiplets; None if some are never good."""
        assert self.process is not None
        total = 0.0
        for one in kinds:
            price = self.process.known_good_price(one.area_mm2(density))
            if price is None:
                return None
            total += one.chiplets * price
        return total

    def _price_if_any(self, kinds: Sequence[ChipletKind], density: float) -> float | None:
        """Return the price as ``_price`` does; None also if a chiplet does not fit on a wafer."""
        try:
            return self._price(kinds, density)
        except ValueError:
            return None

    def wiring_rows(self, density: float) -> Iterator[WiringRow]:
        """Yield the links by kind, with the edge they need at a density."""
        for one in wiring(
            self.wafer, npu_bytes_per_s=self.npu_bytes_per_s, io_bytes_per_s=self.io_bytes_per_s
        ):
            edge = 2 * 2 * one.bytes_per_s / 1e9 / density
            yield WiringRow(one.name, one.links, one.bytes_per_s / 1e12, edge)

    def search_rows(
        self,
        density: float,
        *,
        most_chiplets: int,
        least_port_bytes_per_s: float,
        largest_mm2: float,
        strategy: Strategy | None = None,
    ) -> Iterator[SearchRow]:
        """Yield the best wafer of each number of L1 switches, by price or area.

        Parameters
        ----------
        density : float
            Density of I/O [GB/s/mm].
        most_chiplets : int
            Largest number of chiplets.
        least_port_bytes_per_s : float
            Least rate of a port [B/s].
        largest_mm2 : float
            Largest area of a chiplet [mm2].
        strategy : Strategy, optional
            Strategy to compile for each wafer found.

        Raises
        ------
        ValueError
            The wafer is no tree of two levels, no wafer is within the bounds, or the
            strategy does not compile.
        """
        planes = int(self.npu_bytes_per_s / least_port_bytes_per_s + 1e-9)
        found = best_of_each(
            wafers_like(self.wafer, most_chiplets, planes),
            density,
            largest_mm2=largest_mm2,
            price=(lambda kinds: self._price_if_any(kinds, density)) if self._priced else None,
            npu_bytes_per_s=self.npu_bytes_per_s,
            io_bytes_per_s=self.io_bytes_per_s,
        )
        if not found:
            raise ValueError("bounds must leave at least one legal wafer, not none")
        for one in found:
            yield SearchRow(
                one.l1s,
                one.wafer.planes,
                one.l2_chiplets,
                one.chiplets,
                ", ".join(map(str, one.ports)),
                one.port_bytes_per_s / 1e9,
                max(kind.area_mm2(density) for kind in one.kinds),
                one.area_mm2,
                one.value if self._priced else None,
                None if strategy is None else _rounds(one.wafer, strategy),
            )


def _rounds(wafer: WaferSpec, strategy: Strategy) -> int:
    """Return the most rounds of a phase of a strategy."""
    made = compile_strategy(wafer, strategy, wafer.link.data_width // 8)
    return max((len(one.rounds) for one in made.phases), default=0)


def fault_rows(
    wafer: WaferSpec, strategy: Strategy, collectives: str = COLLECTIVES[0]
) -> tuple[tuple[FaultRow, ...], int]:
    """Return what becomes of single faults by kind, and the chiplets that a plane spares.

    Raises
    ------
    FieldError, ValueError
        The strategy does not compile for the wafer without faults.
    """
    found: dict[str, list[Outcome]] = {}
    for one in outcomes(wafer, strategy, collectives=collectives):
        found.setdefault(one.fault.kind, []).append(one)
    links_first = sorted(found, key=lambda kind: found[kind][0].fault.port is None)
    rows = tuple(_fault_row(kind, found[kind], wafer.planes) for kind in links_first)
    chiplets = [one for own in found.values() for one in own if one.fault.port is None]
    return rows, sum(one.survives for one in chiplets)


def _fault_row(kind: str, own: Sequence[Outcome], planes: int) -> FaultRow:
    slowdowns = [one.slowdown for one in own if one.slowdown is not None]
    # In a time in which a whole plane moves 1, a slow one moves the inverse of its slowdown.
    rate = planes - 1 + (1 / max(slowdowns) if len(slowdowns) == len(own) else 0)
    lost = max(len(one.lost) for one in own)
    reasons = dict.fromkeys(one.reason for one in own if one.reason)
    cut = f"NPUs and I/O controllers cut off: {lost}" if lost else ""
    return FaultRow(
        kind,
        len(own),
        len(slowdowns),
        max(slowdowns, default=None),
        planes / rate if rate else None,
        "; ".join(text for text in (cut, *reasons) if text),
    )
