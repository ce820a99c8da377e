"""Switch chiplets of a wafer: edge and area from the I/O density, power, and links.

The edge of a chiplet carries both directions of all its ports, at a density of I/O [GB/s/mm]. A
chiplet is a square of this perimeter, or as large as its logic if that is larger. The text of FRED
(arXiv 2406.19580, section 6.2.3) bounds the logic: under 5 % of a chiplet. That bound is taken as
the logic's area, and shared out by micro-switches times the rate of a port.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from fred_hw.compiler.shape import microswitch_counts
from fred_hw.wafer.spec import WaferSpec
from perfmodel.published import (
    IO_BYTES_PER_S,
    LOGIC_SHARE,
    NPU_L1_BYTES_PER_S,
    SWITCH_AREA,
    SWITCH_POWER_W,
)

__all__ = [
    "LIKE_FIELDS",
    "ChipletKind",
    "Wiring",
    "area_mm2",
    "chiplet_kinds",
    "published_wafer",
    "tree_wafer",
    "wiring",
]

LIKE_FIELDS = ("middle_switches", "protocol")
"""Fields of a switch that ``tree_wafer`` takes from another wafer."""


@dataclass(frozen=True, slots=True)
class ChipletKind:
    """Chiplets that are alike.

    Parameters
    ----------
    name : str
        Level and ports, such as ``L1, 12 ports``.
    chiplets : int
        How many there are on the wafer.
    level : int
        Level of their switch: 1 next to NPUs.
    ports, middle_switches : int
        Of their interconnect.
    port_bytes_per_s : float
        Rate of a port, each direction [B/s].
    bytes_per_s : float
        Rate of all links, each direction: an I/O controller and a slow uplink need less than a port
        has [B/s].
    """

    name: str
    chiplets: int
    level: int
    ports: int
    middle_switches: int
    port_bytes_per_s: float
    bytes_per_s: float

    def perimeter_mm(self, density: float) -> float:
        """Return the edge that the links need at a density [GB/s/mm]."""
        return 2 * self.bytes_per_s / 1e9 / density

    @property
    def logic_mm2(self) -> float:
        """Area of the logic, an upper bound [mm2]."""
        return _logic_mm2_per_byte_per_s() * _weight(self)

    def area_mm2(self, density: float) -> float:
        """Return the area of one chiplet at a density [GB/s/mm]."""
        return max((self.perimeter_mm(density) / 4) ** 2, self.logic_mm2)

    @property
    def power_w(self) -> float:
        """Power of one chiplet: that of its ports, of which the published wafer has 390 [W]."""
        return SWITCH_POWER_W * self._port_rates / _published_port_rates()

    @property
    def _port_rates(self) -> float:
        return self.ports * self.port_bytes_per_s


@dataclass(frozen=True, slots=True)
class Wiring:
    """Links of one kind, on the whole wafer.

    Parameters
    ----------
    name : str
        Its ends: ``NPU to L1``.
    links : int
        Number of links.
    bytes_per_s : float
        Rate of all together, each direction [B/s].
    """

    name: str
    links: int
    bytes_per_s: float


def tree_wafer(
    *,
    npus: int,
    controllers: int,
    l1s: int,
    planes: int,
    parts: int,
    uplinks: int,
    like: WaferSpec | None = None,
) -> WaferSpec:
    """Return a wafer of L1 switches below one L2; one L1 needs no L2.

    Parameters
    ----------
    npus, controllers : int
        Shared out over the L1s, the first of which have one more where they cannot be equal.
    l1s, planes : int
        Number of L1 switches, and of chiplets of each.
    parts : int
        Chiplets of the L2 in a plane.
    uplinks : int
        Links of each L1 chiplet to the L2.
    like : WaferSpec, optional
        Wafer of which all other fields are taken. Those of its first switch apply to each switch.

    Raises
    ------
    pydantic.ValidationError
        There is no such wafer. A ``ValueError``.
    """
    up = uplinks if l1s > 1 else 0
    kept = {name: getattr(like.switches[0], name) for name in LIKE_FIELDS} if like else {}
    switches: list[dict[str, object]] = []
    if up:
        ports = l1s * up // parts
        switches.append({"name": "l2", "chiplets": parts * planes, "ports": ports, **kept})
    first = 0
    for number in range(l1s):
        own = [each // l1s + (number < each % l1s) for each in (npus, controllers)]
        switches.append(
            {
                "name": f"l1_{number}",
                "above": "l2" if up else None,
                "chiplets": planes,
                "ports": sum(own) + up,
                "uplinks": up,
                "npus": [*range(first, first + own[0])],
                "controllers": own[1],
                **kept,
            }
        )
        first += own[0]
    fields = {"npus": npus, "planes": planes, "switches": switches}
    return like.with_changes(**fields) if like else WaferSpec.model_validate(fields)


@cache
def published_wafer() -> WaferSpec:
    """Return the wafer of FRED-C and D, as in ``examples/wafer-20.yaml``."""
    return tree_wafer(npus=20, controllers=18, l1s=5, planes=5, parts=2, uplinks=4)


def chiplet_kinds(
    wafer: WaferSpec,
    *,
    npu_bytes_per_s: float = NPU_L1_BYTES_PER_S,
    io_bytes_per_s: float = IO_BYTES_PER_S,
) -> tuple[ChipletKind, ...]:
    """Return the kinds of chiplets of a wafer, those next to NPUs first.

    Parameters
    ----------
    wafer : WaferSpec
        The wafer.
    npu_bytes_per_s, io_bytes_per_s : float
        Rate of an NPU and of an I/O controller in all planes, each direction [B/s].
    """
    port = npu_bytes_per_s / wafer.planes
    counts: Counter[ChipletKind] = Counter()
    for number, entry in enumerate(wafer.switches):
        down = sum(
            wafer.links_between(one) / wafer.switches[one].uplink_cycles
            for one in wafer.below(number)
        )
        ports = len(entry.npus) + entry.uplinks / entry.uplink_cycles + down
        rate = ports * port + entry.controllers * io_bytes_per_s / wafer.planes
        level = wafer.level(number)
        name = f"L{level}, {entry.ports} ports"
        kind = ChipletKind(name, 0, level, entry.ports, entry.middle_switches, port, rate)
        counts[kind] += entry.chiplets
    kinds = [replace(one, chiplets=count) for one, count in counts.items()]
    return tuple(sorted(kinds, key=lambda one: (one.level, -one.ports, -one.bytes_per_s)))


def area_mm2(kinds: Sequence[ChipletKind], density: float) -> float:
    """Return the area of all chiplets at a density of I/O [GB/s/mm]."""
    return sum(one.chiplets * one.area_mm2(density) for one in kinds)


def wiring(
    wafer: WaferSpec,
    *,
    npu_bytes_per_s: float = NPU_L1_BYTES_PER_S,
    io_bytes_per_s: float = IO_BYTES_PER_S,
) -> tuple[Wiring, ...]:
    """Return the links of a wafer by kind; see ``chiplet_kinds``."""
    found: dict[str, tuple[int, float]] = {}
    for name, links, rate in _links(wafer, npu_bytes_per_s, io_bytes_per_s):
        count, total = found.get(name, (0, 0.0))
        found[name] = count + links, total + links * rate
    return tuple(Wiring(name, *both) for name, both in found.items())


def _links(wafer: WaferSpec, npu: float, io: float) -> Iterator[tuple[str, int, float]]:
    """Yield the links below and above each switch: kind, number and rate of each [B/s]."""
    planes = wafer.planes
    for number, one in enumerate(wafer.switches):
        own = f"L{wafer.level(number)}"
        if one.npus:
            yield f"NPU to {own}", len(one.npus) * planes, npu / planes
        if one.controllers:
            yield f"I/O to {own}", one.controllers * planes, io / planes
        if one.uplinks:
            above = f"L{wafer.level(wafer.above(number))}"
            rate = npu / planes / one.uplink_cycles
            yield f"{own} to {above}", one.chiplets * one.uplinks, rate


def _weight(kind: ChipletKind) -> float:
    """Return micro-switches times the rate of a port, to which logic is proportional."""
    parts = microswitch_counts(kind.ports, kind.middle_switches)
    return sum(parts.values()) * kind.port_bytes_per_s


@cache
def _logic_mm2_per_byte_per_s() -> float:
    kinds = chiplet_kinds(published_wafer())
    share = LOGIC_SHARE.value / 100
    return share * SWITCH_AREA.value / sum(one.chiplets * _weight(one) for one in kinds)


@cache
def _published_port_rates() -> float:
    kinds = chiplet_kinds(published_wafer())
    return sum(one.chiplets * one.ports * one.port_bytes_per_s for one in kinds)
