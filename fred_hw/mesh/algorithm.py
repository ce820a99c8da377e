"""The interface of a collective algorithm on a mesh, and the registry of all of them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from fred_hw.ace.operations import Buffer, Descriptor, FlowId, Ring, block_of
from fred_hw.compiler.ring_messages import message_flits
from fred_hw.registry import Registry

from .spec import MeshSpec

__all__ = ["ALGORITHMS", "Lane", "MeshAlgorithm", "Place", "Stage", "rings"]

Stage = Mapping[int, Descriptor]
"""What NPUs do of a collective at a time, by number."""

Lane = Sequence[Stage]
"""What a circuit does of a collective, one stage after the other."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a collective is, in the same place of all memories, and what carries it.

    Parameters
    ----------
    mesh : MeshSpec
        The mesh.
    source, destination : Buffer
        What is sent, and where results go, of the same size. An all-gather is in place in
        ``destination``, and has each one's own block there.
    circuits : tuple of str
        Circuit, and the one that carries the second half of what has two.
    """

    mesh: MeshSpec
    source: Buffer
    destination: Buffer
    circuits: tuple[str, str]

    @property
    def flit_bytes(self) -> int:
        """Bytes of a flit."""
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
        """It, in place: what is sent is what was received."""
        return replace(self, source=self.destination)


class MeshAlgorithm(ABC):
    """How rings of a collective go on a mesh.

    Attributes
    ----------
    needs : str
        Which groups it takes, for refusals: "must ...".
    """

    needs: str

    @abstractmethod
    def fits(self, mesh: MeshSpec, group: Sequence[int]) -> bool:
        """Return whether it takes a group."""

    @abstractmethod
    def lanes(self, place: Place, group: Sequence[int], pattern: str) -> list[Lane]:
        """Return an all-reduce, a reduce-scatter or an all-gather of a group that it takes."""

    def is_modelled(self, mesh: MeshSpec, group: Sequence[int]) -> bool:
        """Return whether it goes as the model has it."""
        return True


ALGORITHMS: Registry[MeshAlgorithm] = Registry("fred_hw.mesh.algorithms", "algorithm on a mesh")
"""All of them by name, the same as in ``perfmodel.collectives.algorithms``.

"auto" takes the last of those that a group fits.
"""


def rings(place: Place, orders: Iterable[Sequence[int]], pattern: str) -> dict[int, Descriptor]:
    """Return rings of a collective at a time; nothing if there is nothing to send."""
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
