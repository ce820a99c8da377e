"""What a run needs beside the traces: a network, a system, remote memory and groups."""

from dataclasses import dataclass, field
from pathlib import Path

from perfmodel.astra.files.groups import Groups, check_members, load_groups
from perfmodel.astra.files.memory import NO_MEMORY, MemoryFile, load_memory
from perfmodel.astra.files.network import load_network
from perfmodel.astra.files.system import SystemFile, load_system
from perfmodel.astra.network import Network

__all__ = ["Setup", "load_setup"]


@dataclass(frozen=True)
class Setup:
    """A network, a system, remote memory and groups that go together.

    Parameters
    ----------
    network, system, memory : Network, SystemFile, MemoryFile
        As their files say.
    groups : mapping
        NPUs of each communicator group.
    system_source, groups_source : str
        Files of the system and the groups, for errors.
    """

    network: Network
    system: SystemFile
    memory: MemoryFile = NO_MEMORY
    groups: Groups = field(default_factory=dict[str, tuple[int, ...]])
    system_source: str = "system"
    groups_source: str = "groups"


def load_setup(
    network: Path, system: Path, memory: Path | None = None, groups: Path | None = None
) -> Setup:
    """Return what some files say; without one there is no remote memory, or no group but all.

    Raises
    ------
    InputError
        A file is bad, or they do not go together.
    """
    found = load_network(network)
    said = load_memory(memory) if memory else NO_MEMORY
    said.check_npus(found.npus, str(memory))
    members = load_groups(groups) if groups else {}
    check_members(members, found.npus, str(groups))
    return Setup(
        network=found,
        system=load_system(system),
        memory=said,
        groups=members,
        system_source=str(system),
        groups_source=str(groups) if groups else "--groups",
    )
