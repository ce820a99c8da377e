"""Scoreboard of packets: each flow's packets arrive in order, each once."""

from collections.abc import Collection, Iterator, Mapping, Sequence

__all__ = ["FlowKey", "Packets", "Scoreboard"]

Packets = list[tuple[int, ...]]
"""Packets of a flow, each with the data of its flits."""

FlowKey = tuple[int, int]
"""Phase, and the peer's address for unicasts, else 0."""

Received = Sequence[Mapping[FlowKey, Packets]]
"""Packets that each port received so far, by flow."""


class Scoreboard:
    """Expected packets of each port, compared with the received ones.

    Parameters
    ----------
    ports : int
        Number of ports.

    Attributes
    ----------
    wanted : list of dict
        Expected packets of each port by flow, including those that have arrived.
    """

    def __init__(self, ports: int) -> None:
        self.wanted: list[dict[FlowKey, Packets]] = [{} for _ in range(ports)]

    def want(self, port: int, flow: FlowKey, packets: Packets) -> None:
        """Expect packets of a flow at a port, after those expected before."""
        self.wanted[port].setdefault(flow, []).extend(packets)

    def _wanted(self, phases: Collection[int] | None) -> Iterator[tuple[int, FlowKey, Packets]]:
        """Yield port, flow and packets expected, for some phases or for all."""
        for port, wanted in enumerate(self.wanted):
            for flow, packets in wanted.items():
                if phases is None or flow[0] in phases:
                    yield port, flow, packets

    def missing(self, received: Received, phases: Collection[int] | None = None) -> int:
        """Return the number of packets that have not arrived, for some phases or for all."""
        return sum(
            len(packets) - len(received[port].get(flow, []))
            for port, flow, packets in self._wanted(phases)
        )

    def check(self, received: Received) -> None:
        """Compare all received packets with the beginning of the expected ones."""
        for port, (got_here, wanted) in enumerate(zip(received, self.wanted, strict=True)):
            for flow, got in got_here.items():
                want = wanted.get(flow, [])[: len(got)]
                assert got == want, f"port {port}, flow {flow}: got {got}, want {want}"

    def check_complete(self, received: Received, phases: Collection[int] | None = None) -> None:
        """Check that exactly the expected packets have arrived, for some phases or for all."""
        for port, flow, packets in self._wanted(phases):
            assert received[port].get(flow, []) == packets, f"port {port}, flow {flow}"

    @property
    def flits(self) -> int:
        """Number of flits of all expected packets."""
        packets = [one for wanted in self.wanted for own in wanted.values() for one in own]
        return sum(len(packet) for packet in packets)
