"""A point of a store as files and a command line that estimate it again."""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from fred_hw.choices import find_choice
from fred_hw.errors import InputError
from perfmodel.topology.parse import said_of
from perfmodel.training.options import OPTIONS
from perfmodel.workloads.workload import WORKLOADS, parse_strategy
from studies.study.contents import flat
from studies.study.inputs import Inputs, Part, TrainingResolver, options_part, part_of
from studies.study.training import request_of

__all__ = ["Reproduction", "reproduction", "reproduction_of", "restored"]

_TRACES = {
    "traces": "--workload",
    "network": "--network",
    "system": "--system",
    "remote_memory": "--memory",
    "groups": "--groups",
    "network_model": "--network-model",
    "num_queues_per_dim": "--num-queues-per-dim",
}
"""Options of `fred estimate` for the columns of traces."""

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
    in_study_folder : bool
        Whether paths in the command line start from the folder of the study file.
    """

    command: str
    files: Mapping[str, str]
    in_study_folder: bool = False


def reproduction_of(row: Mapping[str, Any], folder: Path) -> Reproduction:
    """Return the files and the command line that compute a row again.

    Parameters
    ----------
    row, folder : mapping, Path
        As for :func:`restored`.

    Raises
    ------
    InputError
        As for :func:`restored`.
    """
    if "specification" in row:
        return _of_switch(row)
    return _of_traces(row) if "traces" in row else reproduction(restored(row, folder))


def restored(row: Mapping[str, Any], folder: Path) -> Inputs:
    """Return the inputs of a row; the inverse of ``Inputs.fields`` but for prices of tiers.

    Files that files name, such as timing records and the wafer of a topology of several, are looked
    for in the current folder.

    Parameters
    ----------
    row : mapping
        The row.
    folder : Path
        Where to write the files that options name, as ``OPTION.yaml``.

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
    strategy = parse_strategy(row["strategy"])
    options = options_part(_options(row, folder), folder)
    return Inputs(topology, workload, npu, memory, strategy, options, tiers=None)


def reproduction(inputs: Inputs) -> Reproduction:
    """Return the files and the command line that estimate a point again, given restored inputs.

    Topologies and workloads that are as built in are named; of all others, and of the files that
    options name, the contents are written to a file.
    """
    words, files = ["fred", "estimate"], dict[str, str]()
    parts = {"topology": inputs.topology, "workload": inputs.workload}
    for root, part in ({**parts, "remote_memory": inputs.memory}).items():
        if part is None:
            continue
        name = part.name
        if not _is_built_in(root, part):
            name = f"{root}.yaml"
            files[name] = _yaml(part.data)
        words += [_ROOTS[root], name]
    words += ["--strategy", str(inputs.strategy)]
    for name, one in OPTIONS.items():
        if (chosen := inputs.options.data[name]) != one.default:
            words += [f"--{name.replace('_', '-')}", chosen]
    for name, contents in inputs.options.contents.items():
        files[f"{name}.yaml"] = _yaml(contents)
    for key, value in _npu_changes(inputs):
        words += ["--npu", f"{key}={_short(value)}"]
    return Reproduction(shlex.join(words), files)


def _of_traces(row: Mapping[str, Any]) -> Reproduction:
    given = ((option, row.get(name)) for name, option in _TRACES.items())
    words = [word for option, value in given if value is not None for word in (option, str(value))]
    return Reproduction(shlex.join(["fred", "estimate", *words]), {}, in_study_folder=True)


def _of_switch(row: Mapping[str, Any]) -> Reproduction:
    """Return the commands of a switch: for area and clock, and for tests or cycles."""
    if "verilog_sha256" not in row:
        message = "must be in the row of the point; only switches whose values go together have one"
        raise InputError(str(row.get("key", "")), "verilog_sha256", message)
    name = "specification.yaml"
    commands: list[list[str]] = []
    if liberty := row.get("liberty"):
        level, effort = row["level"], row["effort"]
        commands.append(
            ["fred", "synth", name, "--level", level, "--liberty", liberty, "--effort", effort]
        )
    if simulator := row.get("simulator"):
        run = (
            ["sim", name, "--level", row["level"]] if row["regression"] else ["characterize", name]
        )
        commands.append(["fred", *run, "--sim", simulator, "--seed", str(row["seed"])])
    said = " && ".join(map(shlex.join, commands))
    return Reproduction(said, {name: _yaml(_nested(row, "specification"))})


def _part(row: Mapping[str, Any], root: str) -> Part:
    data = _nested(row, root)
    return part_of(root, str(row.get(root, "")), data, Path.cwd())


def _options(row: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """Return the options of a row; the files that they name are written to a folder."""
    found: dict[str, str] = {}
    for name, option in OPTIONS.items():
        value = str(row.get(name, option.default))
        if path := option.file_in(value):
            contents = _nested(row, name).get("file")
            if contents is None:
                message = f"must be in the row of the point with the contents of {path}"
                raise InputError(str(row.get("key", "")), name, message)
            (folder / f"{name}.yaml").write_text(_yaml(contents), encoding="utf-8")
            value = f"{value.removesuffix(path)}{name}.yaml"
        found[name] = value
    return found


def _yaml(data: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(data), sort_keys=False)


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
    return getattr(TrainingResolver(Path("built-in")).inputs(names), root) == part


def _npu_changes(inputs: Inputs) -> Iterable[tuple[str, float]]:
    """Yield the NPU rates that differ from those of the topology."""
    own = request_of(replace(inputs, npu=part_of("npu", "", {}, Path.cwd()))).npu.rates
    before = dict(flat("npu", own))
    for name, value in flat("npu", inputs.npu.data):
        if before.get(name) != value:
            yield name.removeprefix("npu."), value


def _short(value: float) -> str:
    """Return a number in the fewest characters that preserve its value."""
    return min((f"{value:g}", repr(value)), key=lambda said: (float(said) != value, len(said)))
