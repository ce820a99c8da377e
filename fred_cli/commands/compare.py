"""`fred compare`."""

from pathlib import Path
from typing import Any

import click

from fred_cli.columns.compare import COLUMNS
from fred_cli.columns.parts import rare_columns
from fred_cli.options import (
    TRAINING_OPTIONS,
    algorithm_option,
    as_json_option,
    compute_option,
    csv_option,
    memory_option,
    npu_option,
    protocol_option,
    read_npu,
    refuse_given,
    topology_name,
    workload_name,
)
from fred_cli.output import option_names, say_above_peak, say_json
from fred_cli.progress import progress

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
@compute_option()
@algorithm_option
@protocol_option
@npu_option
@memory_option
@csv_option
@as_json_option
def command(
    topologies: tuple[str, ...],
    workloads: tuple[str, ...],
    hardware: bool,
    compute: str,
    algorithm: str,
    protocol: Any,
    npu_changes: tuple[str, ...],
    memory: Path | None,
    csv_file: Path | None,
    as_json: bool,
) -> None:
    """Estimate all workloads on all fabrics; speed-ups are over the first fabric."""
    from perfmodel.studies.compare import compare as run
    from perfmodel.topology.parse import FABRICS

    if hardware:
        _hardware(csv_file, as_json)
        return
    with option_names(*TRAINING_OPTIONS), progress("estimating workloads on fabrics"):
        rows = run(
            topologies or FABRICS,
            workloads,
            compute=compute,
            protocol=protocol,
            algorithm=algorithm,
            npu_rates=read_npu(npu_changes),
            memory=memory,
        )
    COLUMNS.write(rows, csv_file)
    if as_json:
        say_json({"rows": [COLUMNS.json(row.estimate, row) for row in rows]})
        return
    shown = COLUMNS.without(*rare_columns(row.estimate for row in rows))
    shown.print(f"Training iterations [ms], compute: {compute}", rows)
    say_above_peak(row.estimate for row in rows)


def _hardware(csv_file: Path | None, as_json: bool) -> None:
    """Print FRED beside the mesh as hardware."""
    from fred_cli.columns.hardware import COLUMNS as HARDWARE
    from fred_cli.hardware_table import hardware_rows

    names = ("topologies", "workloads", "compute", "algorithm", "protocol", "npu_changes", "memory")
    refuse_given(*names, message="must not be given with --hardware")
    rows = hardware_rows()
    HARDWARE.write(rows, csv_file)
    if as_json:
        say_json({"rows": [HARDWARE.json(row, row) for row in rows]})
        return
    HARDWARE.print("FRED beside the mesh, twenty NPUs each", rows)
