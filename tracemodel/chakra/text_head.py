"""First line of an ASTRA-sim 1.0 text workload: its parallelism and parameters."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from fred_hw.errors import InputError

__all__ = ["TextHead", "number", "parse_head"]

_MOST = (1 << 63) - 1
_GROUP, _CHECKPOINTS = "model_parallel_NPU_group", "checkpoints"
_INITIATES = "checkpoint_initiates"


@dataclass(frozen=True)
class TextHead:
    """Contents of the first line.

    Parameters
    ----------
    parallelism : str
        Parallelism, the first word of the line.
    last_bottom_layer : int
        Number of the last bottom layer of a recommendation model.
    model_npus : int
        Successive NPUs that share a model; 0 if not given.
    recomputed : mapping of int to int
        By layers whose backward pass recomputes forward passes, the first layer of these. The
        layer itself is not recomputed.
    """

    parallelism: str
    last_bottom_layer: int = 0
    model_npus: int = 0
    recomputed: Mapping[int, int] = field(default_factory=dict[int, int])


def parse_head(
    words: Sequence[str], name: str, known: Collection[str], layers: int, source: str, line: int
) -> TextHead:
    """Return the contents of the first line.

    Parameters
    ----------
    words : sequence of str
        Words of the line.
    name : str
        Parallelism to use, one of ``known``.
    known : collection of str
        Supported parallelisms.
    layers : int
        Number of layers of the workload.
    source, line : str, int
        Position for errors.

    Raises
    ------
    InputError
        The line does not describe that parallelism.
    """
    where = f"line {line}"
    if name not in known:
        message = f"must begin with one of {', '.join(known)}, not {name!r:.60}"
        raise InputError(source, where, message)
    if name.startswith("HYBRID_TRANSFORMER"):
        return _transformer(words[1:], name, layers, source, line)
    bottom = number(words[1], "the last bottom layer", source, line) if words[1:] else None
    if name.startswith("HYBRID_DLRM") and (bottom is None or bottom >= layers):
        message = f"must name the last bottom layer, from 0 to {layers - 1}, not {bottom!r}"
        raise InputError(source, where, message)
    return TextHead(name, bottom or 0)


def _transformer(words: Sequence[str], name: str, layers: int, source: str, line: int) -> TextHead:
    where = f"line {line}"
    counts = {_GROUP: 0}
    lists: dict[str, list[int]] = {}
    if name.endswith("FWD_IN_BCKWD"):
        lists = {_CHECKPOINTS: [], _INITIATES: []}
    rest = iter(words)
    for word in rest:
        key = word.removesuffix(":")
        if key not in counts and key not in lists:
            keys = ", ".join(f"{one}:" for one in (*counts, *lists))
            message = f"{name} must have only the keys {keys}, not {word!r:.60}"
            raise InputError(source, where, message)
        count = number(next(rest, ""), word, source, line)
        if key in counts:
            counts[key] = count
            continue
        for _ in range(count):
            layer = number(next(rest, ""), f"a layer of {word}", source, line)
            if layer >= layers:
                message = f"{word} must be layers 0 to {layers - 1}, not {layer}"
                raise InputError(source, where, message)
            lists[key].append(layer)
    if not counts[_GROUP]:
        message = f"{name} must have {_GROUP}: N, the number of NPUs that share a model, 1 or more"
        raise InputError(source, where, message)
    recomputed: dict[int, int] = {}
    starts, initiates = lists.get(_CHECKPOINTS, []), sorted({*lists.get(_INITIATES, [])})
    for place, layer in enumerate(initiates):
        first = max((one for one in starts if one <= layer), default=-1)
        earlier = initiates[place - 1] if place else -1
        if not earlier < first < layer:
            message = f"layer {layer} must not be a checkpoint, and must have one before it"
            after = f", after layer {earlier}" if place else ""
            raise InputError(source, where, f"{_INITIATES}: {message}{after}")
        recomputed[layer] = first
    return TextHead(name, 0, counts[_GROUP], recomputed)


def number(text: str, what: str, source: str, line: int) -> int:
    """Return the integer that a word stands for.

    Raises
    ------
    InputError
        The word is not an integer from 0 to the largest one of 64 bits.
    """
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= _MOST):
        message = f"{what} must be an integer from 0 to {_MOST}, not {text!r:.60}"
        raise InputError(source, f"line {line}", message)
    return int(text)
