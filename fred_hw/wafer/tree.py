"""The tree of a wafer: switches, their chiplets, and what is connected to them."""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, Field, model_validator

from fred_hw.files import Check, FileModel, int_range, refused
from fred_hw.protocol import ADDRESSES, ProtocolSpec

__all__ = ["SwitchEntry", "WaferTree"]

_MOST_SWITCHES = 64
_MOST_CHIPLETS = 64
_NAME = "^[a-z][a-z0-9_]{0,31}$"
_RESERVED = re.compile(r"(?:npu|io)\d+|.*_p\d+")
"""Reserved names, which the generator uses."""


def _name(value: object) -> object:
    if not isinstance(value, str) or not re.fullmatch(_NAME, value):
        raise refused(
            f"must be a lower-case letter and up to 31 more, digits or underscores, not {value!r}"
        )
    return value


def _each_once(npus: list[int]) -> list[int]:
    for npu in npus:
        if npus.count(npu) > 1:
            raise refused(f"must have each NPU once, not {npu} twice")
    return npus


class SwitchEntry(FileModel):
    """A switch of a wafer: identical parallel chiplets, the same number in each plane.

    Parameters
    ----------
    name : str
        Name in files and in the Verilog: lower-case letters, digits and underscores.
    above : str
        Name of the next higher switch; omitted for the switch at the top.
    chiplets : int
        Chiplets of all planes together, a multiple of `planes`. A switch with NPUs has one in each
        plane.
    ports : int
        Ports of a chiplet, 2 to 64: its links plus `spare`.
    spare : int
        Unconnected ports of a chiplet, so that one chiplet can serve places with fewer links.
    uplinks : int
        Links from each chiplet to the next higher switch, 0 at the top. A multiple of the chiplets
        of that switch in a plane, each of which gets the same number.
    uplink_cycles : int
        Time from flit to flit on an uplink in each direction, 1 to 64 [cycles]: 2 for half the
        rate. The circuit between the chiplets, which is not in the Verilog, holds ``tready`` low
        meanwhile.
    npus : list of int
        NPUs that are attached by a port in each plane, numbers from 0.
    controllers : int
        I/O controllers that are attached by a port in each plane.
    middle_switches : int
        Middle-stage subswitches of its interconnect, 2 to 8.
    protocol : ProtocolSpec
        Complete protocol of this switch, in place of the wafer's. `packet_flits`, `window_packets`
        and `buffer_packets` must equal the wafer's, because both sides of a link rely on them.
    """

    old_names: ClassVar[Mapping[str, str]] = {"middle": "middle_switches"}

    name: Annotated[str, Check(_name, schema=lambda: {"type": "string", "pattern": _NAME})]
    above: str | None = None
    chiplets: Annotated[int, int_range(1, _MOST_CHIPLETS * _MOST_CHIPLETS)]
    ports: Annotated[int, int_range(2, 64)]
    spare: Annotated[int, int_range(0, 62)] = 0
    uplinks: Annotated[int, int_range(0, 64)] = 0
    uplink_cycles: Annotated[int, int_range(1, 64)] = 1
    npus: Annotated[
        list[Annotated[int, int_range(0, ADDRESSES - 1)]], AfterValidator(_each_once)
    ] = Field(default=[])
    controllers: Annotated[int, int_range(0, 64)] = 0
    middle_switches: Annotated[int, int_range(2, 8)] = 3
    protocol: ProtocolSpec | None = None


class WaferTree(FileModel):
    """NPUs on a tree of switches, in planes with one port of each NPU.

    Parameters
    ----------
    npus : int
        NPUs, 2 to 128; with I/O controllers 128 at most.
    planes : int
        Ports of each NPU, 1 to 64. Planes are alike, and no wire joins two of them: one is the unit
        that is generated, compiled for and simulated.
    switches : list of SwitchEntry
        The switches, in any order: a tree.
    """

    npus: Annotated[int, int_range(2, ADDRESSES)]
    planes: Annotated[int, int_range(1, _MOST_CHIPLETS)] = 1
    switches: Annotated[list[SwitchEntry], Field(min_length=1, max_length=_MOST_SWITCHES)]

    @model_validator(mode="after")
    def _is_tree(self) -> Self:
        self._check_tree()
        self._check_npus()
        self._check_leaves()
        for number in range(len(self.switches)):
            self._check_chiplets(number)
        for number in range(len(self.switches)):
            self._check_ports(number)
        if (given := self.npus + self.controller_count) > ADDRESSES:
            raise refused(f"npus: must be at most {ADDRESSES} with I/O controllers, not {given}")
        return self

    def _check_tree(self) -> None:
        """Fail unless names form a tree: one root and no loop."""
        names = [one.name for one in self.switches]
        for number, one in enumerate(self.switches):
            field = f"switches.{number}"
            if one.name in names[:number]:
                raise refused(f"{field}.name: must be another than those before, not {one.name!r}")
            if _RESERVED.fullmatch(one.name):
                other = "no name of an NPU, a controller or a chiplet"
                raise refused(f"{field}.name: must be {other}, as {one.name!r} is")
            if one.above is not None and one.above not in names:
                raise refused(f"{field}.above: must be the name of a switch, not {one.above!r}")
        tops = [number for number, one in enumerate(self.switches) if one.above is None]
        if len(tops) > 1:
            top = names[tops[0]]
            field = f"switches.{tops[1]}.above"
            raise refused(f"{field}: must be given, as {top} is at the top, not left out")
        for number, one in enumerate(self.switches):
            seen = [one.name]
            while (above := self.switches[names.index(seen[-1])].above) is not None:
                if above in seen:
                    loop = ", ".join(seen[seen.index(above) :])
                    raise refused(
                        f"switches.{number}.above: must lead to one switch at the top, not in a "
                        f"loop through {loop}"
                    )
                seen.append(above)

    def _check_leaves(self) -> None:
        """Fail if nothing is attached to a switch."""
        above = {one.above for one in self.switches}
        for number, one in enumerate(self.switches):
            if not one.npus and not one.controllers and one.name not in above:
                raise refused(
                    f"switches.{number}.npus: must be one or more, or controllers, where no switch "
                    "is below, not none"
                )

    def _check_npus(self) -> None:
        """Fail if NPUs are attached twice, or not at all."""
        places: dict[int, str] = {}
        for number, one in enumerate(self.switches):
            for npu in one.npus:
                field = f"switches.{number}.npus"
                if npu >= self.npus:
                    raise refused(f"{field}: must be numbers from 0 to {self.npus - 1}, not {npu}")
                if npu in places:
                    other = f"{npu}, which {places[npu]} has"
                    raise refused(f"{field}: must be NPUs that no other switch has, not {other}")
                places[npu] = one.name
        missing = [npu for npu in range(self.npus) if npu not in places]
        if missing:
            raise refused(f"npus: must each be connected to a switch, but NPU {missing[0]} is not")

    def _check_chiplets(self, number: int) -> None:
        """Fail if chiplets and links cannot be divided evenly over planes and each other."""
        one, field = self.switches[number], f"switches.{number}"
        if one.chiplets % self.planes:
            allowed = f"a multiple of the {self.planes} planes"
            raise refused(f"{field}.chiplets: must be {allowed}, not {one.chiplets}")
        if (one.npus or one.controllers) and one.chiplets != self.planes:
            allowed = f"{self.planes} with NPUs or controllers, one in each plane"
            raise refused(f"{field}.chiplets: must be {allowed}, not {one.chiplets}")
        parts = self.parts(self.above(number)) if one.above is not None else 0
        if parts == 0 and one.uplinks:
            raise refused(f"{field}.uplinks: must be 0 at the top, not {one.uplinks}")
        if parts and (not one.uplinks or one.uplinks % parts):
            allowed = f"a multiple of {parts}, the chiplets of {one.above} in a plane"
            raise refused(f"{field}.uplinks: must be {allowed}, not {one.uplinks}")
        if not parts and one.uplink_cycles > 1:
            raise refused(f"{field}.uplink_cycles: must be 1 at the top, not {one.uplink_cycles}")

    def _check_ports(self, number: int) -> None:
        """Fail if the ports of a chiplet do not match its links."""
        one = self.switches[number]
        down = sum(self.links_between(child) for child in self.below(number))
        links = len(one.npus) + one.controllers + down + one.uplinks
        if links + one.spare != one.ports:
            spare = f", and {one.spare} spare" if one.spare else ""
            raise refused(
                f"switches.{number}.ports: must be {links + one.spare}, the number of its links "
                f"({len(one.npus)} to NPUs, {one.controllers} to controllers, {down} down, "
                f"{one.uplinks} up{spare}), not {one.ports}"
            )

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {one.name: number for number, one in enumerate(self.switches)}

    def above(self, number: int) -> int:
        """Return the number of the switch above; -1 for the root."""
        name = self.switches[number].above
        return -1 if name is None else self._numbers[name]

    def below(self, number: int) -> list[int]:
        """Return the numbers of the switches below."""
        name = self.switches[number].name
        return [child for child, one in enumerate(self.switches) if one.above == name]

    def level(self, number: int) -> int:
        """Return the level of a switch: 1 without switches below, as all L1 switches."""
        return 1 + max((self.level(one) for one in self.below(number)), default=0)

    def parts(self, number: int) -> int:
        """Return the number of chiplets of a switch in a plane."""
        return self.switches[number].chiplets // self.planes

    def links_between(self, child: int) -> int:
        """Return the links of each upper chiplet to all chiplets of a switch, in a plane."""
        return self.parts(child) * self.switches[child].uplinks // self.parts(self.above(child))

    @property
    def root(self) -> int:
        """Number of the root switch."""
        return next(n for n, one in enumerate(self.switches) if one.above is None)

    @property
    def controller_count(self) -> int:
        """Number of I/O controllers."""
        return sum(one.controllers for one in self.switches)

    def home(self, npu: int) -> SwitchEntry:
        """Return the switch that an NPU is attached to."""
        return next(one for one in self.switches if npu in one.npus)
