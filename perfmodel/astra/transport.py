"""Messages between NPUs in the two network models of ASTRA-sim."""

from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol

from perfmodel.clock import Clock
from perfmodel.network.analytical.links import FifoLinks

from .network import Hop, Network

__all__ = [
    "MODELS",
    "NETWORK_MODELS",
    "Aware",
    "Carrier",
    "Exchange",
    "Key",
    "Transport",
    "Unaware",
]

Key = tuple[object, int, int, int]
"""What a message and who waits for it have in common: tag, source, target, bytes."""


class Carrier(Protocol):
    """Carries messages."""

    def carry(self, source: int, target: int, count: int, arrived: Callable[[], object]) -> None:
        """Send some bytes now, and have a function called when they have arrived."""
        ...


class Transport(Carrier, Protocol):
    """Carries messages over a network.

    Parameters
    ----------
    network : Network
        The network.
    clock : Clock
        Where arrivals are put.
    """

    def __init__(self, network: Network, clock: Clock[int]) -> None: ...


class Unaware:
    """ASTRA-sim's model without congestion: each message as if it were alone."""

    def __init__(self, network: Network, clock: Clock[int]) -> None:
        self._network, self._clock = network, clock

    def carry(self, source: int, target: int, count: int, arrived: Callable[[], object]) -> None:
        """Send some bytes now, and have a function called when they have arrived."""
        delay = self._network.delay_ns(source, target, count)
        self._clock.at(self._clock.now + delay, arrived)


class Aware(FifoLinks[Hop]):
    """ASTRA-sim's model with congestion: links serve one message after the other.

    Messages are stored and forwarded, through all dimensions in which two NPUs differ; ASTRA-sim
    itself has this model for one dimension only.
    """

    def __init__(self, network: Network, clock: Clock[int]) -> None:
        self._network = network
        wires = [one.wire() for one in network.dimensions]
        super().__init__(lambda hop: wires[hop[0]], clock)

    def carry(self, source: int, target: int, count: int, arrived: Callable[[], object]) -> None:
        """Send some bytes now, and have a function called when they have arrived."""
        self.forward(tuple(self._network.route(source, target)), count, arrived)


MODELS: Mapping[str, type[Transport]] = {"unaware": Unaware, "aware": Aware}
"""Network models of ASTRA-sim by name: congestion-unaware and congestion-aware."""

NETWORK_MODELS = ("fluid", *MODELS)
"""Network models of traces by name: ours, and those of ASTRA-sim."""


class Exchange:
    """Matching of messages and waiting receives, each in order.

    Parameters
    ----------
    transport : Carrier
        Carries the messages.
    clock : Clock
        Where those are called who ask for what has arrived already.
    """

    def __init__(self, transport: Carrier, clock: Clock[int]) -> None:
        self._transport, self._clock = transport, clock
        self._arrived: dict[Key, int] = defaultdict(int)
        self._waiting: dict[Key, deque[Callable[[], object]]] = defaultdict(deque)

    def send(self, key: Key, sent: Callable[[], object] | None = None) -> None:
        """Send a message now; ``sent`` is called when it has arrived."""
        _, source, target, count = key
        self._transport.carry(source, target, count, partial(self.arrive, key, sent))

    def receive(self, key: Key, received: Callable[[], object]) -> None:
        """Have a function called when a message has arrived that nobody else waits for."""
        if self._arrived[key]:
            self._arrived[key] -= 1
            self._clock.at(self._clock.now, received)
        else:
            self._waiting[key].append(received)

    def arrive(self, key: Key, sent: Callable[[], object] | None) -> None:
        """Pass a message to its waiting receive, or keep it."""
        if sent:
            sent()
        if self._waiting[key]:
            self._waiting[key].popleft()()
        else:
            self._arrived[key] += 1

    def left(self) -> tuple[dict[Key, int], dict[Key, list[Callable[[], object]]]]:
        """Return how many messages nobody has asked for yet, and who waits for messages."""
        arrived = {key: count for key, count in self._arrived.items() if count}
        return arrived, {key: list(one) for key, one in self._waiting.items() if one}
