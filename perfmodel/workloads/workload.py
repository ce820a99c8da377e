"""Workloads from YAML: a network and its training settings."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fred_hw.checks import check_int
from fred_hw.choices import find_choice, not_one_of
from fred_hw.compiler.placement import Strategy
from fred_hw.errors import InputError
from fred_hw.file_kinds import WORKLOAD
from fred_hw.files import read_kind, validate
from fred_hw.reading import SUFFIXES, read_data
from perfmodel.published import SPEEDUP_C

from .file import KINDS, MAX_MICROBATCHES, MAX_SAMPLES, STRATEGY, WorkloadFile
from .layers import Network

__all__ = [
    "PUBLISHED",
    "WORKLOADS",
    "Workload",
    "build_workload",
    "changed_workload",
    "load_file",
    "load_workload",
    "parse_strategy",
    "shipped",
    "with_batch",
    "workload_path",
]

_FOLDER = Path(__file__).parent


def shipped() -> tuple[str, ...]:
    """Return the names of the built-in workload files, those of the paper first, in its order."""
    order = list(SPEEDUP_C)
    names = sorted(path.stem for path in _FOLDER.glob("*.yaml"))
    return tuple(sorted(names, key=lambda name: order.index(name) if name in order else len(order)))


WORKLOADS = shipped()
"""The built-in workloads, those of the paper first, in its order."""

PUBLISHED = tuple(SPEEDUP_C)
"""Workloads of the paper, on which compute can be calibrated as their speed-ups are published."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A network and its training settings.

    Parameters
    ----------
    name : str
        Name given by the user.
    network : Network
        Layers of the workload.
    strategy : Strategy
        The published strategy, used when no other is requested.
    mode : str
        One of ``file.MODES``.
    microbatches : int
        Number of parts in which the samples of a replica pass the pipeline.
    samples_per_replica : int
        Samples in an iteration for each data-parallel replica.
    schedule : str
        One of ``pipeline_schedule.SCHEDULES``; only matters in stationary mode.
    overlap : bool
        Whether gradients are reduced during the backward pass, in stationary mode.
    """

    name: str
    network: Network
    strategy: Strategy
    mode: str
    microbatches: int
    samples_per_replica: int
    schedule: str = "1f1b"
    overlap: bool = False


def load_workload(name_or_path: str) -> Workload:
    """Return the workload with a given name or file.

    Parameters
    ----------
    name_or_path : str
        One of ``WORKLOADS``, or the path of a YAML file.

    Raises
    ------
    InputError
        There is no such workload, or a field of the file is invalid.
    """
    name = find_choice(name_or_path, WORKLOADS) or name_or_path
    file, source = load_file(name)
    return _build(name, file, source)


def build_workload(data: object, name: str) -> Workload:
    """Return the workload of file contents, named ``name``.

    Raises
    ------
    InputError
        A field is bad.
    """
    kind = KINDS[read_kind(data, KINDS, name, WORKLOAD)]
    return _build(name, validate(kind, data, name), name)


def changed_workload(
    name_or_path: str,
    *,
    samples: int | None = None,
    microbatches: int | None = None,
    **changes: Any,
) -> Workload:
    """Return a workload with changed settings.

    Parameters
    ----------
    name_or_path : str
        See :func:`load_workload`.
    samples, microbatches : int or None
        The batch of a replica; that of the workload where None.
    **changes : object
        Other fields of :class:`Workload`; None leaves a field as it is.

    Raises
    ------
    InputError
        As for :func:`load_workload`, or as for :func:`with_batch`.
    """
    workload = load_workload(name_or_path)
    for option, value, most in (
        ("samples", samples, MAX_SAMPLES),
        ("microbatches", microbatches, MAX_MICROBATCHES),
    ):
        if value is not None and not 1 <= value <= most:
            raise InputError("", option, f"must be 1 to {most}, not {value}")
    workload = with_batch(
        workload, samples or workload.samples_per_replica, microbatches or workload.microbatches
    )
    return replace(workload, **{key: value for key, value in changes.items() if value is not None})


def with_batch(workload: Workload, samples_per_replica: int, microbatches: int) -> Workload:
    """Return the workload with another batch size.

    Raises
    ------
    InputError
        A number is not an integer of 1 or more, or is too large to be worked out, or the
        microbatches do not divide the samples.
    """
    for name, value, most in (
        ("samples_per_replica", samples_per_replica, MAX_SAMPLES),
        ("microbatches", microbatches, MAX_MICROBATCHES),
    ):
        try:
            check_int(name, value, minimum=1, maximum=most)
        except (TypeError, ValueError) as error:
            message = str(error).removeprefix(f"{name} ")
            raise InputError(workload.name, name, message) from None
    if samples_per_replica % microbatches:
        message = (
            f"must be a divisor of {samples_per_replica} samples per replica, not {microbatches}"
        )
        raise InputError(workload.name, "microbatches", message)
    return replace(workload, samples_per_replica=samples_per_replica, microbatches=microbatches)


def load_file(name_or_path: str) -> tuple[WorkloadFile, str]:
    """Return the contents of a workload file, and its name for error messages.

    Raises
    ------
    InputError
        As for :func:`load_workload`, except for rules between keys.
    """
    if name := find_choice(name_or_path, WORKLOADS):
        path = workload_path(name)
    elif name_or_path.endswith(SUFFIXES):
        path = Path(name_or_path)
    else:
        message = not_one_of(
            name_or_path,
            WORKLOADS,
            otherwise="or a path ending in .yaml",
            listed_by="fred estimate --help",
        )
        if name_or_path.endswith(".txt"):
            message += "; 'fred chakra convert' makes traces of a text workload, for --network"
        raise InputError("workload", "", message)
    data = read_data(path)
    kind = KINDS[read_kind(data, KINDS, str(path), WORKLOAD)]
    return validate(kind, data, str(path)), str(path)


def workload_path(name: str) -> Path:
    """Return the path of a built-in workload."""
    return _FOLDER / f"{name}.yaml"


def parse_strategy(text: str, source: str = "") -> Strategy:
    """Return the strategy that a text such as ``MP2-DP5-PP2`` describes.

    Raises
    ------
    InputError
        The text is not of that form; names ``source`` and the field ``strategy``.
    """
    try:
        return Strategy.parse(text)
    except ValueError as error:
        message = f"must be like MP2-DP5-PP2, not {text!r}"
        if re.fullmatch(STRATEGY, text.upper()):
            message = str(error).removeprefix("strategy ")
        raise InputError(source, "strategy", message) from None


def _build(name: str, file: WorkloadFile, source: str) -> Workload:
    network = file.network(source)
    if file.samples_per_replica % file.microbatches:
        message = (
            f"must be a divisor of samples_per_replica, {file.samples_per_replica}, "
            f"not {file.microbatches}"
        )
        raise InputError(source, "microbatches", message)
    return Workload(
        name=name,
        network=network,
        strategy=parse_strategy(file.strategy, source),
        mode=file.mode,
        microbatches=file.microbatches,
        samples_per_replica=file.samples_per_replica,
        schedule=file.schedule,
        overlap=file.overlap,
    )
