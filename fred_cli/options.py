"""Options and arguments shared by commands."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from fred_hw.choices import find_choice, not_one_of
from fred_hw.file_kinds import SWITCH, TOPOLOGY, WORKLOAD
from perfmodel.training.options import OPTIONS

from .names import Named, change_key, names_in, npu_key, option_name, option_value
from .numbers import IntegerFrom

__all__ = [
    "EQUAL_TERMS",
    "TRAINING_OPTIONS",
    "InputPath",
    "ListingOption",
    "NameChoice",
    "NameOrFile",
    "OutputPath",
    "as_json_option",
    "collectives_name",
    "control_option",
    "csv_option",
    "equal_terms_options",
    "level_option",
    "memory_option",
    "mode_option",
    "npu_option",
    "only_option",
    "optional_topology_option",
    "optional_workload_option",
    "protocol_option",
    "read_npu",
    "read_pruned",
    "read_spec",
    "refuse_given",
    "request_option",
    "request_options",
    "schedule_option",
    "seed_option",
    "set_option",
    "simulator_option",
    "size_option",
    "spec_argument",
    "spec_name",
    "topologies_listing",
    "topology_name",
    "topology_option",
    "workload_name",
    "workload_option",
    "workloads_listing",
]


class ListingOption(click.Option):
    """An option whose help text lists names that are looked up when the help is shown.

    Parameters
    ----------
    listing : Callable
        Returns the help.
    """

    def __init__(self, *args: Any, listing: Callable[[], str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._listing = listing

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        self.help = self._listing()
        return super().get_help_record(ctx)


class NameChoice(Named):
    """A choice of names that are looked up when needed.

    Parameters
    ----------
    names : Callable
        Returns the names, given the context of the command.
    renamed : mapping of str to str, optional
        Old names, still accepted with a warning, and the names that replace them.

    Raises
    ------
    InputError
        The value is not one of the names.
    """

    def __init__(
        self, names: Callable[..., Iterable[str]], renamed: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(names)
        self._renamed = renamed or {}

    name = "choice"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        return click.Choice(tuple(self._names(ctx))).get_metavar(param, ctx)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from fred_hw.errors import InputError

        if value in self._renamed:
            new = self._renamed[value]
            message = f"warning: {option_name(param)} {value}: is deprecated; use {new}"
            click.echo(message, err=True)
            value = new
        names = tuple(self._names(ctx))
        if (found := find_choice(value, names)) is None:
            listed_by = f"{ctx.command_path if ctx else 'fred'} --help"
            raise InputError(option_name(param), "", not_one_of(value, names, listed_by=listed_by))
        return found


class InputPath(click.ParamType):
    """An input file; the function that reads it reports errors."""

    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        return Path(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


class OutputPath(click.ParamType):
    """An output file or folder, checked before any work is done.

    No two options of a command may be the same file.

    Parameters
    ----------
    folder : bool
        Whether it is a folder.
    prefix : bool
        Whether it may be the prefix of files too: of those the command knows the names and checks
        them, and here only the folder is.
    """

    name = "path"

    def __init__(self, *, folder: bool = False, prefix: bool = False) -> None:
        self._folder, self._prefix = folder, prefix

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        from fred_hw.errors import InputError
        from gen.write import check_file, check_folder, check_prefix

        if ctx and ctx.resilient_parsing:  # a shell completes the command line
            return Path(value)
        name = option_name(param)
        if not str(value):
            kind = "folder" if self._folder else "file"
            raise InputError(name, "", f"must be the name of a {kind}, not ''")
        path = Path(value)
        if self._prefix:
            check_prefix(str(value))
            if not path.is_dir():  # a folder may share its name with a prefix; a file may not
                _refuse_twin(path, name, ctx)
        elif self._folder:
            check_folder(path)
        else:
            check_file(path)
            _refuse_twin(path, name, ctx)
        return path

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="dir" if self._folder else "file")]


def _refuse_twin(path: Path, name: str, ctx: click.Context | None) -> None:
    """Fail if another option of the command names the same file, in any spelling."""
    from fred_hw.errors import InputError
    from gen.write import place_of

    given: dict[Path, str] = ctx.meta.setdefault(f"{__name__}.outputs", {}) if ctx else {}
    other = given.setdefault(place_of(path), name)
    if other != name:
        raise InputError(name, "", f"must be another file than {other}")


class NameOrFile(Named):
    """A name in any letter case, or a path; shell completion offers both.

    Parameters
    ----------
    names : Callable
        Returns the names; none for the prefix of a set of files.
    kind : str or None
        Kind of the names, one of ``file_kinds``; names of other kinds are refused. None passes
        all texts on.
    """

    def __init__(
        self, names: Callable[..., Iterable[str]] = lambda *_: (), kind: str | None = None
    ) -> None:
        super().__init__(names)
        self._kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = super().convert(value, param, ctx)
        if self._kind and found not in self._names(ctx) and not (ctx and ctx.resilient_parsing):
            from .name_kinds import check_name

            check_name(found, self._kind, option_name(param))
        return found

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        found = super().shell_complete(ctx, param, incomplete)
        return found or [CompletionItem(incomplete, type="file")]


def _topology_names(*_: object) -> Iterable[str]:
    from perfmodel.topology.parse import topology_names

    return [name for name in topology_names() if name.islower()]  # leaves out mesh:COLUMNSxROWS


def _simulators(_context: object) -> Iterable[str]:
    from testbench.sim.simulator import SIMULATORS

    return (*SIMULATORS, "both")


def topologies_listing() -> str:
    """Return the help text for the values of a topology option."""
    from perfmodel.topology.parse import topology_names

    return f"{', '.join(topology_names())}, or YAML (also a network of ASTRA-sim)."


def workloads_listing() -> str:
    """Return the help text for the values of a workload option."""
    from perfmodel.workloads.workload import WORKLOADS

    return f"{', '.join(WORKLOADS)}, or YAML."


topology_name = NameOrFile(_topology_names, TOPOLOGY)
workload_name = NameOrFile(names_in("perfmodel.workloads.workload", "WORKLOADS"), WORKLOAD)
spec_name = NameOrFile(names_in("fred_hw.load", "PRESETS"))
spec_argument = click.argument("spec_source", metavar="SPEC", type=spec_name)
set_option = click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="KEY=VALUE",
    type=change_key,
    help="Change a field of the specification.",
)
only_option = click.option(
    "--only",
    "needs",
    type=InputPath(),
    metavar="FILE",
    help="Keep only what the strategies in FILE need, YAML like examples/strategies.yaml.",
)
seed_option = click.option(
    "--seed", type=IntegerFrom(1), default=1, show_default=True, help="Seed of all stimulus."
)
simulator_option = click.option(
    "--sim", "simulator", type=NameChoice(_simulators), default="verilator", show_default=True
)


def level_option(some: Callable[..., Iterable[str]] | None = None) -> Callable[[Any], Any]:
    """Return the option that selects a generator level, out of all or some."""

    def names(*_: object) -> list[str]:
        from gen.level import LEVELS

        return list(some() if some else LEVELS)

    def listing() -> str:
        from gen.level import LEVELS

        *others, last = (LEVELS[name].text for name in names())
        return f"What to generate: {', '.join(others)}, or {last}."

    return click.option(
        "--level",
        type=NameChoice(names),
        default="interconnect",
        show_default=True,
        cls=ListingOption,
        listing=listing,
    )


as_json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object instead."
)
control_option = click.option(
    "--control/--no-control",
    default=True,
    help="Trace nodes also wait for control dependencies, as in Chakra's FeederV3; its "
    "predecessor ignores them.  [default: control]",
)
csv_option = click.option(
    "--csv", "csv_file", type=OutputPath(), metavar="FILE", help="Write the table as CSV too."
)


topology_option, optional_topology_option = (
    click.option(
        "--topology",
        required=required,
        metavar="NAME|FILE",
        type=topology_name,
        cls=ListingOption,
        listing=topologies_listing,
    )
    for required in (True, False)
)
workload_option, optional_workload_option = (
    click.option(
        "--workload",
        required=required,
        metavar="NAME|FILE",
        type=workload_name,
        cls=ListingOption,
        listing=workloads_listing,
    )
    for required in (True, False)
)
protocol_option = click.option(
    "--protocol",
    type=NameChoice(names_in("perfmodel.switch_timing.record", "PROTOCOL_MODELS")),
    help="Cost of headers, CRC, acks and link layer: as co-simulated, or none. "
    "[default: measured, or as the file says]",
)
npu_option = click.option(
    "--npu",
    "npu_changes",
    multiple=True,
    metavar="KEY=VALUE",
    type=npu_key,
    help="Rate or memory of the NPUs: peak_flops, hbm_bytes_per_s, hbm_bytes, efficiency.matmul "
    "and other kinds of operators; may be given several times.",
)
memory_option = click.option(
    "--memory",
    type=InputPath(),
    metavar="FILE",
    help="Remote memory file: source of weights and input instead of the I/O controllers.",
)
size_option = click.option(
    "--size", default="1GiB", show_default=True, help="Size of the vector, such as 64MB or 1GiB."
)


def request_option(
    name: str, default: str | None = None, listing: Callable[[], str] | None = None
) -> Callable[[Any], Any]:
    """Return an option of a request, optionally with another default or help text."""
    option = OPTIONS[name]
    return click.option(
        f"--{name.replace('_', '-')}",
        name,
        default=default or option.default,
        show_default=True,
        metavar="NAME",
        type=option_value(name),
        cls=ListingOption,
        listing=listing or option.listing,
    )


def request_options(command: Any) -> Any:
    """Add every request option that takes a name."""
    for name in reversed(OPTIONS):
        command = request_option(name)(command)
    return command


def equal_terms_options(command: Any) -> Any:
    """Add the options that compare topologies with different NPUs."""
    command = click.option("--as-is", is_flag=True, help="Compare topologies whose NPUs differ.")(
        command
    )
    return click.option(
        "--npu-from",
        metavar="TOPOLOGY",
        type=topology_name,
        help="Give all topologies the NPUs of this one. Topologies whose NPUs differ are refused "
        "without this option and --as-is.",
    )(command)


collectives_name = NameChoice(names_in("fred_hw.wafer.program", "COLLECTIVES"))
_modes = NameChoice(names_in("perfmodel.workloads.file", "MODES"))
mode_option = click.option(
    "--mode", type=_modes, help="Weights stay on the wafer, or are streamed."
)
_schedules = NameChoice(names_in("perfmodel.workloads.pipeline_schedule", "SCHEDULES"))
schedule_option = click.option("--schedule", type=_schedules, help="Pipeline schedule.")

TRAINING_OPTIONS = (
    "topology",
    "workload",
    "strategy",
    *OPTIONS,
    "microbatches",
    "samples",
    "least_npus",
    "best",
    "cp",
    "ep",
    "npu_from",
)
"""Error fields of lower packages that are options with the same name."""

EQUAL_TERMS = "--npu-from or --as-is"
"""Names in error messages of the ways to compare topologies with different NPUs."""


def refuse_given(*names: str, message: str) -> None:
    """Fail if any of the parameters was given on the command line."""
    from fred_hw.errors import InputError

    context = click.get_current_context()
    options = {param.name: param.opts[-1] for param in context.command.params}
    for name in names:
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise InputError(context.command.name or "", options[name], message)


def read_spec(
    source: str,
    changes: tuple[str, ...],
    load: Callable[..., Any] | None = None,
    kind: str = SWITCH,
) -> Any:
    """Return the specification named on the command line, with its ``--set`` changes.

    It is that of a switch, unless ``load`` reads another ``kind``.
    """
    from fred_hw.load import PRESETS, load_spec, parse_change

    from .name_kinds import check_name

    if not find_choice(source, PRESETS):  # load refuses a preset where it reads another kind
        check_name(source, kind)
    return (load or load_spec)(source, dict(parse_change(change) for change in changes))


def read_pruned(
    source: str, changes: tuple[str, ...], needs: Path | None, level: str | None = None
) -> Any:
    """Return the specification of a level or a switch, pruned to what ``needs`` need."""
    from fred_hw.errors import InputError
    from gen.level import LEVELS

    what = LEVELS[level or "interconnect"]
    spec = read_spec(source, changes, what.load, what.model.file_kind)
    if level is None and spec.network != "fred":
        what = LEVELS["switch"]
    if needs is not None:
        from fred_hw.pruning import prune, read_needs

        if not what.prunes:
            message = f"must be given with --level interconnect, not {level or spec.network}"
            raise InputError("--only", "", message)
        if spec.only is not None:
            raise InputError(source, "only", "must be left out with --only")
        spec = prune(spec, read_needs(needs, spec), str(needs))
    what.check(spec, source)
    return spec


def read_npu(changes: tuple[str, ...]) -> dict[str, Any]:
    """Return NPU rates from the command line in the form ``Topology.with_npu`` takes."""
    from fred_hw.errors import InputError
    from fred_hw.files import validate
    from fred_hw.load import changed, parse_change
    from perfmodel.topology.files import NpuEntry

    data: dict[str, Any] = {}
    for change in changes:
        key, value = parse_change(change, "--npu")
        if value is None:
            raise InputError("--npu", key, "must be a value, not left out")
        data = changed(data, key.split("."), value)
    return validate(NpuEntry, data, "--npu").rates
