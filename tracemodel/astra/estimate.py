"""Estimates of traces on one or several networks, for one or several jobs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fred_hw.errors import InputError
from perfmodel.run_figures import Figures, Times
from perfmodel.switch_timing.provenance import Provenance
from perfmodel.training.energy import EnergyTable, read_energy
from perfmodel.training.options import OPTIONS
from tracemodel.chakra.exported import Exported, ExportedRun, load_exported, run_exported
from tracemodel.chakra.traces import find_traces
from tracemodel.rank_times import RankTimes, times_of

from .details import TraceDetails, trace_details
from .engine.bound import FasterThanLinks
from .engine.job import Job
from .engine.record import Record, Span
from .engine.repeated import Ran, run_jobs
from .engine.setup import Setup, load_setup
from .engine.trace import Trace, check_count, load_traces, process_groups
from .files.groups import NO_GROUPS, check_members, load_groups
from .files.system import COLLECTIVES, SystemFile, load_system
from .traffic import Traffic

if TYPE_CHECKING:
    from perfmodel.network.roce.parameters import RoceFile
    from perfmodel.switch_timing.record import ProtocolModel

__all__ = ["Inputs", "JobRequest", "JobTimes", "TraceEstimate", "estimate_jobs", "estimate_traces"]

_AS_ITERATION = "traces that were exported from an iteration are run as its tasks"


@dataclass(frozen=True)
class Inputs:
    """Files and options that are the same for all networks.

    Parameters
    ----------
    system : Path
        System file.
    memory : Path or None
        Remote memory file; None for no such memory.
    groups : tuple of Path
        Communicator groups file, or one for each job; none for the process groups that metadata
        nodes of the traces list.
    model : str
        Network model, one of ``tracemodel.astra.transport.NETWORK_MODELS``, or ``roce``.
    protocol, algorithm : str
        Protocol and algorithm of built-in fabrics.
    symmetry : bool
        Whether identical work of NPUs is simulated once.
    repeats : bool
        Whether periods of traces are left out that are sure to take as long as those before.
    queues : int
        Queues of each dimension of networks of ASTRA-sim.
    control : bool
        Whether control dependencies count, as in Chakra's FeederV3, or only data dependencies.
    details : bool
        Whether collectives, links and the use of compute are reported too, of a single workload.
        All nodes of all ranks are run then, also of traces that were exported from an iteration.
    energy : str
        Name or file of the energy table.
    roce : RoceFile or None
        Parameters of network model roce; None for the defaults.
    base : Path or None
        Folder that relative paths of networks and custom collectives start from; None is the
        working directory.
    """

    system: Path
    memory: Path | None = None
    groups: tuple[Path, ...] = ()
    model: str = "fluid"
    protocol: "ProtocolModel | None" = None
    algorithm: str = "published"
    symmetry: bool = True
    repeats: bool = True
    queues: int = 1
    control: bool = True
    details: bool = False
    energy: str = OPTIONS["energy"].default
    roce: "RoceFile | None" = None
    base: Path | None = None


@dataclass(frozen=True)
class JobRequest:
    """A job: traces ``PREFIX.RANK.et``, the NPU of each rank, and its priority."""

    prefix: str
    npus: tuple[int, ...]
    priority: int = 0


@dataclass(frozen=True)
class JobTimes:
    """Times of one job that runs with other jobs.

    Parameters
    ----------
    job : str
        Prefix of the traces of the job.
    npus : tuple of int
        NPU of each rank.
    priority : int
        Priority on links; a lower number goes first.
    total_ns, alone_ns : int
        Time from the start to the end of the job, with the other jobs and without them [ns].
    ranks : tuple of RankTimes
        Time of each rank by activity, with the other jobs.
    """

    job: str
    npus: tuple[int, ...]
    priority: int
    total_ns: int
    alone_ns: int
    ranks: tuple[RankTimes, ...]

    @property
    def slowdown(self) -> float:
        """Factor by which the other jobs slow this job down."""
        return self.total_ns / self.alone_ns if self.alone_ns else 1.0


@dataclass(frozen=True)
class TraceEstimate(Figures):
    """Estimate of traces on one network; energy, utilization and bytes as in ``Figures``.

    Parameters
    ----------
    workload, network, network_model : str
        Names of the workload, the network and its model.
    total_ns : int
        Time to the end of the last rank [ns].
    ranks : tuple of RankTimes
        Time of each rank by activity; empty with several jobs.
    faster_than_links : FasterThanLinks or None
        Collectives that the model makes faster than links allow; None without any.
    provenance : Provenance
        Provenance of built-in fabrics.
    jobs : tuple of JobTimes
        Times of several jobs.
    details : TraceDetails or None
        Collectives, links and the use of compute, if requested.
    spans : tuple of Span
        All nodes in the order in which they end, if details are requested.
    congestion : mapping
        Pauses, marks, queues and rates by names in JSON; only with network model roce.
    """

    workload: str
    network: str
    network_model: str
    total_ns: int
    ranks: tuple[RankTimes, ...]
    faster_than_links: FasterThanLinks | None
    provenance: Provenance
    jobs: tuple[JobTimes, ...] = ()
    details: TraceDetails | None = None
    spans: tuple[Span, ...] = ()
    congestion: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def times(self) -> Times:
        ranks = self.ranks or [one for job in self.jobs for one in job.ranks]
        return max(ranks, key=lambda rank: rank.total_ns).times


def estimate_traces(workload: str, networks: Sequence[str], inputs: Inputs) -> list[TraceEstimate]:
    """Return the time of traces by activity on each network.

    Parameters
    ----------
    workload : str
        Prefix of the traces.
    networks : sequence of str
        Network files of ASTRA-sim, topology files, or names such as ``fred-d``.
    inputs : Inputs
        Files and options that are the same for all networks.

    Raises
    ------
    InputError
        A file is bad, they do not go together, or the traces cannot be run.
    """
    table, groups = read_energy(inputs.energy), inputs.groups[0] if inputs.groups else None
    setups = [_setup(name, inputs, groups) for name in networks]
    ranks = len(find_traces(workload))
    for setup in setups:
        check_count(workload, ranks, setup.network.npus, fewer=setup.fabric is not None)
        check_members(setup.groups, ranks, setup.groups_source)
    traces: list[Trace] | None = None
    by_tasks = inputs.model == "fluid" and not inputs.details
    able = [by_tasks and _runs_iterations(setup) for setup in setups]
    exported = load_exported(workload, setups[able.index(True)].groups) if any(able) else None
    found: list[TraceEstimate] = []
    for name, setup, iteration in zip(networks, setups, able, strict=True):
        ours = _iteration(exported, setup, inputs) if exported and iteration else None
        if ours:
            found.append(_estimate_iteration(workload, name, setup, inputs, ours, table))
            continue
        npus, fewer = setup.network.npus, setup.fabric is not None
        if traces is None:
            traces = load_traces(workload, npus, setup.system, fewer=fewer, control=inputs.control)
        setup.memory.check_npus(len(traces), str(inputs.memory))
        groups_of = (setup.groups if groups else process_groups(traces)), setup.groups_source
        job = Job(traces, tuple(range(len(traces))), *groups_of)
        record = Record() if inputs.details else None
        ran = _run([job], setup, inputs, record)
        total_ns = max(one.total_ns for one in ran.times)
        said = (name, inputs.model, total_ns, ran.times, ran.faster, _provenance(setup, inputs))
        traffic, spans = Traffic([job], setup, inputs.model), tuple(record.spans if record else ())
        more: dict[str, Any] = traffic.figures(table, 1e-9 * total_ns).shared
        if record:
            more["details"] = trace_details(spans, job, setup.system, traffic, total_ns)
        found.append(TraceEstimate(workload, *said, spans=spans, congestion=ran.figures, **more))
    return found


def estimate_jobs(
    requests: Sequence[JobRequest], networks: Sequence[str], inputs: Inputs
) -> list[TraceEstimate]:
    """Return the end of each job on each network, together with the others and alone.

    Raises
    ------
    InputError
        As for :func:`estimate_traces`, NPUs of jobs are not there or not their own, or one has a
        priority in a model that has none.
    """
    system, table = load_system(inputs.system, inputs.base), read_energy(inputs.energy)
    if len(inputs.groups) not in (0, 1, len(requests)):
        message = f"must be given once or once for each of {len(requests)} jobs"
        raise InputError("--groups", "", f"{message}, not {len(inputs.groups)} times")
    if inputs.model != "fluid" and any(one.priority for one in requests):
        message = f"must have no priority with network model {inputs.model}, whose links know none"
        raise InputError("--job", "", message)
    files: Sequence[Path | None] = inputs.groups or (None,)
    files = [files[number % len(files)] for number in range(len(requests))]
    jobs = [
        _job(one, path, system, inputs.control) for one, path in zip(requests, files, strict=True)
    ]
    found: list[TraceEstimate] = []
    for name in networks:
        setup = _setup(name, inputs, None)
        _check_places(requests, setup.network.npus)
        setup.memory.check_npus(1 + max(max(one.npus) for one in requests), str(inputs.memory))
        ran = _run(jobs, setup, inputs)
        together = list(ran.times)
        said: list[JobTimes] = []
        for request, job in zip(requests, jobs, strict=True):
            own = tuple(together[: len(job.traces)])
            del together[: len(job.traces)]
            alone = _run([job], setup, inputs).times
            ends = [max(one.total_ns for one in times) for times in (own, alone)]
            said.append(JobTimes(job.name, job.npus, request.priority, ends[0], ends[1], own))
        end_ns = max(one.total_ns for one in said)
        names = " and ".join(one.job for one in said)
        more = (name, inputs.model, end_ns, (), ran.faster, _provenance(setup, inputs))
        moved = Traffic(jobs, setup, inputs.model).figures(table, 1e-9 * end_ns).shared
        found.append(TraceEstimate(names, *more, jobs=tuple(said), congestion=ran.figures, **moved))
    return found


def _runs_iterations(setup: Setup) -> bool:
    """Return whether iterations run as tasks: on a built-in fabric, without replay."""
    system = setup.system
    other = system.replay_only or system.per_node
    custom = any(map(system.custom, COLLECTIVES))
    return bool(setup.fabric) and not (other or custom)


def _iteration(exported: Exported, setup: Setup, inputs: Inputs) -> ExportedRun | None:
    """Return the run of an iteration; None if its traces have to run like any others."""
    fabric = setup.fabric
    assert fabric
    memory = None if setup.memory.remote_mem_bw is None else setup.memory
    if memory:
        memory.check_npus(len(exported.ranks), str(inputs.memory))
    roofline_ns = setup.system.roofline_ns if setup.system.roofline_enabled else None
    return run_exported(exported, fabric, inputs.algorithm, memory, roofline_ns)


def _estimate_iteration(
    workload: str,
    network: str,
    setup: Setup,
    inputs: Inputs,
    run: ExportedRun,
    table: EnergyTable,
) -> TraceEstimate:
    """Return the time of an iteration by activity."""
    times: list[RankTimes] = []
    for rank, spans in enumerate(run.spans):
        compute, other, moved = ([(round(1e9 * a), round(1e9 * b)) for a, b in s] for s in spans)
        total_ns = max((end for _, end in (*compute, *other, *moved)), default=0)
        times.append(times_of(rank, total_ns, compute, other))
    total_ns = max(one.total_ns for one in times)
    said = _provenance(setup, inputs).plus(*run.assumptions, _AS_ITERATION)
    more = (network, "fluid", total_ns, tuple(times), None, said)
    return TraceEstimate(workload, *more, **run.figures(table, 1e-9 * total_ns).shared)


def _run(jobs: Sequence[Job], setup: Setup, inputs: Inputs, record: Record | None = None) -> Ran:
    how = {"symmetry": inputs.symmetry, "repeats": inputs.repeats}
    return run_jobs(jobs, setup, inputs.model, **how, record=record)


def _setup(name: str, inputs: Inputs, groups: Path | None) -> Setup:
    return load_setup(
        name,
        inputs.system,
        inputs.memory,
        groups,
        model=inputs.model,
        protocol=inputs.protocol,
        algorithm=inputs.algorithm,
        queues=inputs.queues,
        control=inputs.control,
        roce=inputs.roce,
        base=inputs.base,
    )


def _job(request: JobRequest, path: Path | None, system: SystemFile, control: bool) -> Job:
    """Return a job with its traces and groups loaded."""
    traces = load_traces(request.prefix, None, system, control=control)
    if len(traces) != len(request.npus):
        message = f"must be an NPU for each of the {len(traces)} ranks of {request.prefix}"
        raise InputError("--job", "", f"{message}, not {len(request.npus)}")
    groups = load_groups(path) if path else process_groups(traces)
    check_members(groups, len(traces), str(path))
    source = str(path) if path else NO_GROUPS
    return Job(traces, request.npus, groups, source, request.priority, request.prefix)


def _check_places(requests: Sequence[JobRequest], npus: int) -> None:
    """Fail unless each NPU exists and has at most one rank."""
    taken: set[int] = set()
    for one in requests:
        for npu in one.npus:
            if npu >= npus:
                message = f"must be on NPUs 0 to {npus - 1} of the network, not {npu}"
                raise InputError("--job", "", message)
            if npu in taken:
                raise InputError("--job", "", f"must have NPUs of its own, not {npu} again")
            taken.add(npu)


def _provenance(setup: Setup, inputs: Inputs) -> Provenance:
    """Return the records and assumptions of a network's fabrics and of the network model."""
    found = Provenance()
    for fabric in setup.network.fabrics:
        one = fabric.provenance
        records = (*found.records, *one.records)
        assumptions = dict.fromkeys((*found.assumptions, *one.assumptions))
        found = Provenance(records, tuple(assumptions))
    if inputs.model == "roce":
        from perfmodel.network.roce.parameters import RoceFile

        found = found.plus(*(inputs.roce or RoceFile()).assumptions)
    return found
