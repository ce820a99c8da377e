"""Remote memory: queues of requests (``AnalyticalRemoteMemory.cc``), and shared pools."""

from collections.abc import Callable, Sequence

from perfmodel.clock import Clock
from perfmodel.memory.access import Tier
from perfmodel.memory.file import MemoryFile
from perfmodel.network.fluid.sharing import SharedFlow, Sharing

__all__ = ["RemoteMemory"]


class RemoteMemory:
    """Memory outside the NPUs.

    Parameters
    ----------
    file : MemoryFile
        Description of the memory.
    clock : Clock
        Clock for the ends of accesses.
    """

    def __init__(self, file: MemoryFile, clock: Clock[int]) -> None:
        self._file, self._clock = file, clock
        self._tier = Tier(file) if file.hierarchical else None
        self.sharing = Sharing(clock)
        """Bandwidth sharing of a pool."""
        self._free: dict[int, int] = {}
        """Time from which each serial port is free."""

    @property
    def joins(self) -> bool:
        """Whether switches multicast the loads of a group and reduce its stores."""
        return self._file.in_switch == 1

    def access(self, npus: Sequence[int], count: int, ended: Callable[[], object]) -> None:
        """Transfer bytes of each of the given NPUs; call a function when the transfer has ended.

        Several NPUs, which load the same or store what is added up, are for a memory that joins.
        """
        if self._tier:
            self._pooled(self._tier, npus, count, ended)
            return
        file, now = self._file, self._clock.now
        (npu,) = npus
        assert file.remote_mem_bw is not None
        begin, port = now, 0
        if file.per_node:
            port = npu // (file.num_npus_per_node or 1)
        if not file.per_npu:
            begin = max(now, self._free.get(port, 0))
        end = begin + file.remote_mem_latency + int(count / file.remote_mem_bw)
        self._free[port] = end
        self._clock.at(end, ended)

    def busy(self) -> dict[int, int]:
        """Return how much longer each busy port stays busy [ns]."""
        now = self._clock.now
        return {port: free - now for port, free in self._free.items() if free > now}

    def _pooled(
        self, tier: Tier, npus: Sequence[int], count: int, ended: Callable[[], object]
    ) -> None:
        found = tier.access([npus], count)
        loads = {link: one for link, one in found.loads.items() if one}
        if not loads or not found.time_ns:
            self.sharing.begin(SharedFlow(found.time_ns), ended)
            return
        shares = tuple(
            (link, min(1.0, one / tier.bytes_per_ns(link) / found.time_ns))
            for link, one in loads.items()
        )
        self.sharing.begin(SharedFlow(found.time_ns, shares, count / found.time_ns), ended)
