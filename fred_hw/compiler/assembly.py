"""From the paths of flows to the state of every micro-switch."""

from collections.abc import Sequence

from .configuration import Configuration
from .flows import Flow
from .greedy import Path
from .shape import subswitch_ports

__all__ = ["assemble"]

Ports = set[int]


def assemble(
    flows: Sequence[Flow], paths: Sequence[Path], ports: int, middle_switches: int
) -> Configuration:
    """Return the configuration that takes each flow along its path.

    Parameters
    ----------
    flows : sequence of Flow
        Flows, disjoint in inputs and in outputs.
    paths : sequence of tuple of int
        Middle subswitch that each flow takes at each level; any two that first share a
        micro-switch at level l differ in one of their first l.
    ports, middle_switches : int
        Size of the interconnect.
    """
    routed = zip(flows, paths, strict=True)
    parts = [(set(flow.inputs), set(flow.outputs), path) for flow, path in routed]
    return _assemble(parts, ports, middle_switches)


def _assemble(
    parts: Sequence[tuple[Ports, Ports, Path]], ports: int, middle_switches: int
) -> Configuration:
    if not parts:
        return Configuration.idle(ports, middle_switches)
    if ports == 2:
        sources = [0, 0]
        for inputs, outputs, _ in parts:
            for output in outputs:
                sources[output] = sum(input_ + 1 for input_ in inputs)
        return Configuration(ports, middle_switches, crossing=(sources[0], sources[1]))
    codes = ([0] * ports, [0] * ports)
    inner: list[list[tuple[Ports, Ports, Path]]] = [[] for _ in range(middle_switches)]
    for inputs, outputs, path in parts:
        for side, own in zip(codes, (inputs, outputs), strict=True):
            for port in own:
                side[port] = path[0] + 1
        halved = ({port >> 1 for port in inputs}, {port >> 1 for port in outputs})
        inner[path[0]].append((*halved, path[1:]))
    pairs = range(0, ports - 1, 2)
    (into, outof), odd = codes, ports % 2
    return Configuration(
        ports,
        middle_switches,
        inputs=tuple((into[k], into[k + 1]) for k in pairs),
        demux=into[-1] if odd else None,
        subswitches=tuple(
            _assemble(part, subswitch_ports(ports), middle_switches) for part in inner
        ),
        outputs=tuple((outof[k], outof[k + 1]) for k in pairs),
        mux=outof[-1] if odd else None,
    )
