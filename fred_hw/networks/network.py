"""The interface of a network between the ports of a switch, and the registry of networks."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Protocol

from fred_hw.compiler.flows import Flow
from fred_hw.registry import Registry

__all__ = ["NETWORKS", "Network", "NetworkConfiguration", "NetworkSizes", "Routed"]


class NetworkSizes(Protocol):
    """Sizes of a switch that matter to its network: those of a specification."""

    @property
    def ports(self) -> int:
        """Number of ports."""
        ...

    @property
    def middle_switches(self) -> int:
        """Number of middle subswitches."""
        ...

    @property
    def needed(self) -> frozenset[int] | None:
        """The only configuration words to support; None if all are."""
        ...


class NetworkConfiguration(Protocol):
    """State of a network."""

    @property
    def ports(self) -> int:
        """Number of ports."""
        ...

    @property
    def shape(self) -> str:
        """Network and its size, as ``Network.shape`` names them."""
        ...

    def pack(self) -> int:
        """Return the configuration word."""
        ...


class Routed(Protocol):
    """Result of routing flows; see :class:`fred_hw.compiler.routing.RoutingResult`."""

    @property
    def flows(self) -> tuple[Flow, ...]:
        """The flows, in the order given."""
        ...

    @property
    def status(self) -> str:
        """``routed``, ``conflict`` or ``unknown``."""
        ...

    @property
    def configuration(self) -> Any:
        """Configuration that routes the flows; None if none is known."""
        ...

    @property
    def conflict(self) -> tuple[int, ...]:
        """Indices of flows that cannot be active at once; empty if none are known."""
        ...


class Network(ABC):
    """What a switch and its compiler must know of the network between its ports.

    ``fred_hw/datapath/network.py`` and ``fred_hw/switch/network_paths.py`` build its hardware.

    Attributes
    ----------
    description : str
        The network, for readers of the documentation.
    prunes : bool
        Whether parts that no configuration in ``only`` needs are left out.
    """

    description: str
    prunes: bool = False

    @abstractmethod
    def shape(self, sizes: NetworkSizes) -> str:
        """Return the part of generated names for the network and its size."""

    @abstractmethod
    def middle_switches(self, sizes: NetworkSizes) -> int:
        """Return the number of middle subswitches; 0 if the network has none."""

    @abstractmethod
    def size_text(self, sizes: NetworkSizes) -> str:
        """Return what a network has, for the description of a switch."""

    @abstractmethod
    def configuration_width(self, sizes: NetworkSizes) -> int:
        """Return the bits of a configuration word."""

    @abstractmethod
    def route(
        self, flows: Iterable[Flow], sizes: NetworkSizes, max_conflicts: int | None = None
    ) -> Routed:
        """Route flows that are to be active at the same time.

        A search spends at most ``max_conflicts`` solver conflicts on connected flows, by default
        those of :func:`fred_hw.compiler.routing.route`.
        """

    @abstractmethod
    def arriving(self, configuration: Any, sources: Iterable[int]) -> list[frozenset[int]]:
        """Return the inputs whose sum each output port receives; an empty set for nothing.

        ``sources`` are the input ports that send; a reduction that includes another one gives
        nothing.
        """

    @abstractmethod
    def manifest(self, sizes: NetworkSizes) -> dict[str, Any]:
        """Return the manifest keys of the network as JSON values."""


NETWORKS: Registry[Network] = Registry("fred_hw.networks", "network")
"""All networks of switches by name."""
