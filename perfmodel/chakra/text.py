"""Text workloads of ASTRA-sim 1.0 as traces.

The rules are those of Chakra's own converter (github mlcommons/chakra, ``text_converter.py``) but
for two: a collective of no bytes is left out, and what would wait for it waits for what it would
have waited for; and the nodes of every NPU count from 0.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from fred_hw.errors import InputError
from fred_hw.progress import track
from fred_hw.reading import read_text

from .kinds import CollectiveType, NodeType
from .node import Attr, Node, integers

__all__ = ["MAX_NODES", "MAX_NPUS", "PARALLELISMS", "check_npus", "from_text"]

MAX_NPUS = 65_536
"""Traces of a set at most."""

MAX_NODES = 1 << 20
"""Nodes of a trace at most."""

MAX_ALL_NODES = 1 << 24
"""Nodes of all traces of a set at most: a gigabyte of files."""

_MAX_BYTES = 1 << 24
_FIELDS = 12
_MOST = (1 << 63) - 1
_COLLECTIVES: Mapping[str, CollectiveType | None] = {
    "NONE": None,
    "ALLREDUCE": CollectiveType.ALL_REDUCE,
    "ALLGATHER": CollectiveType.ALL_GATHER,
    "REDUCESCATTER": CollectiveType.REDUCE_SCATTER,
    "ALLTOALL": CollectiveType.ALL_TO_ALL,
}


@dataclass(frozen=True, slots=True)
class _Part:
    """One of the three parts of a layer: compute, and a collective of what it has computed."""

    duration_us: int
    collective: CollectiveType | None
    size_bytes: int


@dataclass(frozen=True, slots=True)
class _Layer:
    name: str
    forward: _Part
    input_grad: _Part
    weight_grad: _Part


@dataclass
class _Trace:
    """Nodes so far, and by layer what its next forward pass waits for."""

    layers: tuple[_Layer, ...]
    last_bottom_layer: int
    nodes: list[Node] = field(default_factory=list[Node])
    gates: dict[int, int | None] = field(default_factory=dict[int, int | None])

    def compute(self, layer: _Layer, way: str, part: _Part, *after: int | None) -> int:
        attrs = (Attr("is_cpu_op", "bool", False),)
        return self._add(f"{layer.name} {way}", NodeType.COMP_NODE, after, part.duration_us, attrs)

    def collective(self, layer: _Layer, way: str, part: _Part, after: int | None) -> int | None:
        """Add a collective; return the node that it is, or without bytes the one before it."""
        if part.collective is None or part.size_bytes == 0:
            return after
        attrs = (
            Attr("is_cpu_op", "bool", False),
            *integers(comm_type=part.collective, comm_size=part.size_bytes),
        )
        what = part.collective.name.lower().replace("_", "-")
        return self._add(f"{layer.name} {way} {what}", NodeType.COMM_COLL_NODE, (after,), 0, attrs)

    def _add(
        self,
        name: str,
        kind: NodeType,
        after: tuple[int | None, ...],
        duration_us: int,
        attrs: tuple[Attr, ...],
    ) -> int:
        parents = tuple(dict.fromkeys(one for one in after if one is not None))
        number = len(self.nodes)
        node = Node(number, name, kind, (), parents, 0, duration_us, attrs=attrs)
        self.nodes.append(node)
        return number


def check_npus(npus: int) -> None:
    """Refuse a number of traces that is out of range."""
    if not 1 <= npus <= MAX_NPUS:
        raise InputError("", "npus", f"must be an integer from 1 to {MAX_NPUS}, not {npus!r}")


def from_text(
    path: str | Path, kind: str | None = None, npus: int = 1, passes: int = 1
) -> list[list[Node]]:
    """Return the traces of a text workload: one for each NPU, all alike.

    Parameters
    ----------
    path : str or Path
        The text: a line with the parallelism, one with the number of layers, one for each layer.
    kind : str or None
        A name of ``PARALLELISMS`` to take instead of the one in the text.
    npus, passes : int
        Traces, and iterations in each, 1 or more.

    Raises
    ------
    InputError
        The file is unreadable or no such text; names the line.
    """
    check_npus(npus)
    path = Path(path)
    said, bottom, layers = _parse(read_text(path, _MAX_BYTES), str(path))
    name = kind or said
    if name not in PARALLELISMS:
        allowed = ", ".join(PARALLELISMS)
        raise InputError(str(path), "line 1", f"must begin with one of {allowed}, not {name!r:.60}")
    beside = f" and {npus} NPUs" if npus > 1 else ""
    nodes = min(MAX_NODES, MAX_ALL_NODES // npus)
    most = nodes // (6 * len(layers))
    if not most:
        message = f"must have at most {nodes // 6} layers{beside.replace('and', 'with')}"
        raise InputError(str(path), "", f"{message}, not {len(layers)}")
    if not 1 <= passes <= most:
        given = f"{len(layers)} layers{beside}"
        message = f"must be an integer from 1 to {most} with {given}, not {passes!r}"
        raise InputError("", "passes", message)
    if name.startswith("HYBRID_DLRM") and (bottom is None or bottom >= len(layers)):
        message = f"must name the last bottom layer, from 0 to {len(layers) - 1}, not {bottom!r}"
        raise InputError(str(path), "line 1", message)
    trace = _Trace(layers, bottom or 0)
    for _ in track(range(passes), "passes"):
        PARALLELISMS[name](trace)
    return [trace.nodes] * npus


def _micro(trace: _Trace) -> None:
    """Add the weight-gradient collectives alone, none of which waits for another."""
    for layer in trace.layers:
        trace.collective(layer, "weight-grad", layer.weight_grad, None)


def _data(trace: _Trace) -> None:
    """Add a pass of data parallelism: gradients of weights are reduced, and gate the next one."""
    last: int | None = None
    for place, layer in enumerate(trace.layers):
        last = trace.compute(layer, "forward", layer.forward, last, trace.gates.get(place))
    for place in reversed(range(len(trace.layers))):
        layer = trace.layers[place]
        grad = trace.compute(layer, "weight-grad", layer.weight_grad, last)
        trace.gates[place] = trace.collective(layer, "weight-grad", layer.weight_grad, grad)
        if place:
            last = trace.compute(layer, "input-grad", layer.input_grad, grad)


def _model(trace: _Trace, *, hybrid: bool = False) -> None:
    """Add a pass of model parallelism: activations and their gradients are exchanged.

    With data parallelism too, gradients of weights are reduced.
    """
    done: int | None = None
    for place, layer in enumerate(trace.layers):
        work = trace.compute(layer, "forward", layer.forward, done, trace.gates.get(place))
        done = trace.collective(layer, "forward", layer.forward, work)
    after: tuple[int | None, ...] = (done,)
    for place in reversed(range(len(trace.layers))):
        layer = trace.layers[place]
        work = trace.compute(layer, "input-grad", layer.input_grad, *after)
        sent = trace.collective(layer, "input-grad", layer.input_grad, work) if place else work
        grad = trace.compute(layer, "weight-grad", layer.weight_grad, work)
        after = (grad, sent)
        trace.gates[place] = grad
        if hybrid:
            trace.gates[place] = trace.collective(layer, "weight-grad", layer.weight_grad, grad)


def _dlrm(trace: _Trace) -> None:
    """Add a pass of a recommendation model, whose first layer looks up in distributed tables.

    What it finds is exchanged while the bottom layers are computed, and the gradients of it after
    the top layers.
    """
    layers, bottom = trace.layers, trace.last_bottom_layer
    last: int | None = None
    found: int | None = None
    for place, layer in enumerate(layers):
        wanted = found if place == bottom else None
        last = trace.compute(layer, "forward", layer.forward, trace.gates.get(place), last, wanted)
        if layer.forward.collective is CollectiveType.ALL_TO_ALL:
            sent = trace.collective(layer, "forward", layer.forward, last)
            found = sent if place == 0 else found
    returned: int | None = None
    for place in reversed(range(len(layers))):
        layer = layers[place]
        waits = returned if place == 0 else None
        grad = trace.compute(layer, "weight-grad", layer.weight_grad, last, waits)
        trace.gates[place] = trace.collective(layer, "weight-grad", layer.weight_grad, grad)
        if place:
            last = trace.compute(layer, "input-grad", layer.input_grad, grad)
        if place == bottom + 1:
            returned = trace.collective(layers[0], "input-grad", layers[0].input_grad, last)


PARALLELISMS: Mapping[str, Callable[[_Trace], None]] = {
    "MICRO": _micro,
    "DATA": _data,
    "MODEL": _model,
    "HYBRID_DATA_MODEL": partial(_model, hybrid=True),
    "HYBRID_MODEL_DATA": partial(_model, hybrid=True),
    "HYBRID_DLRM": _dlrm,
    "HYBRID_DLRM_ENHANCED": _dlrm,
}
"""What the first line of a text may say; how groups lie on the network is not in a trace."""


def _parse(text: str, source: str) -> tuple[str, int | None, tuple[_Layer, ...]]:
    """Return the parallelism, the last bottom layer and the layers of a text."""
    lines = [(place, line.split()) for place, line in enumerate(text.split("\n"), 1)]
    lines = [(place, words) for place, words in lines if words]
    if len(lines) < 2:
        message = "must be a parallelism, a number of layers and the layers, not fewer lines"
        raise InputError(source, "", message)
    head = lines[0][1]
    bottom = _number(head[1], "the last bottom layer", source, lines[0][0]) if head[1:] else None
    place, words = lines[1]
    count = _number(words[0], "the number of layers", source, place)
    if len(words) > 1 or count != len(lines) - 2 or not count:
        message = f"must be the number of layers, which are {len(lines) - 2}, 1 or more"
        raise InputError(source, f"line {place}", f"{message}, not {' '.join(words)!r:.60}")
    return head[0], bottom, tuple(_layer(words, source, place) for place, words in lines[2:])


def _layer(words: list[str], source: str, line: int) -> _Layer:
    if len(words) != _FIELDS:
        message = f"must be the {_FIELDS} fields of a layer, not {len(words)}"
        raise InputError(source, f"line {line}", message)
    parts: list[_Part] = []
    for what, first in (("forward", 2), ("input-gradient", 5), ("weight-gradient", 8)):
        time, kind, size = words[first : first + 3]
        if kind not in _COLLECTIVES:
            message = (
                f"{what} collective must be one of {', '.join(_COLLECTIVES)}, not {kind!r:.60}"
            )
            raise InputError(source, f"line {line}", message)
        duration = _number(time, f"{what} time", source, line)
        size_bytes = _number(size, f"{what} size", source, line)
        parts.append(_Part(duration, _COLLECTIVES[kind], size_bytes))
    return _Layer(words[0], *parts)


def _number(text: str, what: str, source: str, line: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= _MOST):
        message = f"{what} must be an integer from 0 to {_MOST}, not {text!r:.60}"
        raise InputError(source, f"line {line}", message)
    return int(text)
