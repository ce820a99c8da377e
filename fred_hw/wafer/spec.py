"""Specification of a wafer: its tree of switches, and its endpoints."""

from collections.abc import Iterator
from typing import Annotated, Self
from zlib import crc32

from pydantic import Field, model_validator

from fred_hw.fabric_spec import FabricSpec
from fred_hw.file_kinds import WAFER
from fred_hw.files import one_of, refused
from fred_hw.formats.number_format import FORMATS
from fred_hw.protocol import SHARED_SIZES, ProtocolSpec
from fred_hw.spec import SwitchSpec, WideFormatName, check_accumulation

from .tree import SwitchEntry, WaferTree

__all__ = ["CONTROLLERS", "WaferSpec"]

CONTROLLERS = ("links", "endpoints")
"""What is attached to the ports of I/O controllers: outgoing links, or endpoints in the plane."""


class WaferSpec(FabricSpec, WaferTree):
    """NPUs on a tree of switches, in planes with one port of each NPU; frozen.

    Its fields are those of its tree, those of its links, and its own.

    Parameters
    ----------
    controllers : str
        Hardware at the ports of I/O controllers: ``links`` that leave the plane, or ``endpoints``
        like those of NPUs, in front of the memory of a controller.
    accumulation : str, optional
        A wider floating-point format of the lanes between the micro-switches of each switch;
        docs/reference/names.md lists the choices for each format.

    Raises
    ------
    pydantic.ValidationError
        A key is unknown, a value has the wrong type or is out of range; the switches are no tree,
        have other ports than links, or distribute them unevenly; an NPU is attached twice or not at
        all; a switch has no members; or sizes of the two ends of a link differ. A ``ValueError``.
    """

    file_kind = WAFER

    controllers: Annotated[str, one_of(*CONTROLLERS)] = CONTROLLERS[0]
    accumulation: Annotated[WideFormatName | None, Field(examples=["fp32"])] = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        size = self.lanes * FORMATS[self.format].storage_bits // 8
        if size & (size - 1):
            raise refused(f"lanes: must make flits of 1, 2, 4, ... bytes, not of {size}")
        check_accumulation(self.accumulation, self.format)
        for number, one in enumerate(self.switches):
            self._check_headers(f"switches.{number}.protocol", one)
        if self.controllers == "endpoints" and self.endpoints == self.npus:
            raise refused(
                "controllers: must be links where no switch has I/O controllers, not 'endpoints'"
            )
        return self

    def _check_headers(self, field: str, one: SwitchEntry) -> None:
        """Fail if neighbouring switches would refuse each other's handshake."""
        for name in SHARED_SIZES:
            wanted, given = (getattr(said, name) for said in (self.protocol, self._protocol(one)))
            if wanted != given:
                allowed = f"{wanted}, as all ends of links have it"
                raise refused(f"{field}.{name}: must be {allowed}, not {given}")

    def _protocol(self, one: SwitchEntry) -> ProtocolSpec:
        return one.protocol or self.protocol

    @property
    def _most_ports(self) -> int:
        return max(one.ports for one in self.switches)

    @property
    def endpoints(self) -> int:
        """Number of endpoints of a plane: NPUs, then I/O controllers, by address."""
        return self.npus + (self.controller_count if self.controllers == "endpoints" else 0)

    @property
    def link(self) -> SwitchSpec:
        """Specification of the endpoints."""
        return self._unit(self.home(0).ports, accumulation=self.accumulation)

    def chiplet(self, number: int) -> SwitchSpec:
        """Return the specification of a switch's chiplets."""
        one = self.switches[number]
        return self._unit(
            one.ports,
            accumulation=self.accumulation,
            middle_switches=one.middle_switches,
            protocol=self._protocol(one),
        )

    @property
    def phases(self) -> int:
        """Number of phases for which all link endpoints have entries."""
        return min(one.phases for one in (self.protocol, *map(self._protocol, self.switches)))

    @property
    def name(self) -> str:
        """Stable name, such as ``wafer_n20_s6_3f2a91c0_fp16x4_link``; also of the generated top.

        The number in the middle identifies the tree and the hardware at I/O controllers.
        """
        tree: list[object] = [list(self._tree_of(one)) for one in self.switches]
        if self.controllers != CONTROLLERS[0]:
            tree.append(self.controllers)
        tree += [self.accumulation] if self.accumulation else []
        number = crc32(repr(tree).encode())
        link = self.link
        sizes = f"{link.suffix(crosses=False)}_{self.protocol.suffix}_{self.endpoint.suffix}"
        return f"wafer_n{self.npus}_s{len(self.switches)}_{number:08x}_{sizes}"

    def _tree_of(self, one: SwitchEntry) -> Iterator[object]:
        """Yield the chiplets of each switch, and their links in a plane."""
        yield from (one.name, one.above, one.chiplets // self.planes, one.ports, one.uplinks)
        yield from (one.npus, one.controllers, one.middle_switches)
        yield one.protocol.suffix if one.protocol else ""
        if (one.spare, one.uplink_cycles) != (0, 1):
            yield from (one.spare, one.uplink_cycles)
