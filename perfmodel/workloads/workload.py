"""Workloads: a network and how it is trained, from YAML."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from fred_hw.compiler.placement import Strategy
from fred_hw.errors import InputError
from fred_hw.files import FileModel, int_range, one_of, read_yaml, validate
from perfmodel.training.schedule import SCHEDULES

from .layers import Network
from .resnet import resnet
from .transformer import transformer

__all__ = ["MODES", "WORKLOADS", "Workload", "load_workload", "parse_strategy"]

MODES = ("stationary", "streaming")
"""Whether the model stays on the wafer or its layers are streamed in (FRED, arXiv 2406.19580)."""

WORKLOADS = ("resnet-152", "transformer-17b", "gpt-3", "transformer-1t")
"""The shipped workloads, in the order of the paper."""

_FOLDER = Path(__file__).parent
_LARGEST = 1 << 30

Count = Annotated[int, int_range(1, _LARGEST)]


@dataclass(frozen=True, slots=True)
class Workload:
    """A network and its training.

    Parameters
    ----------
    name : str
        As the user wrote it.
    network : Network
        Its layers.
    strategy : Strategy
        The published one, used when no other is asked for.
    mode : str
        One of ``MODES``.
    microbatches : int
        Pieces that the samples of a replica go through the pipeline in.
    samples_per_replica : int
        Samples in an iteration for each data-parallel replica.
    schedule : str
        One of ``training.schedule.SCHEDULES``; only matters in stationary mode.
    overlap : bool
        Whether gradients are reduced while the backward pass goes on, in stationary mode.
    """

    name: str
    network: Network
    strategy: Strategy
    mode: str
    microbatches: int
    samples_per_replica: int
    schedule: str = SCHEDULES[0]
    overlap: bool = False


class _Training(FileModel):
    kind: Annotated[str, one_of("resnet", "transformer")]
    strategy: str
    mode: Annotated[str, one_of(*MODES)]
    microbatches: Count
    samples_per_replica: Count
    schedule: Annotated[str, one_of(*SCHEDULES)] = SCHEDULES[0]
    overlap: bool = False


class _ResNetFile(_Training):
    blocks: Annotated[list[Annotated[int, int_range(1, 1000)]], Field(min_length=4, max_length=4)]
    image: Annotated[int, int_range(32, 1 << 16)]
    classes: Count

    def network(self) -> Network:
        return resnet(self.blocks, self.image, self.classes)


class _TransformerFile(_Training):
    layers: Count
    hidden: Count
    heads: Count
    sequence: Count
    vocabulary: Count

    def network(self) -> Network:
        return transformer(self.layers, self.hidden, self.heads, self.sequence, self.vocabulary)


class _Kind(FileModel, extra="ignore"):
    kind: Annotated[str, one_of("resnet", "transformer")]


def load_workload(name_or_path: str) -> Workload:
    """Return a workload.

    Parameters
    ----------
    name_or_path : str
        One of ``WORKLOADS``, or the path of a YAML file.

    Raises
    ------
    InputError
        There is no such workload, or a field of the file is bad.
    """
    if name_or_path in WORKLOADS:
        path = _FOLDER / f"{name_or_path}.yaml"
    elif name_or_path.endswith((".yaml", ".yml", ".json")):
        path = Path(name_or_path)
    else:
        names = ", ".join(WORKLOADS)
        message = f"must be {names} or a path ending in .yaml, not {name_or_path!r}"
        raise InputError("workload", "", message)
    return _build(name_or_path, read_yaml(path), str(path))


def parse_strategy(text: str, source: str = "") -> Strategy:
    """Return the strategy that reads like ``MP2-DP5-PP2``.

    Raises
    ------
    InputError
        The text is not of that form; names ``source`` and the field ``strategy``.
    """
    try:
        return Strategy.parse(text)
    except ValueError:
        raise InputError(source, "strategy", f"must be like MP2-DP5-PP2, not {text!r}") from None


def _build(name: str, data: Any, source: str) -> Workload:
    kind = validate(_Kind, data, source).kind
    file = validate(_ResNetFile if kind == "resnet" else _TransformerFile, data, source)
    if isinstance(file, _ResNetFile) and file.image % 32:
        raise InputError(source, "image", f"must be a multiple of 32, not {file.image}")
    if isinstance(file, _TransformerFile) and file.hidden % file.heads:
        message = f"must divide hidden, not {file.heads} divide {file.hidden}"
        raise InputError(source, "heads", message)
    if file.samples_per_replica % file.microbatches:
        message = (
            f"must divide samples_per_replica, not {file.microbatches} "
            f"divide {file.samples_per_replica}"
        )
        raise InputError(source, "microbatches", message)
    return Workload(
        name=name,
        network=file.network(),
        strategy=parse_strategy(file.strategy, source),
        mode=file.mode,
        microbatches=file.microbatches,
        samples_per_replica=file.samples_per_replica,
        schedule=file.schedule,
        overlap=file.overlap,
    )
