"""Specification of a mesh."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any, Self

from pydantic import SerializerFunctionWrapHandler, model_serializer, model_validator

from fred_hw.endpoint_spec import EndpointSpec
from fred_hw.fabric_spec import FabricSpec
from fred_hw.file_kinds import MESH
from fred_hw.files import Check, FileModel, int_range, name_in, refused
from fred_hw.protocol import ADDRESSES, ProtocolSpec
from fred_hw.spec import SwitchSpec
from fred_hw.virtual_channels import VirtualChannels

from .plan import DIRECTIONS, MeshPlan
from .routing import ROUTINGS

__all__ = [
    "ChannelledProtocol",
    "ChoosingProtocol",
    "MeshShape",
    "MeshSpec",
    "check_mesh",
]


def _boolean(value: object) -> object:
    if not isinstance(value, bool):
        raise refused(f"must be true or false, not {value!r}")
    return value


class MeshShape(FileModel):
    """Routers, addresses and routes of a mesh.

    Parameters
    ----------
    width, height : int
        Columns and rows of routers, 1 to 64 each, at least two routers in all.
    controllers : bool
        Whether each router has an I/O controller where it has no neighbour: one at an edge, two at
        a corner. Otherwise these ports are left out. There are at most 128 NPUs and controllers.
    routing : str
        How routers choose the route of a packet, one of ``ROUTINGS``; see
        docs/explanation/mesh.md. A torus needs ``dateline``.
    wrap : bool
        Whether the last router of each row and column is a neighbour of the first, as in a torus.
        A row or column then has 1 router or at least 3, and there are no I/O controllers.
    """

    width: Annotated[int, int_range(1, 64)]
    height: Annotated[int, int_range(1, 64)]
    controllers: Annotated[bool, Check(_boolean, schema=lambda: {"type": "boolean"})] = True
    routing: Annotated[str, name_in(ROUTINGS)] = "xy"
    wrap: Annotated[bool, Check(_boolean, schema=lambda: {"type": "boolean"})] = False

    @model_validator(mode="after")
    def _wraps(self) -> Self:
        if ROUTINGS[self.routing].wraps != self.wrap:
            fit = " or ".join(name for name in ROUTINGS if ROUTINGS[name].wraps == self.wrap)
            kind = "with wrap" if self.wrap else "without wrap"
            raise refused(f"routing: must be {fit} {kind}, not {self.routing}")
        for name in ("width", "height") if self.wrap else ():
            if getattr(self, name) == 2:
                raise refused(f"{name}: must be 1 or at least 3 with wrap, not 2")
        if self.wrap and self.controllers:
            raise refused("controllers: must be false with wrap, not true")
        return self

    @model_validator(mode="after")
    def _has_routers(self) -> Self:
        if self.routers == 1:
            least = 3 if self.wrap else 2
            raise refused(f"width: must be {least} or more in one row of routers, not 1")
        if len(self.plan.places) > ADDRESSES:
            raise refused(
                f"height: must give at most {ADDRESSES} NPUs and controllers, not "
                f"{len(self.plan.places)} with {self.height} rows of {self.width}"
            )
        return self

    @property
    def routers(self) -> int:
        """Number of routers, and of NPUs."""
        return self.width * self.height

    @cached_property
    def plan(self) -> MeshPlan:
        """Routers, links, addresses and routes of the mesh."""
        return MeshPlan(
            width=self.width,
            height=self.height,
            controllers=self.controllers,
            routing=self.routing,
            wrap=self.wrap,
        )

    def choice(self, spec: SwitchSpec) -> Any:
        """Return the unit with which a source finds its routes, if sources choose."""
        return ROUTINGS[self.routing].choice(spec)

    @property
    def shape_name(self) -> str:
        """Part of a generated name for addresses and routes."""
        usual = MeshShape.model_fields["routing"].default
        parts = [f"{self.width}x{self.height}"]
        parts += ["torus"] if self.wrap else [] if self.controllers else ["no_io"]
        parts += [] if self.routing == usual else [self.routing]
        return "_".join(parts)


class ChoosingProtocol(ProtocolSpec):
    """Protocol of a mesh whose sources choose routes and must know its shape.

    Parameters
    ----------
    shape : MeshShape
        The mesh.
    """

    shape: MeshShape

    @property
    def routes(self) -> MeshShape:
        """The mesh, whose addresses sources must know."""
        return self.shape

    @property
    def suffix(self) -> str:
        """Part of a generated name for these sizes and the mesh."""
        return f"{super().suffix}_{self.shape.shape_name}"


class ChannelledProtocol(ProtocolSpec):
    """Protocol of links whose urgency classes have several virtual channels each.

    Parameters
    ----------
    each : int
        Virtual channels of each class, a power of two.
    """

    each: int

    @property
    def channels(self) -> VirtualChannels:
        """The virtual channels of data."""
        return replace(super().channels, each=self.each)

    @property
    def suffix(self) -> str:
        """Part of a generated name for these sizes and the number of virtual channels."""
        return f"{super().suffix}{VirtualChannels(each=self.each).suffix}"


class MeshSpec(FabricSpec, MeshShape):
    """A mesh of routers, each with an NPU, and I/O controllers around it; frozen and hashable.

    Its fields are those of its shape, then those of its links.

    Parameters
    ----------
    operation : str
        Operation of the NPUs, one of ``OPERATIONS``; routers do not reduce, but all endpoints must
        match.
    protocol : ProtocolSpec
        Link layer and buffers.
    endpoint : EndpointSpec
        Collective engine of endpoints at NPUs; routers have none.

    Raises
    ------
    pydantic.ValidationError
        A key is unknown, a value has the wrong type or is out of range, there is one router alone,
        there are too many addresses, or the operation does not take the format; a ``ValueError``.
    """

    file_kind = MESH

    @model_serializer(mode="wrap")
    def _without_default_endpoint(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Omit a default endpoint, as most generated units are routers."""
        values = handler(self)
        if self.endpoint == EndpointSpec():
            values.pop("endpoint", None)
        return values

    @property
    def _most_ports(self) -> int:
        return 0  # routers do not acknowledge

    @property
    def shape(self) -> MeshShape:
        """The mesh without its links."""
        return MeshShape(**{name: getattr(self, name) for name in MeshShape.model_fields})

    def _known(self, protocol: ProtocolSpec) -> ProtocolSpec:
        """Return the protocol of a unit, which includes the mesh if sources choose routes."""
        if not ROUTINGS[self.routing].chooses:
            return protocol
        return ChoosingProtocol(**dict(protocol), shape=self.shape)

    @cached_property
    def link(self) -> SwitchSpec:
        """Specification of its link endpoints."""
        return self._unit(len(DIRECTIONS), protocol=self._known(self.protocol))

    def router(self, directions: Sequence[str], *, outside: bool = False) -> SwitchSpec:
        """Return the sizes of a router with given ports; it has no phases.

        Parameters
        ----------
        directions : sequence of str
            Its ports.
        outside : bool
            Whether the sizes are those of a port to an NPU, not to another router.
        """
        protocol = self._known(self.protocol.with_changes(phases=1))
        each = ROUTINGS[self.routing].channels
        if each > 1 and not outside:
            protocol = ChannelledProtocol(**dict(protocol), each=each)
        return self._unit(len(directions), protocol=protocol)

    @property
    def name(self) -> str:
        """Stable short name, such as ``mesh_5x4_fp16x4_link``; also of the generated top module."""
        sizes = self.link.suffix(crosses=False)
        return f"mesh_{self.shape_name}_{sizes}_{self.protocol.suffix}"


def check_mesh(unit: str, mesh: object) -> MeshSpec:
    """Return ``mesh`` if ``unit`` can be generated for it; fail otherwise.

    Raises
    ------
    TypeError
        ``mesh`` is no specification of a mesh.
    """
    if not isinstance(mesh, MeshSpec):
        raise TypeError(f"{unit} mesh must be a MeshSpec, not {mesh!r}")
    return mesh
