"""Remote memory: who waits for whom (``AnalyticalRemoteMemory.cc``)."""

from collections.abc import Callable

from perfmodel.astra.clock import Clock
from perfmodel.astra.files.memory import MemoryFile

__all__ = ["RemoteMemory"]


class RemoteMemory:
    """Memory beyond that of the NPUs.

    Parameters
    ----------
    file : MemoryFile
        What it is like, and not none.
    clock : Clock
        Where ends of accesses are put.
    """

    def __init__(self, file: MemoryFile, clock: Clock) -> None:
        self._file, self._clock = file, clock
        self._free: dict[int, int] = {}
        """From when on a port that serves one access after the other is free."""

    def access(self, npu: int, count: int, ended: Callable[[], object]) -> None:
        """Move some bytes, and have a function called when they are there."""
        file, now = self._file, self._clock.now
        assert file.remote_mem_bw is not None
        begin, port = now, 0
        if file.per_node:
            port = npu // (file.num_npus_per_node or 1)
        if file.memory_type != "PER_NPU_MEMORY_EXPANSION":
            begin = max(now, self._free.get(port, 0))
        end = begin + file.remote_mem_latency + int(count / file.remote_mem_bw)
        self._free[port] = end
        self._clock.at(end, ended)
