"""The interface of a collective algorithm on a mesh, and the registry of algorithms."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from fred_hw.ace.operations import Buffer, Descriptor, FlowId, Ring, block_of
from fred_hw.compiler.ring_messages import message_flits
from fred_hw.registry import Registry

from .spec import MeshSpec

__all__ = ["ALGORITHMS", "Lane", "MeshAlgorithm", "Place", "Stage", "rings"]

Stage = Mapping[int, Descriptor]
"""Descriptors of NPUs, keyed by number, that run at the same time."""

Lane = Sequence[Stage]
"""Successive stages of a collective on one virtual channel."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Location of a collective's data (the same in all memories), and its virtual channels.

    Parameters
    ----------
    mesh : MeshSpec
        The mesh.
    source, destination : Buffer
        Data to be sent, and its destination, of the same size. An all-gather works in place in
        ``destination``, which holds each member's own block.
    circuits : tuple of str
        Virtual channel, and the one for the second half of collectives with two halves.
    """

    mesh: MeshSpec
    source: Buffer
    destination: Buffer
    circuits: tuple[str, str]

    @property
    def flit_bytes(self) -> int:
        """Number of bytes of a flit."""
        return self.mesh.link.data_width // 8

    def part(self, index: int, count: int) -> "Place":
        """Return one part of the data; each part has its own virtual channel."""
        buffers = (
            block_of(one, count, index, self.flit_bytes) for one in (self.source, self.destination)
        )
        source, destination = buffers
        circuits = (self.circuits[index], self.circuits[index])
        return replace(self, source=source, destination=destination, circuits=circuits)

    @property
    def settled(self) -> "Place":
        """The same location, with the received data as the source."""
        return replace(self, source=self.destination)


class MeshAlgorithm(ABC):
    """Arrangement of a collective's rings on a mesh.

    Attributes
    ----------
    needs : str
        Which groups it takes, for refusals: "must ...".
    """

    needs: str

    @abstractmethod
    def fits(self, mesh: MeshSpec, group: Sequence[int]) -> bool:
        """Return whether the algorithm supports a group."""

    @abstractmethod
    def lanes(self, place: Place, group: Sequence[int], pattern: str) -> list[Lane]:
        """Return an all-reduce, reduce-scatter or all-gather of a supported group."""

    def is_modelled(self, mesh: MeshSpec, group: Sequence[int]) -> bool:
        """Return whether the performance model describes this case."""
        return True


ALGORITHMS: Registry[MeshAlgorithm] = Registry("fred_hw.mesh.algorithms", "algorithm on a mesh")
"""All algorithms by name, the same names as in ``perfmodel.collectives.algorithms``.

"auto" takes the last of those that a group fits.
"""


def rings(place: Place, orders: Iterable[Sequence[int]], pattern: str) -> dict[int, Descriptor]:
    """Return concurrent rings of a collective; empty if there is nothing to send."""
    found: dict[int, Descriptor] = {}
    flits = place.source.size // place.flit_bytes
    here = place.settled if pattern == "all_gather" else place
    for order in orders if flits else ():
        count = len(order)
        message = message_flits(-(-flits // count), count, place.mesh.endpoint)
        for rank, npu in enumerate(order):
            found[npu] = Descriptor(
                operation=pattern,
                circuit=place.circuits[0],
                source=here.source,
                destination=here.destination,
                send=FlowId(order[(rank + 1) % count], unicast=True),
                receive=FlowId(order[rank - 1], unicast=True),
                ring=Ring(
                    members=count,
                    rank=rank,
                    message_bytes=message * place.flit_bytes,
                    fsms=place.mesh.endpoint.fsms,
                ),
            )
    return found
