"""Remote memory files: those of ASTRA-sim, and a pool behind two levels of switches."""

from operator import methodcaller
from pathlib import Path
from typing import Annotated

from pydantic import Field

from fred_hw.errors import InputError
from fred_hw.file_kinds import REMOTE_MEMORY
from fred_hw.files import FileModel, int_range, load_model, number_range, one_of

__all__ = ["MEMORY_TYPES", "NO_MEMORY", "MemoryFile", "check_tier", "load_memory", "load_tier"]

MEMORY_TYPES = (
    "NO_MEMORY_EXPANSION",
    "PER_NODE_MEMORY_EXPANSION",
    "PER_NPU_MEMORY_EXPANSION",
    "MEMORY_POOL",
    "HIERARCHICAL_MEMORY_POOL",
)

_Count = Annotated[int, int_range(1, 1 << 16)]
_Rate = Annotated[float | None, number_range(1e-9, 1e12)]

_LEVELS = (
    "num-remote-mem-groups",
    "num-out-node-switches",
    "out-node-bw",
    "in-node-bw",
    "piece-size",
)
"""Keys that a hierarchical pool requires and that other types must not have."""


class MemoryFile(FileModel, alias_generator=methodcaller("replace", "_", "-")):
    """A remote memory, and how requests to it queue.

    Parameters
    ----------
    memory-type : str
        Kind of memory: none; one for each node that serves requests in order; one for each NPU; one
        for all NPUs that serves requests in order; or groups of memory behind switches, whose links
        concurrent requests share.
    remote-mem-latency : int
        Latency of each access [ns]; 0 by default.
    remote-mem-bw : float
        Bandwidth [bytes per ns], of each group in a hierarchical pool; required unless there is no
        such memory.
    num-nodes : int
        Number of nodes, required with a memory for each of them and with a hierarchical pool.
    num-npus-per-node : int
        NPUs of a node, required in the same cases; the first NPUs are in node 0.
    num-remote-mem-groups : int
        Groups of memory in a hierarchical pool; all data is spread over all groups.
    num-out-node-switches : int
        Switches between the groups of memory and the nodes, each with a link to every node.
    out-node-bw : float
        Bandwidth of a link between such a switch and a node, one direction [bytes per ns].
    in-node-bw : float
        Bandwidth of the fabric of a node to each of its NPUs, one direction [bytes per ns].
    piece-size : int
        Unit of transfer from one level to the next [B].
    in-switch-collectives : int
        1 for switches that copy data for several NPUs on loads, and reduce it on stores: the pool
        and each node's links then carry it once.
    """

    file_kind = REMOTE_MEMORY

    memory_type: Annotated[str, one_of(*MEMORY_TYPES, listed_by="fred schema astra-memory")]
    remote_mem_latency: Annotated[int, int_range(0, 10**12)] = 0
    remote_mem_bw: _Rate = None
    num_nodes: _Count | None = None
    num_npus_per_node: _Count | None = None
    groups: Annotated[_Count | None, Field(alias="num-remote-mem-groups")] = None
    switches: Annotated[_Count | None, Field(alias="num-out-node-switches")] = None
    out_node_bw: _Rate = None
    in_node_bw: _Rate = None
    piece_size: Annotated[int, int_range(1, 1 << 40)] | None = None
    in_switch: Annotated[int, int_range(0, 1), Field(alias="in-switch-collectives")] = 0

    @property
    def per_node(self) -> bool:
        """Whether each node has its own memory."""
        return self.memory_type == "PER_NODE_MEMORY_EXPANSION"

    @property
    def per_npu(self) -> bool:
        """Whether each NPU has its own memory."""
        return self.memory_type == "PER_NPU_MEMORY_EXPANSION"

    @property
    def hierarchical(self) -> bool:
        """Whether the memory is a pool behind two levels of switches."""
        return self.memory_type == "HIERARCHICAL_MEMORY_POOL"

    def check(self, source: str) -> None:
        """Fail unless the file has exactly the keys that its type requires.

        Raises
        ------
        InputError
            A key is missing, or has no meaning.
        """
        keys = {one.alias: getattr(self, name) for name, one in type(self).model_fields.items()}
        needed: list[str] = []
        if self.memory_type != MEMORY_TYPES[0]:
            needed.append("remote-mem-bw")
        if self.per_node or self.hierarchical:
            needed += ["num-nodes", "num-npus-per-node"]
        for key in (*needed, *(_LEVELS if self.hierarchical else ())):
            if keys[key] is None:
                message = f"is required with {self.memory_type} and was not given"
                raise InputError(source, key, message)
        for key in () if self.hierarchical else (*_LEVELS, "in-switch-collectives"):
            if keys[key]:
                message = f"must be left out with {self.memory_type}, not {keys[key]}"
                raise InputError(source, key, message)

    def check_npus(self, npus: int, source: str) -> None:
        """Fail unless every NPU of a network belongs to a node.

        Raises
        ------
        InputError
            There are too few nodes.
        """
        nodes = self.per_node or self.hierarchical
        if nodes and (self.num_nodes or 0) * (self.num_npus_per_node or 0) < npus:
            message = (
                f"must be enough for the {npus} NPUs of the network with num-npus-per-node "
                f"{self.num_npus_per_node}, not {self.num_nodes}"
            )
            raise InputError(source, "num-nodes", message)


NO_MEMORY = MemoryFile.model_validate({"memory-type": MEMORY_TYPES[0]})


def load_memory(path: Path) -> MemoryFile:
    """Return the remote memory of a file: JSON if its name ends in ``.json``, else YAML.

    Raises
    ------
    InputError
        The file is unreadable, or a key is unknown, missing or has a value that is not allowed.
    """
    return load_model(MemoryFile, path)


def load_tier(path: Path, npus: int) -> MemoryFile:
    """Return the remote memory of a file, for a given number of NPUs.

    Raises
    ------
    InputError
        As for :func:`load_memory`, or the file has no remote memory or too few nodes.
    """
    found = load_memory(path)
    check_tier(found, npus, str(path))
    return found


def check_tier(file: MemoryFile, npus: int, source: str) -> None:
    """Fail unless there is a remote memory large enough for the NPUs.

    Raises
    ------
    InputError
        There is not.
    """
    if file.remote_mem_bw is None:
        raise InputError(source, "memory-type", f"must be a kind of memory, not {file.memory_type}")
    file.check_npus(npus, source)
