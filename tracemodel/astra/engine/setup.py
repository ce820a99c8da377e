"""Inputs of a run: network, system, remote memory and groups."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from fred_hw.errors import InputError
from perfmodel.memory.file import NO_MEMORY, MemoryFile, load_memory
from tracemodel.astra.files.groups import NO_GROUPS, Groups, load_groups
from tracemodel.astra.files.network import load_network
from tracemodel.astra.files.system import SystemFile, load_system
from tracemodel.astra.fluid.network import FluidNetwork
from tracemodel.astra.network import Network

if TYPE_CHECKING:
    from perfmodel.network.roce.parameters import RoceFile
    from perfmodel.switch_timing.record import ProtocolModel
    from perfmodel.topology.graph import Topology

__all__ = ["Setup", "load_setup"]


@dataclass(frozen=True)
class Setup:
    """A network, a system, remote memory and groups that are used together.

    Parameters
    ----------
    network, system, memory : Network, SystemFile, MemoryFile
        Contents of the files.
    groups : mapping
        NPUs of each communicator group.
    system_source, groups_source : str
        Files of the system and the groups, for errors.
    queues : int
        Queues of each dimension, as ``--num-queues-per-dim`` of ASTRA-sim: chunks and phases take
        them in turn.
    control : bool
        Whether control dependencies of traces count.
    roce : RoceFile or None
        Parameters of network model roce; None for the defaults.
    """

    network: Network | FluidNetwork
    system: SystemFile
    memory: MemoryFile = NO_MEMORY
    groups: Groups = field(default_factory=dict[str, tuple[int, ...]])
    system_source: str = "system"
    groups_source: str = "groups"
    queues: int = 1
    control: bool = True
    roce: "RoceFile | None" = None

    @property
    def fabric(self) -> "Topology | None":
        """The built-in fabric, if the network consists of nothing else; None otherwise."""
        return self.network.fabric


def load_setup(
    network: str | Path,
    system: Path,
    memory: Path | None = None,
    groups: Path | None = None,
    *,
    model: str | None = None,
    protocol: "ProtocolModel | None" = None,
    algorithm: str = "published",
    queues: int = 1,
    control: bool = True,
    roce: "RoceFile | None" = None,
    base: Path | None = None,
) -> Setup:
    """Return the contents of the given files; memory and groups are optional.

    Groups are of ranks, which are known once the traces are read: ``check_members`` checks them.

    Parameters
    ----------
    network, protocol, algorithm : str or Path, str, str
        See ``load_network``.
    system, memory, groups : Path
        The other files.
    model : str or None
        Network model that the setup is for; None for any.
    queues, control, roce : int, bool, RoceFile or None
        See ``Setup``.
    base : Path or None
        Folder that relative paths of networks and custom collectives start from; None is the
        working directory.

    Raises
    ------
    InputError
        A file is bad, or they do not go together.
    """
    found = load_network(network, protocol, algorithm, base)
    if model == "roce":
        if not found.fabric:
            message = f"must be a topology alone with network model {model}"
            raise InputError(str(network), "", f"{message}, not a network of ASTRA-sim")
    elif found.fabrics and model not in ("fluid", None):
        message = f"must be a network of ASTRA-sim alone with network model {model}"
        raise InputError(str(network), "", f"{message}, not one with a built-in fabric")
    said = load_memory(memory) if memory else NO_MEMORY
    if not found.fabric:  # with a fabric, traces may have fewer NPUs than it
        said.check_npus(found.npus, str(memory))
    return Setup(
        network=found,
        system=load_system(system, base),
        memory=said,
        groups=load_groups(groups) if groups else {},
        system_source=str(system),
        groups_source=str(groups) if groups else NO_GROUPS,
        queues=queues,
        control=control,
        roce=roce,
    )
