"""Command `fred chakra`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite, isnan
from pathlib import Path
from typing import Any

import click

from fred_cli.command import Group
from fred_cli.numbers import Integer, IntegerFrom
from fred_cli.options import (
    InputPath,
    NameOrFile,
    OutputPath,
    as_json_option,
    control_option,
    topology_name,
    workload_name,
)
from fred_cli.output import option_names, plain, print_json, table
from fred_cli.progress import progress
from fred_hw.errors import InputError, one_line
from fred_hw.progress import track

__all__ = ["command"]

_SHOWN, _NAME, _ATTRS = 20, 60, 80
_COMMON = ("is_cpu_op", "inputs", "outputs")


@click.group("chakra", cls=Group, no_args_is_help=False)
def command() -> None:
    """Show, check and convert Chakra execution traces; every command here takes --json.

    TRACE is a file (.et, also compressed by gzip, or .json), or the prefix of a set PREFIX.RANK.et
    with a file for each NPU.
    """


trace_argument = click.argument("trace", metavar="TRACE", type=NameOrFile())


@command.command("show", example="fred chakra show examples/astra-step/step.0.json")
@click.argument("trace", metavar="FILE", type=InputPath())
@click.option(
    "--limit",
    type=IntegerFrom(0, 1_000_000),
    default=_SHOWN,
    show_default=True,
    help="Number of nodes to show.",
)
@as_json_option
def show(trace: Path, limit: int, as_json: bool) -> None:
    """Show the metadata and the first nodes of a trace."""
    from itertools import islice

    from tracemodel.api import named, read

    with read(trace) as reader, progress("reading nodes"):
        nodes = list(islice(reader, limit))
        more = sum(1 for _ in reader)
    if as_json:
        print_json(
            {
                "file": str(trace),
                "metadata": _metadata(reader.metadata),
                "nodes": [_node(node) for node in nodes],
                "nodes_total": len(nodes) + more,
            }
        )
        return
    said = ", ".join(f"{one.name} {one.value}" for one in reader.metadata.attrs)
    version = reader.metadata.version or "not said"
    print(one_line(f"{trace}: schema version {version}{f', {said}' if said else ''}"))
    rows = [
        (
            node.id,
            one_line(node.name, _NAME),
            _type(node),
            named(node.data_deps) or "-",
            node.duration_us,
            _few(node.attrs),
        )
        for node in nodes
    ]
    if rows:
        columns = ("id", "name", "type", "depends on", "us", "attributes")
        table(f"{len(nodes)} of {len(nodes) + more:,} nodes", columns, rows)
    else:
        print(f"0 of {more:,} nodes")


@command.command("stats", example="fred chakra stats examples/astra-step/step")
@trace_argument
@control_option
@as_json_option
def stats(trace: str, control: bool, as_json: bool) -> None:
    """Count the nodes of a trace, its compute time, longest path, operations and bytes."""
    from tracemodel.api import measure, read

    found: list[dict[str, Any]] = []
    with progress("reading traces"):
        for path in _each(_files(trace)):
            with read(path) as reader:
                found.append(
                    {"file": str(path), **plain(measure(reader, str(path), control=control))}
                )
    if as_json:
        print_json({"traces": found})
        return
    columns = ("trace", "nodes", "dependencies", "levels", "compute us", "longest path us", "ops")
    keys = ("nodes", "dependencies", "levels", "compute_us", "path_us", "operations")
    rows = [(one["file"], *(f"{one[key]:,}" for key in keys)) for one in found]
    table("traces", columns, rows)
    rows = [
        (one["file"], kind, f"{count:,}", f"{size:,}")
        for one in found
        for kind, (count, size) in (
            *one["collectives"].items(),
            ("send", one["sent"]),
            ("receive", one["received"]),
        )
        if count
    ]
    if rows:
        table("communication", ("trace", "kind", "nodes", "bytes"), rows)


@command.command(
    "validate",
    example="fred chakra validate examples/astra-step/step --groups examples/astra-groups.yaml",
)
@trace_argument
@click.option(
    "--groups",
    type=InputPath(),
    metavar="FILE",
    help="Communicator groups file of ASTRA-sim, whose collectives are checked too.",
)
@control_option
@as_json_option
def validate(trace: str, groups: Path | None, control: bool, as_json: bool) -> None:
    """Check that every node can run and states its operation.

    In a set of traces, sends must have their receives, and collectives all of their ranks. An
    error is printed as one line, with exit status 2.
    """
    from tracemodel.api import (
        Partners,
        add_partners,
        check_members,
        check_node,
        load_groups,
        measure,
        read,
    )

    partners = Partners()
    members = load_groups(groups) if groups else {}
    paths = _files(trace)
    ranks = len(paths) if paths != [Path(trace)] else 0
    if groups and not ranks:
        raise click.UsageError("--groups: must be left out with a single trace")
    checked: list[dict[str, Any]] = []

    def each(nodes: Iterable[Any], rank: int, source: str) -> Iterator[Any]:
        for node in nodes:
            check_node(node, source)
            if ranks:
                try:
                    add_partners(partners, node, rank)
                except InputError as error:
                    raise InputError(source, error.field, error.message) from None
            yield node

    with progress("checking traces"):
        for rank, path in enumerate(_each(paths)):
            with read(path) as reader:
                found = measure(each(reader, rank, str(path)), str(path), control=control)
            checked.append({"file": str(path), "nodes": found.nodes, "levels": found.levels})
    if ranks:
        check_members(members, ranks, str(groups))
        partners.check(paths, members)
    if as_json:
        print_json({"valid": True, "traces": checked, "messages": partners.sent})
        return
    for one in checked:
        print(f"{one['file']}: {one['nodes']:,} nodes can run, in {one['levels']:,} levels")
    if ranks:
        print(f"{ranks} ranks: {partners.sent:,} messages match")


@command.command(
    "groups", example="fred chakra groups examples/astra-step/step -o build/groups.json"
)
@trace_argument
@click.option(
    "-o",
    "--output",
    required=True,
    type=OutputPath(),
    metavar="FILE.json",
    help="Communicator groups file of ASTRA-sim, for --groups of fred estimate.",
)
@as_json_option
def groups(trace: str, output: Path, as_json: bool) -> None:
    """Write the process groups in the metadata nodes of a trace to a communicator groups file.

    PyTorch lists them in a node named process_group:init. A group without ranks is that of all,
    so TRACE should be the prefix of the whole set.
    """
    from json import dumps

    from gen.write import check_files, write_outputs
    from tracemodel.api import ProcessGroups, check_names, read_tasks

    check_files((output,))
    paths = _files(trace)
    found = ProcessGroups(None if paths == [Path(trace)] else len(paths))
    listed = 0
    with progress("reading traces"):
        for path in _each(paths):
            with read_tasks(path) as nodes:
                for node in nodes:
                    if node.groups:
                        found.add(node.groups, str(path), node.id)
                        listed += 1
    if not listed:
        message = "must have metadata nodes named process_group:init"
        raise InputError(trace, "", message)
    check_names(found.groups, trace)
    write_outputs({output: f"{dumps(found.groups, indent=1)}\n".encode()})
    if as_json:
        print_json({"file": str(output), "groups": found.groups})
        return
    print(f"  {output}: {len(found.groups):,} groups, besides the group of all ranks")


@command.command(
    "convert",
    example="fred chakra convert examples/three-layers.txt -o build/three-layers --npus 4",
)
@click.argument("source", metavar="[SOURCE]", type=InputPath(), required=False)
@click.option(
    "--workload",
    metavar="NAME|FILE",
    type=workload_name,
    help="Convert an iteration of this workload instead of SOURCE.",
)
@click.option(
    "--topology",
    metavar="NAME|FILE",
    type=topology_name,
    help="Topology that the workload runs on.",
)
@click.option(
    "--strategy", help="Like MP2-DP5-PP2 or TP2-DP5-PP2; that of the workload by default."
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=OutputPath(prefix=True),
    metavar="TARGET",
    help="A trace, .et, .et.gz, .json or .json.gz, or the prefix of a set of traces.",
)
@click.option(
    "--kineto",
    type=InputPath(),
    metavar="FILE.json",
    help="Kineto trace of the same run as SOURCE, a PyTorch execution trace.",
)
@click.option("--npus", type=Integer(), help="Number of traces of a text workload.  [default: 1]")
@click.option(
    "--passes", type=Integer(), help="Number of iterations of a text workload.  [default: 1]"
)
@as_json_option
def convert(
    source: Path | None,
    workload: str | None,
    topology: str | None,
    strategy: str | None,
    output: Path,
    kineto: Path | None,
    npus: int | None,
    passes: int | None,
    as_json: bool,
) -> None:
    """Convert traces, and other formats to traces.

    SOURCE is a trace (.et to .json and back), a PyTorch execution trace (.json, with --kineto; one
    rank at a time), a text workload of ASTRA-sim 1.0 (.txt) or a schedule in GOAL (.goal). The last
    two become a set TARGET.RANK.et, and so does an iteration of a --workload on a --topology.
    Communicator groups of a transformer and of an iteration are in TARGET.groups.json. A TARGET
    that ends as a trace gives files with that ending: ring.et.gz becomes ring.RANK.et.gz.
    """
    from gen.write import check_files, write_outputs
    from tracemodel.api import convert as convert_file

    if (source is None) == (workload is None):
        raise click.UsageError("SOURCE: must be given, or --workload, but not both")
    if workload is not None and topology is None:
        raise click.UsageError("--topology: must be given with --workload")
    others = ("kineto", "npus", "passes") if source is None else ("topology", "strategy")
    for name in others:
        if click.get_current_context().params[name] is not None:
            what = "--workload" if source is None else "SOURCE"
            raise click.UsageError(f"--{name}: must be left out with {what}")
    names = option_names("kineto", "npus", "passes", "topology", "workload", "strategy")
    with names, progress("converting"):
        if source is not None:
            made = convert_file(
                source, output, kineto=kineto, npus=npus, passes=passes, check=check_files
            )
        else:
            made = _iteration(str(workload), str(topology), strategy, output)
        files = {path: b"".join(pieces) for path, pieces in track(list(made.items()), "files")}
        write_outputs(files)
    if as_json:
        print_json(
            {"files": [{"file": str(path), "bytes": len(data)} for path, data in files.items()]}
        )
        return
    for path, data in files.items():
        print(f"  {path}: {len(data):,} bytes")


def _iteration(
    workload: str, topology: str, strategy: str | None, target: Path
) -> Mapping[Path, Iterable[bytes]]:
    """Return the files of a simulated iteration, and the pieces of each."""
    from json import dumps

    from gen.write import check_files
    from perfmodel.training.estimate import simulate
    from perfmodel.training.request import read_requests
    from tracemodel.api import encode_for, groups_path, iteration_traces, trace_paths

    (request,) = read_requests([topology], [workload], strategy)
    paths, of_groups = trace_paths(target, request.topology.npus), groups_path(target)
    check_files((*paths, of_groups))
    traces = iteration_traces(simulate(request))
    ranks = zip(paths, traces.ranks, strict=True)
    pieces = {path: encode_for(path, nodes, traces.metadata) for path, nodes in ranks}
    groups = dumps(traces.groups, indent=1) + "\n"
    return {**pieces, of_groups: (groups.encode(),)}


def _files(trace: str) -> list[Path]:
    """Return the file with a name, or the files of a set with that prefix."""
    from tracemodel.api import ENDINGS, find_traces

    path = Path(trace)
    return [path] if path.name.endswith(ENDINGS) else find_traces(trace)


def _each(paths: Sequence[Path]) -> Iterable[Path]:
    """Return traces with progress: by trace if there are several, else by bytes."""
    return track(paths, "traces") if len(paths) > 1 else paths


def _type(node: Any) -> str:
    from tracemodel.api import NodeType

    return NodeType(node.type).name if node.type in set(NodeType) else str(node.type)


def _few(attrs: Iterable[Any]) -> str:
    """Return the attributes that distinguish nodes, as many as fit in a table."""
    said = [f"{one.name}={one.value!r:.20}" for one in attrs if one.name not in _COMMON]
    return one_line(", ".join(said), _ATTRS)


def _metadata(metadata: Any) -> dict[str, Any]:
    return {"version": metadata.version, "attrs": [_attr(one) for one in metadata.attrs]}


def _node(node: Any) -> dict[str, Any]:
    return {
        "id": node.id,
        "name": node.name,
        "type": _type(node),
        "ctrl_deps": list(node.ctrl_deps),
        "data_deps": list(node.data_deps),
        "start_us": node.start_us,
        "duration_us": node.duration_us,
        "attrs": [_attr(one) for one in node.attrs],
    }


def _said(value: Any) -> Any:
    """Return a value for JSON: bytes in hexadecimal, non-finite numbers as in protobuf.

    https://protobuf.dev/programming-guides/json
    """
    if isinstance(value, float) and not isfinite(value):
        return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value.hex() if isinstance(value, bytes) else value


def _attr(attr: Any) -> dict[str, Any]:
    values = attr.value if isinstance(attr.value, tuple) else (attr.value,)
    texts = [_said(one) for one in values]
    value = texts if isinstance(attr.value, tuple) else texts[0]
    return {"name": attr.name, "kind": attr.kind, "value": value}
