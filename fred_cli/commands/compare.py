"""Command `fred compare`."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from fred_cli.columns.compare import COLUMNS, WITH_READINGS
from fred_cli.columns.parts import rare_columns
from fred_cli.command import Command
from fred_cli.names import pattern_name, reading_key
from fred_cli.options import (
    EQUAL_TERMS,
    TRAINING_OPTIONS,
    as_json_option,
    csv_option,
    equal_terms_options,
    memory_option,
    npu_option,
    protocol_option,
    read_npu,
    refuse_given,
    request_options,
    topology_name,
    workload_name,
)
from fred_cli.output import option_names, plain, print_above_peak, print_json
from fred_cli.progress import progress
from fred_cli.values import parse_group, parse_size
from fred_hw.errors import InputError
from perfmodel.training.options import OPTIONS

__all__ = ["command"]

_OF_ALGORITHMS = ("patterns", "sizes", "groups")
"""Options that require --algorithms."""
_OF_ESTIMATES = (
    *("workloads", "readings", "npu_changes", "npu_from", "as_is", "memory"),
    *(name for name in OPTIONS if name != "network_model"),
)
"""Options of estimates, which exclude --algorithms and --hardware."""


@click.command(
    "compare",
    cls=Command,
    example="fred compare --topology mesh:5x4 --topology fred-d --workload transformer-17b",
)
@click.option(
    "--topology",
    "topologies",
    multiple=True,
    type=topology_name,
    help="Repeat; those of the paper by default.",
)
@click.option(
    "--workload",
    "workloads",
    multiple=True,
    type=workload_name,
    help="Workload; by default all that --compute supports. Repeat for more.",
)
@click.option(
    "--hardware",
    is_flag=True,
    help="Compare FRED and the mesh as hardware: area, clock, latency and work of an all-reduce.",
)
@click.option(
    "--switches",
    is_flag=True,
    help="With --hardware: compare FRED with a full crossbar, a Benes network, a mesh and a mesh "
    "whose routers reduce, of as many ports: area, clock, latency, power, and the share of flow "
    "sets that can be active together.",
)
@click.option(
    "--algorithms",
    is_flag=True,
    help="Compare every algorithm that fits, for each collective; the table has the fastest on "
    "each topology, --csv and --json have all.",
)
@click.option(
    "--pattern",
    "patterns",
    multiple=True,
    metavar="NAME",
    type=pattern_name,
    help="With --algorithms: collective pattern. Repeat; most of them by default.",
)
@click.option(
    "--size",
    "sizes",
    multiple=True,
    metavar="SIZE",
    help="With --algorithms: vector, like 64MB. Repeat; 64KiB, 16MiB and 1GiB by default.",
)
@click.option(
    "--group",
    "groups",
    multiple=True,
    metavar="LIST",
    help="With --algorithms: NPUs that take part, such as 0,1,4-7; by default all. Repeat for "
    "more.",
)
@request_options
@click.option(
    "--reading",
    "readings",
    multiple=True,
    metavar="OPTION=VALUE",
    type=reading_key,
    help="Repeat the comparison with this value, like compute=weights or "
    "compute=weights,algorithm=auto, and print the range of speed-ups; may be repeated.",
)
@protocol_option
@npu_option
@equal_terms_options
@memory_option
@csv_option
@as_json_option
def command(
    topologies: tuple[str, ...],
    workloads: tuple[str, ...],
    hardware: bool,
    switches: bool,
    algorithms: bool,
    patterns: tuple[str, ...],
    sizes: tuple[str, ...],
    groups: tuple[str, ...],
    readings: tuple[str, ...],
    protocol: Any,
    npu_changes: tuple[str, ...],
    npu_from: str | None,
    as_is: bool,
    memory: Path | None,
    csv_file: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Estimate all workloads on all topologies; speed-ups are over the first topology."""
    from perfmodel.topology.parse import FABRICS
    from perfmodel.training.compare import compare
    from perfmodel.training.compute_model import compute_model
    from perfmodel.training.equal_terms import on_equal_terms
    from perfmodel.training.request import read_requests
    from perfmodel.workloads.workload import WORKLOADS
    from studies.readings import read_readings

    if hardware:
        _hardware(switches, csv_file, as_json)
        return
    refuse_given("switches", message="must be given with --hardware")
    if algorithms:
        model = options["network_model"]
        _algorithms(topologies, patterns, sizes, groups, model, protocol, csv_file, as_json)
        return
    refuse_given(*_OF_ALGORITHMS, message="must be given with --algorithms")
    with option_names(*TRAINING_OPTIONS, "reading"), progress("estimating workloads on topologies"):
        others = read_readings(readings)
        requests = read_requests(
            topologies or FABRICS,
            workloads or compute_model(options["compute"]).workloads(WORKLOADS),
            protocol=protocol,
            npu=read_npu(npu_changes),
            memory=memory,
            **options,
        )
        fair = on_equal_terms(requests, npu_from, as_is=as_is, choices=EQUAL_TERMS)
        rows = compare(fair, others)
    columns = WITH_READINGS if readings else COLUMNS
    columns.write(rows, csv_file)
    if as_json:
        print_json({"rows": [columns.json(row.estimate, row) for row in rows]})
        return
    shown = columns.without(*rare_columns(row.estimate for row in rows))
    shown.print(f"Training iterations [ms], compute: {options['compute']}", rows)
    print_above_peak(row.estimate for row in rows)


def _hardware(switches: bool, csv_file: Path | None, as_json: bool) -> None:
    """Print the hardware comparison of FRED and the mesh, or of FRED and other networks."""
    names = ("topologies", *_OF_ESTIMATES, *_OF_ALGORITHMS, "network_model", "protocol")
    refuse_given("algorithms", *names, message="must not be given with --hardware")
    if switches:
        _switches(csv_file, as_json)
        return
    from fred_cli.columns.hardware import COLUMNS as HARDWARE
    from fred_cli.hardware_table import hardware_rows

    rows = hardware_rows()
    HARDWARE.write(rows, csv_file)
    if as_json:
        print_json({"rows": [HARDWARE.json(row, row) for row in rows]})
        return
    HARDWARE.print("FRED and the mesh, twenty NPUs each", rows)


def _switches(csv_file: Path | None, as_json: bool) -> None:
    """Print the record of networks: FRED, crossbars and Benes networks by ports."""
    from fred_cli.columns.switches import COLUMNS as SWITCHES
    from fred_hw.files import load_model
    from perfmodel.switch_timing.networks import SHIPPED_NETWORKS, NetworkRecord

    record = load_model(NetworkRecord, SHIPPED_NETWORKS)
    rows, ports = record.networks, sorted({one.ports for one in record.networks})
    fronts = {n: [one.network for one in record.front(n)] for n in ports}
    SWITCHES.write(rows, csv_file)
    if as_json:
        found = [SWITCHES.json(row.model_dump(), row) for row in rows]
        print_json({"rows": found, "fronts": [{"ports": n, "networks": fronts[n]} for n in ports]})
        return
    lanes = f"{record.lanes} lane{'s' if record.lanes > 1 else ''} of {record.format.upper()}"
    how = f"{record.library}, effort {record.effort}, {record.target_clock_ns:g} ns"
    SWITCHES.print(f"Networks with {lanes}: {how}", rows)
    print(
        "  other: area besides adders, pipeline and multiplexers; mW: all-reduce of all ports at "
        f"{record.target_clock_ns:g} ns,\n  also of networks whose clock is longer; mesh: "
        "NPUs form a ring, and their adders are in the area, not in the power;\n"
        f"  flow sets, phases: share of {record.flow_sets} random flow sets, and of phases of "
        "strategies, that can be active\n  together; -: does not exist"
    )
    reasons: dict[str, list[str]] = {}
    for row in rows:
        reasons.setdefault(row.not_measured, []).append(f"{row.network} of {row.ports}")
    for why, names in reasons.items():
        if why:
            print(f"  {', '.join(names)}: {why}")
    for n in ports:
        print(f"  Pareto front of latency, area and clock, {n} ports: {', '.join(fronts[n])}")


def _algorithms(
    topologies: Sequence[str],
    patterns: Sequence[str],
    sizes: Sequence[str],
    groups: Sequence[str],
    network_model: str,
    protocol: Any,
    csv_file: Path | None,
    as_json: bool,
) -> None:
    """Print the fastest algorithm of each collective on each topology."""
    from fred_cli.columns.algorithms import COLUMNS as ALGORITHM_COLUMNS
    from perfmodel.topology.parse import parse_topology
    from studies.algorithms import (
        PATTERNS_COMPARED,
        SIZES_COMPARED_BYTES,
        TOPOLOGIES_COMPARED,
        compare_algorithms,
        winners,
    )

    refuse_given(*_OF_ESTIMATES, message="must not be given with --algorithms")
    names = _different("--topology", topologies, str) or TOPOLOGIES_COMPARED
    names_of = option_names("pattern", "size", "group", "network_model")
    with names_of, progress("running collectives"):
        rows = compare_algorithms(
            [parse_topology(name, protocol) for name in names],
            _different("--pattern", patterns, str) or PATTERNS_COMPARED,
            _different("--size", sizes, parse_size) or SIZES_COMPARED_BYTES,
            _different("--group", groups, parse_group) or [None],
            network_model,
        )
    ALGORITHM_COLUMNS.write(rows, csv_file)
    if as_json:
        print_json({"rows": [plain(row) for row in rows]})
        return
    title = f"Fastest algorithm on each topology, network model: {network_model}"
    ALGORITHM_COLUMNS.print(title, winners(rows))
    print("  * is the fastest of all topologies; wires are the rate of all links of a topology")


def _different(option: str, texts: Sequence[str], parse: Callable[[str], Any]) -> list[Any]:
    """Return the values of a repeated option, and fail if one of them is given twice."""
    found: list[Any] = []
    for text in texts:
        value = parse(text)
        if value in found:
            raise InputError(option, "", f"must be given once for each value, not {text!r} twice")
        found.append(value)
    return found
