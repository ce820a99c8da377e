"""Connections of switches and NPUs, and routes of flows."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from fred_hw.compiler.flows import Flow

__all__ = ["Fabric", "one_level", "two_levels"]


@dataclass(frozen=True)
class Fabric:
    """Switches with equally many ports; the last switch is the root above all others.

    Parameters
    ----------
    switches : int
        How many.
    npus : tuple
        Switch and port of each NPU.
    uplink : int
        The port by which all others are joined with the root; switch k with its port k.
    """

    switches: int
    npus: tuple[tuple[int, int], ...]
    uplink: int

    @property
    def root(self) -> int:
        """Number of the root switch."""
        return self.switches - 1

    def peers(self, ports: int) -> list[int]:
        """Return the peer at each port of each switch: an NPU number, or NPUs + the other port."""
        npus = {place: number for number, place in enumerate(self.npus)}
        links = {(leaf, self.uplink): self.root * ports + leaf for leaf in range(self.root)}
        links |= {(self.root, leaf): leaf * ports + self.uplink for leaf in range(self.root)}
        joined = npus | {place: len(npus) + other for place, other in links.items()}
        return [joined[switch, port] for switch in range(self.switches) for port in range(ports)]

    def port_toward(self, switch: int, npu: int) -> int:
        """Return the output port of a switch for packets to an NPU."""
        its, port = self.npus[npu]
        if its == switch:
            return port
        return its if switch == self.root else self.uplink

    def parts(self, flow: Flow) -> dict[int, list[Flow]]:
        """Return the part of each switch in a flow: up, reduced, and down again."""
        inputs, outputs = self._places(flow.inputs), self._places(flow.outputs)
        if len(inputs | outputs) == 1:
            return {s: [Flow(tuple(own), tuple(outputs[s]))] for s, own in inputs.items()}
        parts: dict[int, list[Flow]] = defaultdict(list)
        for leaf, own in inputs.items():
            parts[leaf].append(Flow(tuple(own), (self.uplink,)))
        parts[self.root].append(Flow(tuple(inputs), tuple(outputs)))
        for leaf, own in outputs.items():
            parts[leaf].append(Flow((self.uplink,), tuple(own)))
        return dict(parts)

    def links(self, flow: Flow) -> set[tuple[int, str]]:
        """Return the links between switches that a flow uses, each with its direction."""
        parts = self.parts(flow)
        if self.root not in parts or len(parts) == 1:
            return set()
        (joined,) = parts[self.root]
        return {(k, "up") for k in joined.inputs} | {(k, "down") for k in joined.outputs}

    def _places(self, npus: Iterable[int]) -> dict[int, list[int]]:
        found: dict[int, list[int]] = defaultdict(list)
        for npu in npus:
            switch, port = self.npus[npu]
            found[switch].append(port)
        return dict(found)


def one_level(ports: int) -> Fabric:
    """Return a single switch with an NPU at each port."""
    return Fabric(1, tuple((0, port) for port in range(ports)), uplink=ports)


def two_levels(ports: int) -> Fabric:
    """Return as many switches as a switch has ports, each with one uplink and otherwise NPUs."""
    npus = tuple((leaf, port) for leaf in range(ports) for port in range(ports - 1))
    return Fabric(ports + 1, npus, uplink=ports - 1)
