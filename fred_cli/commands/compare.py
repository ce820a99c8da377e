"""`fred compare`."""

from pathlib import Path
from typing import Any

import click

from fred_cli.columns.compare import COLUMNS, WITH_READINGS
from fred_cli.columns.parts import rare_columns
from fred_cli.names import reading_key
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
from fred_cli.output import option_names, say_above_peak, say_json
from fred_cli.progress import progress
from perfmodel.training.options import OPTIONS

__all__ = ["command"]


@click.command("compare")
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
    help="Repeat; all that --compute knows by default.",
)
@click.option(
    "--hardware",
    is_flag=True,
    help="Instead: area, clock, latency and the work of an all-reduce, FRED and mesh as hardware.",
)
@request_options
@click.option(
    "--reading",
    "readings",
    multiple=True,
    metavar="OPTION=VALUE",
    type=reading_key,
    help="Find speed-ups again with this value, like compute=weights or "
    "compute=weights,algorithm=auto, and print the range of all of them. Repeat.",
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
    from perfmodel.studies.compare import compare
    from perfmodel.studies.equal_terms import on_equal_terms
    from perfmodel.studies.readings import read_readings
    from perfmodel.topology.parse import FABRICS
    from perfmodel.training.compute_model import compute_model
    from perfmodel.training.request import read_requests
    from perfmodel.workloads.workload import WORKLOADS

    if hardware:
        _hardware(csv_file, as_json)
        return
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
        say_json({"rows": [columns.json(row.estimate, row) for row in rows]})
        return
    shown = columns.without(*rare_columns(row.estimate for row in rows))
    shown.print(f"Training iterations [ms], compute: {options['compute']}", rows)
    say_above_peak(row.estimate for row in rows)


def _hardware(csv_file: Path | None, as_json: bool) -> None:
    """Print FRED and the mesh as hardware."""
    from fred_cli.columns.hardware import COLUMNS as HARDWARE
    from fred_cli.hardware_table import hardware_rows

    names = (
        "topologies",
        "workloads",
        *OPTIONS,
        "protocol",
        "npu_changes",
        "npu_from",
        "as_is",
        "readings",
    )
    refuse_given(*names, "memory", message="must not be given with --hardware")
    rows = hardware_rows()
    HARDWARE.write(rows, csv_file)
    if as_json:
        say_json({"rows": [HARDWARE.json(row, row) for row in rows]})
        return
    HARDWARE.print("FRED and the mesh, twenty NPUs each", rows)
