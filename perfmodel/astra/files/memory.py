"""Remote memory files of ASTRA-sim."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from fred_hw.errors import InputError
from fred_hw.files import FileModel, int_range, load_model, number_range, one_of

__all__ = ["MEMORY_TYPES", "MemoryFile", "load_memory"]

MEMORY_TYPES = (
    "NO_MEMORY_EXPANSION",
    "PER_NODE_MEMORY_EXPANSION",
    "PER_NPU_MEMORY_EXPANSION",
    "MEMORY_POOL",
)

_Count = Annotated[int, int_range(1, 1 << 16)]


class MemoryFile(FileModel):
    """Memory beyond that of an NPU, and who waits for whom there.

    Parameters
    ----------
    memory-type : str
        None, one for each node that serves one request after the other, one for each NPU, or one
        for all that serves one request after the other.
    remote-mem-latency : int
        Of each access [ns]; 0 if it is not given.
    remote-mem-bw : float
        Bandwidth [bytes per ns]; required unless there is no such memory.
    num-nodes : int
        Nodes, required with a memory for each of them.
    num-npus-per-node : int
        NPUs of a node, likewise; NPUs 0 up are in node 0.
    """

    memory_type: Annotated[str, one_of(*MEMORY_TYPES), Field(alias="memory-type")]
    remote_mem_latency: Annotated[int, int_range(0, 10**12), Field(alias="remote-mem-latency")] = 0
    remote_mem_bw: Annotated[
        float | None, number_range(1e-9, 1e12), Field(alias="remote-mem-bw")
    ] = None
    num_nodes: Annotated[_Count | None, Field(alias="num-nodes")] = None
    num_npus_per_node: Annotated[_Count | None, Field(alias="num-npus-per-node")] = None

    @property
    def per_node(self) -> bool:
        """Whether each node has a memory of its own."""
        return self.memory_type == "PER_NODE_MEMORY_EXPANSION"

    def check(self, source: str) -> None:
        """Fail unless it says what its type needs.

        Raises
        ------
        InputError
            A key is missing.
        """
        needed: list[tuple[str, object]] = []
        if self.memory_type != MEMORY_TYPES[0]:
            needed.append(("remote-mem-bw", self.remote_mem_bw))
        if self.per_node:
            needed.append(("num-nodes", self.num_nodes))
            needed.append(("num-npus-per-node", self.num_npus_per_node))
        for key, value in needed:
            if value is None:
                message = f"is required with {self.memory_type} and was not given"
                raise InputError(source, key, message)

    def check_npus(self, npus: int, source: str) -> None:
        """Fail unless all NPUs of a network are in a node.

        Raises
        ------
        InputError
            There are too few nodes.
        """
        if self.per_node and (self.num_nodes or 0) * (self.num_npus_per_node or 0) < npus:
            message = (
                f"must be enough for the {npus} NPUs of the network with num-npus-per-node "
                f"{self.num_npus_per_node}, not {self.num_nodes}"
            )
            raise InputError(source, "num-nodes", message)


NO_MEMORY = MemoryFile.model_validate({"memory-type": MEMORY_TYPES[0]})


def load_memory(path: Path) -> MemoryFile:
    """Return what a file says of remote memory, JSON if its name ends so, else YAML.

    Raises
    ------
    InputError
        The file is unreadable, or a key is unknown, missing or has a value that is not allowed.
    """
    found = load_model(MemoryFile, path)
    found.check(str(path))
    return found
