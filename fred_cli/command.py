"""Command classes of `fred`, whose help has sections of options and ends with an example."""

from typing import Any

import click

__all__ = ["SECTIONS", "Command", "Group"]

SECTIONS = {
    "Topology": (
        "topology topologies placement npu_changes npu_from as_is least_npus protocol memory "
        "npus level lanes changes"
    ),
    "Workload": (
        "workload workloads strategy strategies compute mode schedule overlap "
        "microbatches samples repeats cp ep sp pattern patterns size sizes group chunks readings "
        "best flits phases"
    ),
    "Placement and pruning": (
        "workers capacities pins architecture calibration test max_error lambda0 lambda1 form "
        "refit baselines"
    ),
    "Network": (
        "algorithm algorithms network_model cc roce intra latency compatible endpoint energy "
        "loggops collectives"
    ),
    "Traces and ASTRA-sim": "network system groups job symmetry control queues passes kineto",
    "Hardware": (
        "rtl hardware switches liberty clock effort sizing simulator seed verilog top spec_source"
    ),
    "Technology and prices": (
        "densities npu_bandwidth io_bandwidth defect_density clustering wafer_price test_price "
        "bond_yield"
    ),
    "Search": "search max_chiplets min_port_bandwidth max_area",
    "Output": (
        "output path folder timeline record chart congestion_chart csv_file links_file "
        "collectives_file details draw picture export waves check evidence as_json"
    ),
}
"""Parameters of each help section; all others are in the first section, which has no name."""

_MOST = 14
"""Largest number of options that are shown in one list."""

_SECTION_OF = {name: title for title, names in SECTIONS.items() for name in names.split()}


class Command(click.Command):
    """A command with an example at the end of its help.

    Parameters
    ----------
    example : str
        Command line that works where the folder ``examples`` is.
    """

    def __init__(self, *args: Any, example: str, **others: Any) -> None:
        super().__init__(*args, **others)
        self.example = example

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, in sections if there are many."""
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Options", *SECTIONS)}
        records = [
            (_section(one, ctx), record)
            for one in self.get_params(ctx)
            if isinstance(one, click.Option) and (record := one.get_help_record(ctx))
        ]
        for section, record in records:
            sections[section if len(records) > _MOST else "Options"].append(record)
        for title, rows in sections.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the example as one line to copy."""
        with formatter.section("Example"):
            formatter.write(f"{'':{formatter.current_indent}}{self.example}\n")


class Group(click.Group):
    """A group of commands with examples."""

    command_class = Command
    group_class = type


def _section(option: click.Option, ctx: click.Context) -> str:
    """Return the help section of an option."""
    if set(option.opts) & set(ctx.help_option_names):
        return "Output"
    return _SECTION_OF.get(option.name or "", "Options")
