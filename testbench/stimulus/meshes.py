"""Traffic patterns of a mesh: the destination of each NPU.

They are those of Dally and Towles, "Principles and Practices of Interconnection Networks" (2004),
section 3.2. Patterns for a torus use the columns and rows as rings. "tornado", half around a ring,
equals "neighbor" for rings of up to four, and differs from five on.
"""

from collections.abc import Callable, Mapping

from fred_hw.mesh.routing import ROUTINGS
from fred_hw.mesh.spec import MeshSpec

__all__ = ["PATTERNS", "with_routing"]


def with_routing(mesh: MeshSpec, routing: str) -> MeshSpec:
    """Return a mesh with another routing; a torus, without controllers, if that is for one."""
    wrap = ROUTINGS[routing].wraps
    return mesh.with_changes(routing=routing, wrap=wrap, controllers=mesh.controllers and not wrap)


def _address(mesh: MeshSpec, x: int, y: int) -> int:
    return y * mesh.width + x


def _transpose(mesh: MeshSpec, source: int) -> int | None:
    """Return the NPU with row and column exchanged; None if it does not exist or is the same."""
    y, x = divmod(source, mesh.width)
    there = y < mesh.width and x < mesh.height and x != y
    return _address(mesh, y, x) if there else None


def _tornado(mesh: MeshSpec, source: int) -> int | None:
    """Return the NPU just less than half around its row, or around its column if it is one wide."""
    y, x = divmod(source, mesh.width)
    if mesh.width == 1:
        return _address(mesh, x, (y + max(1, (mesh.height + 1) // 2 - 1)) % mesh.height)
    return _address(mesh, (x + max(1, (mesh.width + 1) // 2 - 1)) % mesh.width, y)


def _complement(mesh: MeshSpec, source: int) -> int | None:
    """Return the NPU mirrored at the centre."""
    other = mesh.routers - 1 - source
    return other if other != source else None


def _neighbor(mesh: MeshSpec, source: int) -> int | None:
    """Return the eastern neighbour, wrapping around at the east edge."""
    y, x = divmod(source, mesh.width)
    if mesh.width == 1:
        return _address(mesh, x, (y + 1) % mesh.height)
    return _address(mesh, (x + 1) % mesh.width, y)


PATTERNS: Mapping[str, Callable[[MeshSpec, int], int | None]] = {
    "transpose": _transpose,
    "tornado": _tornado,
    "complement": _complement,
    "neighbor": _neighbor,
}
"""Functions by pattern name: the address an NPU sends to, or None if it does not send."""
