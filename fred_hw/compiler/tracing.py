"""Inputs that a configuration connects to each output."""

from collections.abc import Iterable, Sequence

from .configuration import Configuration
from .flows import Flow
from .greedy import Path

__all__ = ["arriving", "flows_of", "path_of"]

Inputs = frozenset[int]
NOTHING: Inputs = frozenset()


def arriving(configuration: Configuration, sources: Iterable[int]) -> list[Inputs]:
    """Return the inputs whose sum each output port receives; an empty set for nothing.

    Parameters
    ----------
    configuration : Configuration
        State of every micro-switch.
    sources : iterable of int
        Input ports that send; a reduction that includes another one gives nothing.
    """
    sending = set(sources)
    flits = [frozenset({k}) if k in sending else NOTHING for k in range(configuration.ports)]
    return _through(configuration, flits)


def flows_of(configuration: Configuration) -> list[Flow]:
    """Return the flows that a configuration routes, in order."""
    found: dict[Inputs, list[int]] = {}
    for port, inputs in enumerate(arriving(configuration, range(configuration.ports))):
        if inputs:
            found.setdefault(inputs, []).append(port)
    return sorted(Flow(inputs, outputs) for inputs, outputs in found.items())


def path_of(configuration: Configuration, flow: Flow) -> Path:
    """Return the middle subswitch at each level of a flow that a configuration routes.

    Raises
    ------
    ValueError
        The configuration sends the flow's first input nowhere.
    """
    path, port = [], flow.inputs[0]
    while configuration.crossing is None:
        codes = [code for pair in configuration.inputs for code in pair]
        code = [*codes, configuration.demux][port]
        if not code:
            raise ValueError(f"flow must be routed by the configuration, not {flow}")
        path.append(code - 1)
        configuration, port = configuration.subswitches[path[-1]], port >> 1
    return tuple(path)


def _sum(parts: Sequence[Inputs]) -> Inputs:
    return frozenset().union(*parts) if all(parts) else NOTHING


def _through(configuration: Configuration, flits: list[Inputs]) -> list[Inputs]:
    if configuration.crossing is not None:
        if 3 in configuration.crossing:  # a reduction occupies the whole microswitch
            return [_sum(flits) if code == 3 else NOTHING for code in configuration.crossing]
        gives = (NOTHING, flits[0], flits[1])
        return [gives[code] for code in configuration.crossing]
    # An odd last port has no partner; its partner counts as unconnected.
    pairs = [flits[k : k + 2] for k in range(0, len(flits), 2)]
    codes = [*configuration.inputs, *([(configuration.demux,)] if len(flits) % 2 else [])]
    middle = []
    for number, subswitch in enumerate(configuration.subswitches, 1):
        inputs = [
            [flit for flit, code in zip(pair, pair_codes, strict=True) if code == number]
            for pair, pair_codes in zip(pairs, codes, strict=True)
        ]
        middle.append(_through(subswitch, [_sum(one) if one else NOTHING for one in inputs]))
    ends = [*configuration.outputs, *([(configuration.mux,)] if len(flits) % 2 else [])]
    return [
        middle[code - 1][place] if code else NOTHING
        for place, sources in enumerate(ends)
        for code in sources
    ]
