"""A point of a store as files and a command line that estimate it again."""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fred_hw.choices import find_choice
from fred_hw.errors import InputError
from perfmodel.studies.study.inputs import Inputs, Part, Resolver, flat, part_of
from perfmodel.studies.study.training import request_of
from perfmodel.topology.parse import said_of
from perfmodel.training.options import OPTIONS
from perfmodel.training.request import Request
from perfmodel.workloads.workload import WORKLOADS, parse_strategy

__all__ = ["Reproduction", "reproduction", "request", "restored"]

_ROOTS = {"topology": "--topology", "workload": "--workload", "remote_memory": "--memory"}


@dataclass(frozen=True)
class Reproduction:
    """The files and the command line that estimate a point again.

    Parameters
    ----------
    command : str
        Command line for a shell.
    files : mapping
        Text of the files that the command line names, by their names.
    """

    command: str
    files: Mapping[str, str]


def restored(row: Mapping[str, Any]) -> Inputs:
    """Return the inputs of a row; the inverse of ``Inputs.fields``.

    Files that the inputs name by a relative path are looked for in the current folder: timing
    records, the wafers of a topology of several, and the files of ``energy`` and ``endpoint``.

    Raises
    ------
    InputError
        The row lacks an input, or has a value that this version refuses.
    """
    for name in ("topology", "workload", "strategy"):
        if (f"{name}.kind" not in row and name != "strategy") or name not in row:
            message = (
                "must be in the row of the point; only training iterations whose values go "
                "together can be estimated"
            )
            raise InputError(str(row.get("key", "")), name, message)
    topology, workload, npu = (_part(row, root) for root in ("topology", "workload", "npu"))
    memory = _part(row, "remote_memory") if row.get("remote_memory") else None
    options = {name: str(row.get(name, one.default)) for name, one in OPTIONS.items()}
    return Inputs(topology, workload, npu, memory, parse_strategy(row["strategy"]), options)


def reproduction(row: Mapping[str, Any]) -> Reproduction:
    """Return the files and the command line that estimate the point of a row again.

    Topologies and workloads that are as built in are named; of all others the contents are
    written to a file.

    Raises
    ------
    InputError
        As for :func:`restored`.
    """
    inputs = restored(row)
    words, files = ["fred", "estimate"], dict[str, str]()
    parts = {"topology": inputs.topology, "workload": inputs.workload}
    for root, part in ({**parts, "remote_memory": inputs.memory}).items():
        if part is None:
            continue
        name = part.name
        if not _is_built_in(root, part):
            name = f"{root}.yaml"
            files[name] = yaml.safe_dump(dict(part.data), sort_keys=False)
        words += [_ROOTS[root], name]
    words += ["--strategy", str(inputs.strategy)]
    for name, one in OPTIONS.items():
        if inputs.options[name] != one.default:
            words += [f"--{name.replace('_', '-')}", inputs.options[name]]
    for key, value in _npu_changes(inputs):
        words += ["--npu", f"{key}={_short(value)}"]
    return Reproduction(shlex.join(words), files)


def request(row: Mapping[str, Any]) -> Request:
    """Return the request of a row, as created by the run of the study.

    Raises
    ------
    InputError
        As for :func:`restored`.
    """
    return request_of(restored(row))


def _part(row: Mapping[str, Any], root: str) -> Part:
    data = _nested(row, root)
    return part_of(root, str(row.get(root, "")), data, Path.cwd())


def _nested(row: Mapping[str, Any], root: str) -> Any:
    """Return a row's values, keyed by dotted path, as nested mappings and lists."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        first, *path = name.split(".")
        if first == root and path:
            inner = found
            for key in path[:-1]:
                inner = inner.setdefault(key, {})
            inner[path[-1]] = value
    return _listed(found)


def _listed(value: Any) -> Any:
    """Return mappings with the keys 0, 1, ... as lists."""
    if not isinstance(value, dict):
        return value
    inner = {key: _listed(one) for key, one in value.items()}
    if inner and all(key.isdecimal() for key in inner):
        return [inner[key] for key in sorted(inner, key=int)]
    return inner


def _is_built_in(root: str, part: Part) -> bool:
    """Return whether a name alone identifies the contents of a part."""
    if root == "topology":
        known = said_of(part.name) is not None
    else:
        known = root == "workload" and find_choice(part.name, WORKLOADS) is not None
    if not known:
        return False
    other = {"topology": "workload", "workload": "topology"}[root]
    names = {root: part.name, other: {"workload": "resnet-50", "topology": "fred-d"}[other]}
    return getattr(Resolver(Path("built-in")).inputs(names), root) == part


def _npu_changes(inputs: Inputs) -> Iterable[tuple[str, float]]:
    """Yield the NPU rates that differ from those of the topology."""
    own = request_of(
        Inputs(
            inputs.topology,
            inputs.workload,
            part_of("npu", "", {}, Path.cwd()),
            inputs.memory,
            inputs.strategy,
            inputs.options,
        )
    ).npu.rates
    before = dict(flat("npu", own))
    for name, value in flat("npu", inputs.npu.data):
        if before.get(name) != value:
            yield name.removeprefix("npu."), value


def _short(value: float) -> str:
    """Return a number in the fewest characters that preserve its value."""
    return min((f"{value:g}", repr(value)), key=lambda said: (float(said) != value, len(said)))
