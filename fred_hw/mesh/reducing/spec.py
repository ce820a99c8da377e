"""Specification of a mesh whose routers reduce and multicast."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self

from pydantic import model_validator

from fred_hw.files import refused
from fred_hw.load import load_model
from fred_hw.mesh.plan import DIRECTIONS
from fred_hw.mesh.spec import MeshSpec
from fred_hw.spec import SwitchSpec

__all__ = ["NETWORK", "ReducingMeshSpec", "load_reducing_mesh"]

NETWORK = "crossbar"
"""Network of each router."""


class ReducingMeshSpec(MeshSpec):
    """A mesh with a switch in place of each router; frozen and hashable.

    Its file is that of a mesh. Unicasts follow X-Y routes, which software writes.

    Raises
    ------
    pydantic.ValidationError
        As for a mesh, or ``routing`` is not ``xy``.
    """

    @model_validator(mode="after")
    def _has_tables(self) -> Self:
        if self.routing != "xy":
            what = "where routers reduce, as their route tables have no source address"
            raise refused(f"routing: must be xy {what}, not {self.routing}")
        return self

    @property
    def _most_ports(self) -> int:
        return len(DIRECTIONS)  # routers acknowledge flows

    @cached_property
    def link(self) -> SwitchSpec:
        """Specification of its link endpoints."""
        return self.switch(len(DIRECTIONS))

    def switch(self, ports: int) -> SwitchSpec:
        """Return the specification of a router with a number of ports."""
        return self._unit(ports, network=NETWORK)

    @property
    def name(self) -> str:
        """Stable short name, such as ``reducing_mesh_5x4_fp16x4_link``; also of the top module."""
        sizes = self.link.suffix()
        return f"reducing_mesh_{self.shape_name}_{sizes}_{self.protocol.suffix}"


def load_reducing_mesh(source: str, changes: Mapping[str, Any] | None = None) -> ReducingMeshSpec:
    """Return the mesh in a YAML file ``source``, with changed fields; see ``load_model``."""
    return load_model(ReducingMeshSpec, source, changes)
