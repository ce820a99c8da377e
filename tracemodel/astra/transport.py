"""Messages between NPUs in the network models of ASTRA-sim."""

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
"""Key that matches messages with receives: tag, source, target, bytes."""


class Carrier(Protocol):
    """Interface of message transports."""

    def carry(self, source: int, target: int, count: int, arrived: Callable[[], object]) -> None:
        """Send a number of bytes now; call a function when they have arrived."""
        ...


class Transport(Carrier, Protocol):
    """Base class of message transports over a network.

    Parameters
    ----------
    network : Network
        The network.
    clock : Clock
        Queue of arrivals.
    """

    def __init__(self, network: Network, clock: Clock[int]) -> None: ...


class Unaware:
    """ASTRA-sim's congestion-unaware model: messages do not delay each other."""

    def __init__(self, network: Network, clock: Clock[int]) -> None:
        self._network, self._clock = network, clock

    def carry(self, source: int, target: int, count: int, arrived: Callable[[], object]) -> None:
        """Send a number of bytes now; call a function when they have arrived."""
        delay = self._network.delay_ns(source, target, count)
        self._clock.at(self._clock.now + delay, arrived)


class Aware(FifoLinks[Hop]):
    """ASTRA-sim's congestion-aware model: each link serves one message after the other.

    Messages are stored and forwarded, through all dimensions in which two NPUs differ; ASTRA-sim
    itself has this model for one dimension only.
    """

    def __init__(self, network: Network, clock: Clock[int]) -> None:
        self._network = network
        wires = [one.wire() for one in network.dimensions]
        super().__init__(lambda hop: wires[hop[0]], clock)

    def carry(self, source: int, target: int, count: int, arrived: Callable[[], object]) -> None:
        """Send a number of bytes now; call a function when they have arrived."""
        self.forward(tuple(self._network.route(source, target)), count, arrived)


MODELS: Mapping[str, type[Transport]] = {"unaware": Unaware, "aware": Aware}
"""Network models of ASTRA-sim by name: congestion-unaware and congestion-aware."""

NETWORK_MODELS = ("fluid", *MODELS)
"""Network models of traces by name: the built-in ones, and those of ASTRA-sim."""


class Exchange:
    """Matching of messages with receives, both in order.

    Parameters
    ----------
    transport : Carrier
        Carries the messages.
    clock : Clock
        Clock for the callbacks of receives whose message has already arrived.
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
        """Call a function when the next matching message has arrived."""
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
        """Return the number of unclaimed messages and the waiting receives."""
        arrived = {key: count for key, count in self._arrived.items() if count}
        return arrived, {key: list(one) for key, one in self._waiting.items() if one}
