"""System files of ASTRA-sim: collective algorithms and NPU capabilities."""

import re
import warnings
from collections.abc import Mapping, Sequence
from math import prod
from operator import methodcaller
from pathlib import Path
from typing import Annotated, Literal, cast

from pydantic import Field, PrivateAttr

from fred_hw.choices import find_choice
from fred_hw.errors import InputError, InputWarning
from fred_hw.file_kinds import SYSTEM
from fred_hw.files import Check, FileModel, int_range, load_model, number_range, one_of, refused
from fred_hw.reading import read_data
from perfmodel.collectives.themis.plan import GAP_DENOMINATOR
from tracemodel.chakra.traces import find_traces

__all__ = ["COLLECTIVES", "ORDERS", "SystemFile", "load_system"]

COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
"""Collectives that a system file has an implementation for."""

ORDERS = {
    "baseline": "dimension_order",
    "roundRobin": "round_robin",
    "themis": "themis",
    "themisFlex": "themis_flex",
}
"""Orders of a chunk's dimensions, and their names in ``perfmodel.collectives.themis``."""

_WINDOWED = ("direct", "oneDirect")
_ALGORITHMS = ("ring", "oneRing", "halvingDoubling", "oneHalvingDoubling", "doubleBinaryTree")
_WINDOW = "[1-9][0-9]{0,4}"
_IMPLEMENTATION = rf"{'|'.join(_ALGORITHMS)}|({'|'.join(_WINDOWED)})({_WINDOW})?"


def _implementation(value: object) -> object:
    """Return the name of an algorithm as ASTRA-sim spells it, given in any letter case."""
    if isinstance(value, str):
        if name := find_choice(value, (*_ALGORITHMS, *_WINDOWED)):
            return name
        parts = re.fullmatch(f"(.*?)({_WINDOW})", value)
        if parts and (name := find_choice(parts[1], _WINDOWED)):
            return f"{name}{parts[2]}"
    raise refused(
        "must be one of ring, direct, halvingDoubling, doubleBinaryTree, oneRing, oneDirect, "
        f"oneHalvingDoubling, or direct with a window as direct4, not {value!r}"
    )


_Implementation = Annotated[
    str,
    Check(_implementation, schema=lambda: {"type": "string", "pattern": f"^({_IMPLEMENTATION})$"}),
]
_Implementations = Annotated[list[_Implementation], Field(min_length=1)] | None
_Prefix = (
    Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1, max_length=1)] | None
)
_Switch = Annotated[int, int_range(0, 1)]

_WITHOUT_EFFECT = (
    "bus_latency",
    "bus_overhead",
    "bus_gap",
    "bus_gap_per_byte",
    "local_reduction_delay",
    "boost_mode",
    "trace_enabled",
    "track_local_mem",
    "local_mem_trace_filename",
    "frequency",
)
"""Fields that ASTRA-sim's files contain and that have no effect here."""


def _or_zero(minimum: float, maximum: float) -> Check:
    """Check of a number field in which 0 stands for none."""
    number = number_range(minimum, maximum)

    def check(value: object) -> object:
        is_zero = isinstance(value, int | float) and not isinstance(value, bool) and value == 0
        return None if is_zero else number.func(value)  # type: ignore[call-arg, arg-type]

    return Check(check, schema=lambda: {"anyOf": [{"const": 0}, *number.schema()["anyOf"]]})


class SystemFile(FileModel, alias_generator=methodcaller("replace", "_", "-")):
    """How collectives are executed, and the capabilities of an NPU.

    Parameters
    ----------
    scheduling-policy : str
        Order of chunks that wait for a dimension, by the priority of their collective. No effect,
        because an NPU executes one collective at a time.
    collective-optimization : str
        All-reduces over several dimensions: of the full size in each dimension (`baseline`), or as
        reduce-scatters inwards and all-gathers back (`localBWAware`).
    inter-dimension-scheduling : str
        Order in which each chunk of an all-reduce, a reduce-scatter or an all-gather goes through
        the dimensions: the innermost first (`baseline`), each in turn first (`roundRobin`), or the
        one with the least load so far (`themis`, and `themisFlex` with chunks as large as the gap
        between loads).
    intra-dimension-scheduling : str
        Order of chunks that wait for a dimension: first come, first served (`FIFO`), or the
        smallest first (`SCF`).
    gap-denominator : int
        `themis` takes the order of `baseline` if a chunk smaller than usual by this factor would
        fill the gap between loads.
    all-reduce-implementation : list of str
        Algorithm of all-reduces in each dimension. An algorithm that begins with `one` is for all
        NPUs at once and must be the only one. `direct4` has 4 messages in flight at a time.
    all-gather-implementation : list of str
        Algorithm of all-gathers in each dimension.
    reduce-scatter-implementation : list of str
        Algorithm of reduce-scatters in each dimension.
    all-to-all-implementation : list of str
        Algorithm of all-to-alls in each dimension.
    all-reduce-implementation-custom : list of str
        Prefix of traces with the sends, receives and additions of each NPU in an all-reduce:
        `PREFIX.PLACE.et`, relative to the working folder, or in a study to the folder of the study
        file. It has priority over algorithms.
    all-gather-implementation-custom : list of str
        Prefix of such traces for all-gathers.
    reduce-scatter-implementation-custom : list of str
        Prefix of such traces for reduce-scatters.
    all-to-all-implementation-custom : list of str
        Prefix of such traces for all-to-alls.
    per-node-custom-implementation : str
        File with prefixes of such traces by the numbers of nodes, all relative to the same folder.
        It has priority over all keys above.
    preferred-dataset-splits : int
        Chunks of a collective; each passes the dimensions separately.
    active-chunks-per-dimension : int
        Chunks that a dimension works on at a time.
    endpoint-delay : int
        Delay of an NPU before each message and after the last [ns]; 10 in groups of some NPUs.
    local-mem-bw : float
        Bandwidth of an NPU's memory [10^9 B/s]. Without it, and with 0, local memory is not
        modelled and reductions take no time.
    peak-perf : float
        Peak of an NPU [10^12 operations per second].
    roofline-enabled : int
        1 for compute times from a roofline of `peak-perf` and `local-mem-bw`, 0 for the durations
        in the trace.
    replay-only : int
        1 for the durations in the trace for all nodes, communication included.
    model-shared-bus : int
        Must be 0; the bus between NPU and network is not modelled.
    L : float
        Latency of that bus; no effect.
    o : float
        Overhead of that bus; no effect.
    g : float
        Gap of that bus; no effect.
    G : float
        Gap per byte of that bus; no effect.
    local-reduction-delay : int
        Time of a reduction [ns]; no effect, because `local-mem-bw` determines it.
    boost-mode : int
        No effect.
    trace-enabled : int
        1 to log each event; no effect.
    track-local-mem : int
        1 to record the memory use of an NPU; no effect.
    local-mem-trace-filename : str
        File of the record of memory use; no effect.
    frequency : float
        Clock of an NPU for energy estimates; no effect.
    """

    file_kind = SYSTEM

    scheduling_policy: Annotated[str, one_of("LIFO", "FIFO", "EXPLICIT")] = "LIFO"
    collective_optimization: Annotated[str, one_of("baseline", "localBWAware")] = "baseline"
    inter_dimension_scheduling: Annotated[str, one_of(*ORDERS)] = "baseline"
    intra_dimension_scheduling: Annotated[str, one_of("FIFO", "SCF")] = "FIFO"
    gap_denominator: Annotated[int, int_range(1, 1 << 30)] = GAP_DENOMINATOR
    all_reduce: Annotated[_Implementations, Field(alias="all-reduce-implementation")] = None
    all_gather: Annotated[_Implementations, Field(alias="all-gather-implementation")] = None
    reduce_scatter: Annotated[_Implementations, Field(alias="reduce-scatter-implementation")] = None
    all_to_all: Annotated[_Implementations, Field(alias="all-to-all-implementation")] = None
    all_reduce_custom: Annotated[
        _Prefix, Field(alias="all-reduce-implementation-custom", examples=[["build/ring"]])
    ] = None
    all_gather_custom: Annotated[
        _Prefix, Field(alias="all-gather-implementation-custom", examples=[["build/gather"]])
    ] = None
    reduce_scatter_custom: Annotated[
        _Prefix, Field(alias="reduce-scatter-implementation-custom", examples=[["build/scatter"]])
    ] = None
    all_to_all_custom: Annotated[
        _Prefix, Field(alias="all-to-all-implementation-custom", examples=[["build/exchange"]])
    ] = None
    per_node: Annotated[
        str | None,
        Field(alias="per-node-custom-implementation", min_length=1, examples=["build/nodes.yaml"]),
    ] = None
    splits: Annotated[int, int_range(1, 1024), Field(alias="preferred-dataset-splits")] = 1
    active_chunks: Annotated[
        int, int_range(1, 1024), Field(alias="active-chunks-per-dimension")
    ] = 1
    endpoint_delay: Annotated[int, int_range(0, 10**9)] = 10
    local_mem_bw: Annotated[float | None, _or_zero(1e-6, 1e15)] = None
    peak_perf: Annotated[float | None, number_range(1e-9, 1e12)] = None
    roofline_enabled: _Switch = 0
    replay_only: _Switch = 0
    model_shared_bus: Annotated[Literal[0], int_range(0, 0)] = 0
    bus_latency: Annotated[float, number_range(0, 1e12), Field(alias="L")] = 0
    bus_overhead: Annotated[float, number_range(0, 1e12), Field(alias="o")] = 0
    bus_gap: Annotated[float, number_range(0, 1e12), Field(alias="g")] = 0
    bus_gap_per_byte: Annotated[float, number_range(0, 1e12), Field(alias="G")] = 0
    local_reduction_delay: Annotated[int, int_range(0, 10**9)] = 1
    boost_mode: _Switch = 0
    trace_enabled: _Switch = 0
    track_local_mem: _Switch = 0
    local_mem_trace_filename: Annotated[str | None, Field(examples=["local_mem_trace"])] = None
    frequency: Annotated[float | None, number_range(0, 1e15), Field(examples=[1000])] = None

    _base: Path | None = PrivateAttr(default=None)
    _prefixes: dict[int, str] = PrivateAttr(default_factory=dict[int, str])

    def find_custom(self, source: str, base: Path | None) -> None:
        """Find the traces of custom collectives.

        Parameters
        ----------
        source : str
            The file, for errors.
        base : Path or None
            Folder that relative paths start from; None is the working directory.

        Raises
        ------
        InputError
            A prefix has no traces, or the file with the prefixes of nodes is bad.
        """
        self._base = base
        for name in COLLECTIVES:
            if prefix := self.custom(name):
                field = f"{name.replace('_', '-')}-implementation-custom.0"
                _check_prefix(prefix, source, field)
        if self.per_node:
            self._prefixes = _node_prefixes(self.per_node, source, base)

    @property
    def custom_files(self) -> list[Path]:
        """The traces of all custom collectives, and the file with the prefixes of nodes."""
        prefixes = [*filter(None, map(self.custom, COLLECTIVES)), *self._prefixes.values()]
        files = [path for one in dict.fromkeys(prefixes) for path in find_traces(one)]
        return [*files, Path(_from(self._base, self.per_node))] if self.per_node else files

    def roofline_ns(self, operations: int, moved_bytes: int) -> int:
        """Return the duration of compute, from the roofline (``Workload::issue_comp``) [ns].

        Parameters
        ----------
        operations, moved_bytes : int
            Operations, and bytes from or to memory, above 0.
        """
        assert self.local_mem_bw is not None and self.peak_perf is not None
        if not operations:
            return 0
        bandwidth, peak = self.local_mem_bw * 1_000_000_000, self.peak_perf * 1_000_000_000_000
        rate = min(bandwidth * (operations / moved_bytes), peak)
        return int(operations / rate * 1e9)

    def custom(self, collective: str, node: int | None = None) -> str | None:
        """Return the prefix of the traces that define a custom collective, if there are any.

        Parameters
        ----------
        collective : str
            Kind of the collective.
        node : int or None
            Number of its node; None for collectives without traces of their own.
        """
        if node in self._prefixes and f"{collective}_custom" in type(self).model_fields:
            return self._prefixes[node]
        given: list[str] | None = getattr(self, f"{collective}_custom", None)
        return _from(self._base, given[0]) if given else None

    def implementation(self, collective: str, sizes: Sequence[int], source: str) -> list[str]:
        """Return the algorithm of a collective in each dimension, or one for all NPUs.

        Parameters
        ----------
        collective : str
            Collective, one of ``COLLECTIVES``, or a broadcast or reduce, which are chains.
        sizes : sequence of int
            NPUs in a line of each dimension.
        source : str
            The file, for errors.

        Raises
        ------
        InputError
            No algorithm is given, their number is not that of dimensions, or one does not fit.
        """
        if collective in ("broadcast", "reduce"):
            return ["chain"] * len(sizes)
        field = f"{collective.replace('_', '-')}-implementation"
        given: list[str] | None = getattr(self, collective)
        if given is None:
            raise InputError(source, field, "is required by the workload and was not given")
        if any(one.startswith("one") for one in given):
            if len(given) != 1:
                message = f"must be {given[0]!r} alone, or one algorithm for each dimension"
                raise InputError(source, field, f"{message}, not {given!r}")
            sizes = [prod(sizes)]
        elif len(given) != len(sizes):
            message = f"must have an entry for each of the {len(sizes)} dimensions, not {given!r}"
            raise InputError(source, field, message)
        for number, (name, size) in enumerate(zip(given, sizes, strict=True)):
            inner = collective == "all_reduce" and self.collective_optimization == "localBWAware"
            only_sums = inner and number < len(sizes) - 1
            self._check_fit(name, size, collective, source, f"{field}.{number}", only_sums)
        return given

    def _check_fit(
        self, name: str, size: int, collective: str, source: str, field: str, inner: bool
    ) -> None:
        """Fail unless an algorithm can run a collective on a number of NPUs."""
        tree, halving = name == "doubleBinaryTree", name.lower().endswith("halvingdoubling")
        if (tree or halving) and size & (size - 1):
            message = f"must be on a power of two of NPUs for {name}, not on {size}"
            raise InputError(source, field, message)
        if tree and (collective != "all_reduce" or inner):
            message = "must be for all-reduces, and with localBWAware only in the last dimension"
            raise InputError(source, field, f"{name} {message}, not here")
        if halving and collective == "all_to_all":
            raise InputError(source, field, f"must be ring or direct, not {name}")


def load_system(path: Path, base: Path | None = None) -> SystemFile:
    """Return the system of a file: JSON if the file name ends in ``.json``, else YAML.

    Parameters
    ----------
    path : Path
        The file.
    base : Path or None
        Folder that relative paths of custom collectives start from; None is the working directory.

    Raises
    ------
    InputError
        The file is unreadable, or a key is unknown, missing or has a value that is not allowed.

    Warns
    -----
    InputWarning
        Keys ask for something that is not modelled.
    """
    found = load_model(SystemFile, path)
    if found.roofline_enabled:
        rates = {"local-mem-bw": found.local_mem_bw, "peak-perf": found.peak_perf}
        for key, value in rates.items():
            if value is None:
                message = "must be given and above 0 with roofline-enabled 1"
                raise InputError(str(path), key, message)
    _warn_of_no_effect(found, str(path))
    found.find_custom(str(path), base)
    return found


def _from(base: Path | None, name: str) -> str:
    """Return a path or a prefix that starts from a folder; None is the working directory."""
    return str(base / name) if base else name


def _warn_of_no_effect(system: SystemFile, source: str) -> None:
    """Warn once, in one line, about all keys that request something that is not modelled."""
    fields = type(system).model_fields
    asked = [
        str(fields[name].alias)
        for name in _WITHOUT_EFFECT
        if getattr(system, name) != fields[name].default
    ]
    if asked:
        verb = "has" if len(asked) == 1 else "have"
        warnings.warn(f"{source}: {', '.join(asked)}: {verb} no effect", InputWarning, stacklevel=1)


def _check_prefix(prefix: str, source: str, field: str) -> None:
    """Fail unless a prefix has traces; the error names the file that contains the prefix."""
    try:
        find_traces(prefix)
    except InputError as error:
        where = "" if error.source == prefix else f"{error.source}: "
        raise InputError(source, field, f"{where}{error.message}") from None


def _node_prefixes(name: str, source: str, base: Path | None) -> dict[int, str]:
    """Return the prefixes of traces, keyed by node number."""
    path = Path(_from(base, name))
    if not path.is_file():
        message = f"must be an existing file, not {name!r:.60}"
        raise InputError(source, "per-node-custom-implementation", message)
    data: object = read_data(path)
    if not isinstance(data, Mapping):
        raise InputError(name, "", f"must be a mapping of nodes to prefixes, not {data!r:.60}")
    found: dict[int, str] = {}
    for key, prefix in cast("Mapping[object, object]", data).items():
        text = str(key)
        if isinstance(key, bool) or not re.fullmatch(r"0|[1-9][0-9]{0,18}", text):
            raise InputError(name, "", f"nodes must be numbers from 0 up, not {key!r:.60}")
        if not isinstance(prefix, str) or not prefix:
            raise InputError(name, text, f"must be a prefix of traces, not {prefix!r:.60}")
        found[int(text)] = _from(base, prefix)
        _check_prefix(found[int(text)], name, text)
    return found
