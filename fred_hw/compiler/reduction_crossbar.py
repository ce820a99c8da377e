"""Configuration of a full crossbar with a reduction tree per output; every flow set routes."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from fred_hw.checks import check_int

from .flows import Flow, check_flows

__all__ = ["CrossbarConfiguration", "RoutedCrossbar", "crossbar_shape", "route_crossbar"]


def crossbar_shape(ports: int) -> str:
    """Return the part of generated names for a crossbar."""
    return f"crossbar_p{ports}"


@dataclass(frozen=True)
class CrossbarConfiguration:
    """Inputs that each output reduces.

    Parameters
    ----------
    taken : tuple of int
        Bit mask of the inputs of each output, one per port; 0 for none.

    Raises
    ------
    ValueError
        A mask has bits beyond the ports, or there are fewer than two.
    """

    taken: tuple[int, ...]

    def __post_init__(self) -> None:
        ports = check_int("CrossbarConfiguration ports", len(self.taken), minimum=2)
        for mask in self.taken:
            check_int("CrossbarConfiguration mask", mask, minimum=0, maximum=(1 << ports) - 1)

    @property
    def ports(self) -> int:
        """Number of ports."""
        return len(self.taken)

    @property
    def shape(self) -> str:
        """Network and its size, as in generated names."""
        return crossbar_shape(self.ports)

    def to_dict(self) -> dict[str, Any]:
        """Return the configuration as JSON values."""
        return {"ports": self.ports, "taken": list(self.taken)}

    def arriving(self, sources: Iterable[int]) -> list[frozenset[int]]:
        """Return the inputs whose sum each output receives; an empty set for nothing.

        Parameters
        ----------
        sources : iterable of int
            Input ports that send; a reduction that includes another one gives nothing.
        """
        sending = frozenset(sources)
        wanted = [
            frozenset(port for port in range(self.ports) if mask >> port & 1) for mask in self.taken
        ]
        return [one if one <= sending else frozenset() for one in wanted]

    def pack(self) -> int:
        """Return the word: the mask of output 0 in the low bits, a bit per port each."""
        return sum(mask << self.ports * n for n, mask in enumerate(self.taken))


@dataclass(frozen=True)
class RoutedCrossbar:
    """Result of routing flows on a crossbar: always routed, without a choice of paths.

    Parameters
    ----------
    flows : tuple of Flow
        The flows, in the order given.
    configuration : CrossbarConfiguration
        Configuration that routes them.
    """

    flows: tuple[Flow, ...]
    configuration: CrossbarConfiguration
    status: str = field(default="routed", init=False)
    paths: tuple[tuple[int, ...], ...] = field(default=(), init=False)
    conflict: tuple[int, ...] = field(default=(), init=False)
    smallest: bool = field(default=False, init=False)


def route_crossbar(flows: Iterable[Flow], ports: int) -> CrossbarConfiguration:
    """Return the configuration of flows that are to be active at the same time.

    Parameters
    ----------
    flows : iterable of Flow
        Flows, disjoint in inputs and in outputs.
    ports : int
        Ports, 2 or more.

    Raises
    ------
    TypeError, ValueError
        As :func:`check_flows`.
    """
    taken = [0] * ports
    for flow in check_flows(flows, ports):
        for port in flow.outputs:
            taken[port] = sum(1 << one for one in flow.inputs)
    return CrossbarConfiguration(tuple(taken))
