"""Conversion of ASTRA-sim 1.0 text workloads to traces.

The rules are those of Chakra's own converter (github mlcommons/chakra, ``text_converter.py``) but
for two: a collective of no bytes is left out, and what would wait for it waits for what it would
have waited for; and the nodes of every NPU count from 0. Chakra has no rules for transformers:
those are the ones of ASTRA-sim 1.0 itself (github astra-sim/astra-sim, ``Workload.cc``).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from fred_hw.errors import InputError
from fred_hw.progress import track
from fred_hw.reading import read_text

from .kinds import CollectiveType, NodeType
from .node import Attr, Node, integers
from .text_head import TextHead, number, parse_head

__all__ = [
    "MAX_NODES",
    "MAX_NPUS",
    "PARALLELISMS",
    "TextWorkload",
    "check_npus",
    "from_text",
    "load_text",
]

MAX_NPUS = 65_536
"""Largest number of traces of a set."""

MAX_NODES = 1 << 20
"""Largest number of nodes of a trace."""

MAX_ALL_NODES = 1 << 24
"""Largest number of nodes of all traces of a set, about a gigabyte of files."""

_MAX_BYTES = 1 << 24
_FIELDS = 12
_NODES, _RECOMPUTED = 6, 2
"""Most nodes of a layer per pass, and additional nodes if its forward pass is recomputed."""

_MODEL, _DATA = "model", "data"
"""Placeholders for the group of a collective until the rank is known: the NPUs that share a model
replica, or those that hold the same part of different replicas."""

_COLLECTIVES: Mapping[str, CollectiveType | None] = {
    "NONE": None,
    "ALLREDUCE": CollectiveType.ALL_REDUCE,
    "ALLGATHER": CollectiveType.ALL_GATHER,
    "REDUCESCATTER": CollectiveType.REDUCE_SCATTER,
    "ALLTOALL": CollectiveType.ALL_TO_ALL,
}


@dataclass(frozen=True, slots=True)
class _Part:
    """One of the three parts of a layer: compute, followed by a collective on the result."""

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
    """Nodes written so far, and the node that each layer's next forward pass waits for."""

    layers: tuple[_Layer, ...]
    head: TextHead
    nodes: list[Node] = field(default_factory=list[Node])
    gates: dict[int, int | None] = field(default_factory=dict[int, int | None])

    def compute(self, layer: _Layer, way: str, part: _Part, *after: int | None) -> int:
        attrs = (Attr("is_cpu_op", "bool", False),)
        return self._add(f"{layer.name} {way}", NodeType.COMP_NODE, after, part.duration_us, attrs)

    def collective(
        self, layer: _Layer, way: str, part: _Part, after: int | None, group: str = _MODEL
    ) -> int | None:
        """Add a collective and return its node; with no bytes, return the preceding node."""
        if part.collective is None or part.size_bytes == 0:
            return after
        attrs = (
            Attr("is_cpu_op", "bool", False),
            *integers(comm_type=part.collective, comm_size=part.size_bytes),
        )
        if self.head.model_npus:
            attrs = (*attrs, Attr("pg_name", "string", group))
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
    """Fail if the number of traces is out of range."""
    if not 1 <= npus <= MAX_NPUS:
        raise InputError("", "npus", f"must be an integer from 1 to {MAX_NPUS}, not {npus!r}")


@dataclass(frozen=True)
class TextWorkload:
    """The traces of a text workload.

    Parameters
    ----------
    nodes : list of Node
        Nodes of each NPU, without the names of groups.
    npus, model_npus : int
        Number of NPUs, and of those that share a model; 0 if all collectives include all NPUs.
    """

    nodes: list[Node]
    npus: int
    model_npus: int

    @property
    def groups(self) -> dict[str, tuple[int, ...]]:
        """NPUs of each communicator group by number: model replicas first, then equal parts."""
        size = self.model_npus
        if not size:
            return {}
        models = [tuple(range(first, first + size)) for first in range(0, self.npus, size)]
        parts = [tuple(range(part, self.npus, size)) for part in range(size)]
        return {str(number): group for number, group in enumerate((*models, *parts), 1)}

    def rank(self, rank: int) -> Iterator[Node]:
        """Yield the nodes of one NPU."""
        if not self.model_npus:
            yield from self.nodes
            return
        model, part = divmod(rank, self.model_npus)
        numbers = {_MODEL: 1 + model, _DATA: 1 + self.npus // self.model_npus + part}
        names = {
            Attr("pg_name", "string", group): Attr("pg_name", "string", str(number))
            for group, number in numbers.items()
        }
        for node in self.nodes:
            attrs = tuple(names.get(one, one) for one in node.attrs)
            yield node if attrs == node.attrs else replace(node, attrs=attrs)


def from_text(
    path: str | Path, kind: str | None = None, npus: int = 1, passes: int = 1
) -> list[list[Node]]:
    """Return the nodes of each NPU of a text workload; parameters as for ``load_text``."""
    found = load_text(path, kind, npus, passes)
    if not found.model_npus:
        return [found.nodes] * npus
    return [list(found.rank(rank)) for rank in range(npus)]


def load_text(
    path: str | Path, kind: str | None = None, npus: int = 1, passes: int = 1
) -> TextWorkload:
    """Return the traces of a text workload, one per NPU.

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
    head, layers = _parse(read_text(path, _MAX_BYTES), kind, str(path))
    if head.model_npus and npus % head.model_npus:
        message = f"must be a multiple of the {head.model_npus} NPUs that share a model"
        raise InputError("", "npus", f"{message}, not {npus}")
    beside = f" and {npus} NPUs" if npus > 1 else ""
    nodes = min(MAX_NODES, MAX_ALL_NODES // npus)
    each = _NODES + (_RECOMPUTED if head.recomputed else 0)
    most = nodes // (each * len(layers))
    if not most:
        message = f"must have at most {nodes // each} layers{beside.replace('and', 'with')}"
        raise InputError(str(path), "", f"{message}, not {len(layers)}")
    if not 1 <= passes <= most:
        given = f"{len(layers)} layers{beside}"
        message = f"must be an integer from 1 to {most} with {given}, not {passes!r}"
        raise InputError("", "passes", message)
    trace = _Trace(layers, head)
    for _ in track(range(passes), "passes"):
        PARALLELISMS[head.parallelism](trace)
    return TextWorkload(trace.nodes, npus, head.model_npus)


def _micro(trace: _Trace) -> None:
    """Add only the weight-gradient collectives, which do not wait for each other."""
    for layer in trace.layers:
        trace.collective(layer, "weight-grad", layer.weight_grad, None)


def _data(trace: _Trace) -> None:
    """Add a data-parallel pass: reduced weight gradients gate the layer's next forward pass."""
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
    """Add a model-parallel pass, which exchanges activations and their gradients.

    With data parallelism too, gradients of weights are reduced. Before the gradients of a layer
    that initiates it, forward passes from a checkpoint on are computed again.
    """
    done: int | None = None
    for place, layer in enumerate(trace.layers):
        work = trace.compute(layer, "forward", layer.forward, done, trace.gates.get(place))
        done = trace.collective(layer, "forward", layer.forward, work)
    after: tuple[int | None, ...] = (done,)
    for place in reversed(range(len(trace.layers))):
        layer = trace.layers[place]
        for again in range(trace.head.recomputed.get(place, place), place):
            below = trace.layers[again]
            work = trace.compute(below, "recomputed forward", below.forward, *after)
            after = (trace.collective(below, "recomputed forward", below.forward, work),)
        work = trace.compute(layer, "input-grad", layer.input_grad, *after)
        sent = trace.collective(layer, "input-grad", layer.input_grad, work) if place else work
        grad = trace.compute(layer, "weight-grad", layer.weight_grad, work)
        after = (grad, sent)
        trace.gates[place] = grad
        if hybrid:
            trace.gates[place] = trace.collective(
                layer, "weight-grad", layer.weight_grad, grad, _DATA
            )


def _dlrm(trace: _Trace) -> None:
    """Add a pass of a recommendation model with distributed embedding tables in the first layer.

    The looked-up values are exchanged while the bottom layers are computed, and their gradients
    after the top layers.
    """
    layers, bottom = trace.layers, trace.head.last_bottom_layer
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
    "HYBRID_TRANSFORMER": partial(_model, hybrid=True),
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD": partial(_model, hybrid=True),
}
"""Parallelisms of the first line. Only transformers state which NPUs share a model replica."""


def _parse(text: str, kind: str | None, source: str) -> tuple[TextHead, tuple[_Layer, ...]]:
    """Return the parsed first line and layers of a text."""
    lines = [(place, line.split()) for place, line in enumerate(text.split("\n"), 1)]
    lines = [(place, words) for place, words in lines if words]
    if len(lines) < 2:
        message = "must be a parallelism, a number of layers and the layers, not fewer lines"
        raise InputError(source, "", message)
    (first, head), (place, words), *rest = lines
    count = number(words[0], "the number of layers", source, place)
    if len(words) > 1 or count != len(rest) or not count:
        message = f"must be the number of layers that follow ({len(rest)}), at least 1"
        raise InputError(source, f"line {place}", f"{message}, not {' '.join(words)!r:.60}")
    said = parse_head(head, kind or head[0], PARALLELISMS, count, source, first)
    return said, tuple(_layer(words, source, place) for place, words in rest)


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
        duration = number(time, f"{what} time", source, line)
        size_bytes = number(size, f"{what} size", source, line)
        parts.append(_Part(duration, _COLLECTIVES[kind], size_bytes))
    return _Layer(words[0], *parts)
