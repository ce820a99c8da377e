"""Link load of a wafer's training iteration, by class of links.

On a wafer, LIBRA's dimensions are classes of links that have one rate: those of NPUs to their
switches, those between switches or, on a mesh, between NPUs, and those of I/O controllers.
"""

from collections.abc import Iterable, Sequence

from perfmodel.network.fluid.task import Profile
from perfmodel.topology.graph import Topology
from perfmodel.training.estimate import memory_of
from perfmodel.training.operations import Operations
from perfmodel.training.placement.place import Placement
from perfmodel.training.request import Request
from perfmodel.training.search import rounds
from perfmodel.workloads.workload import Workload as Training

from .workload import Workload

__all__ = ["CLASSES", "communication", "wires"]

CLASSES = ("NPU to switch", "between switches or NPUs", "of I/O controllers")
"""Classes of links."""


def communication(topology: Topology, training: Training, placement: Placement) -> Workload:
    """Return the communication of an iteration, without compute.

    Each collective or stream sends, on the busiest link of each class, the bytes that its
    simulation puts there [B].
    """
    classes = _classes(topology)
    found: list[tuple[float, ...]] = []
    recomputed = memory_of(Request.of(topology, training, placement.strategy)).recomputed
    for one in rounds(Operations(topology, placement), training, recomputed=recomputed):
        parts = [one.profiles] if one.at_once else [(profile,) for profile in one.profiles]
        sent = [_busiest(profiles, classes) for profiles in parts]
        found += [tuple(one.times * size for size in sizes) for sizes in sent if any(sizes)]
    return Workload(training.name, 0.0, tuple(found))


def wires(topology: Topology) -> tuple[int, ...]:
    """Return the number of links of each class; both directions count as one link."""
    classes = _classes(topology)
    return tuple(classes.count(number) // 2 for number in range(len(CLASSES)))


def _classes(topology: Topology) -> list[int]:
    """Return the class of each link, keyed by link."""
    found: list[int] = []
    for link in range(len(topology.links)):
        kinds = topology.link_ends(link)
        found.append(2 if "io" in kinds else int(kinds != ("npu", "switch")))
    return found


def _busiest(profiles: Iterable[Profile], classes: Sequence[int]) -> tuple[float, ...]:
    """Return the bytes on the busiest link of each class."""
    sent = [0.0] * len(CLASSES)
    for profile in profiles:
        for link, carried in profile.loads:
            if link < len(classes):  # leaves out links inside a switch
                sent[classes[link]] = max(sent[classes[link]], carried)
    return tuple(sent)
