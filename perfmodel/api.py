"""Python interface of `fred estimate`, `compare`, `strategies` and `collective`."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from fred_hw.errors import InputError
from fred_hw.files import validate
from fred_hw.optional import needed
from fred_hw.reading import SUFFIXES
from perfmodel.figures import figures_of
from perfmodel.memory.file import load_tier
from perfmodel.network.run import CollectiveResult, run_collective
from perfmodel.switch_timing.record import ProtocolModel
from perfmodel.topology.files import NpuEntry
from perfmodel.topology.graph import Topology
from perfmodel.topology.parse import parse_topology
from perfmodel.training import estimate as training
from perfmodel.training.equal_terms import on_equal_terms
from perfmodel.training.estimate import Estimate
from perfmodel.training.request import Request
from perfmodel.training.strategies import feasible, sweep
from perfmodel.workloads.workload import Workload, load_workload, with_batch

__all__ = ["Study", "Wafer", "compare", "to_dataframe"]


@dataclass(frozen=True)
class Wafer:
    """A wafer or a cluster to train on.

    Parameters
    ----------
    topology : Topology
        Its NPUs, switches and links.
    """

    topology: Topology

    @classmethod
    def from_yaml(cls, path: str | Path, protocol: ProtocolModel | None = None) -> Self:
        """Return the wafer of a YAML file; docs/reference/yaml-keys.md has its keys.

        Parameters
        ----------
        path : str or Path
            The file, whose name ends in ``.yaml``, ``.yml`` or ``.json``.
        protocol : str or None
            ``measured`` or ``ideal``; what the file says if None.

        Raises
        ------
        InputError
            The file is unreadable, or a key is unknown, missing or has a value that is not allowed.
        """
        if Path(path).suffix not in SUFFIXES:
            raise InputError(str(path), "", "must be a path ending in .yaml")
        return cls(parse_topology(str(path), protocol))

    @classmethod
    def named(cls, name: str, protocol: ProtocolModel | None = None) -> Self:
        """Return the wafer of a name: ``mesh:5x4`` (columns x rows) or ``fred-a`` to ``fred-d``.

        Raises
        ------
        InputError
            There is no such wafer.
        """
        return cls(parse_topology(name, protocol))

    @property
    def npus(self) -> int:
        """Number of NPUs."""
        return self.topology.npus

    def with_npu(self, **rates: object) -> Self:
        """Return the wafer with other NPUs: the keys of ``npu`` in a YAML file.

        ``with_npu(peak_flops=312e12, efficiency={"matmul": 0.6})`` leaves the rest as it was.

        Raises
        ------
        InputError
            A key is unknown, or a value not allowed.
        """
        entry = validate(NpuEntry, rates, "npu")
        return type(self)(self.topology.with_npu(entry.rates))

    def request(
        self,
        workload: str | Path | Workload,
        strategy: str | None = None,
        *,
        memory: str | Path | None = None,
        **options: Any,
    ) -> Request:
        """Return the request for a training iteration; arguments as for :meth:`estimate`."""
        tier = load_tier(Path(memory), self.npus) if memory else None
        return Request.of(self.topology, _workload(workload), strategy, memory=tier, **options)

    def estimate(
        self,
        workload: str | Path | Workload,
        strategy: str | None = None,
        *,
        memory: str | Path | None = None,
        **options: Any,
    ) -> Estimate:
        """Estimate one training iteration.

        Parameters
        ----------
        workload : str or Path or Workload
            Name of a shipped one, a YAML file, or what ``load_workload`` returned.
        strategy : str or None
            Such as ``MP2-DP5-PP2``; that of the workload if None.
        memory : str or Path or None
            File of a remote memory.
        **options : str
            Options of `fred estimate` that take a name: ``compute``, ``algorithm``, ``placement``,
            ``network_model``.

        Raises
        ------
        InputError
            A name or a file is bad, or values do not go together or do not fit.
        """
        return training.estimate(self.request(workload, strategy, memory=memory, **options))

    def strategies(
        self,
        workload: str | Path | Workload,
        samples: int | None = None,
        least_npus: int | None = None,
        *,
        memory: str | Path | None = None,
        cp: Sequence[int] = (1,),
        ep: Sequence[int] = (1,),
        sp: bool = False,
        **options: Any,
    ) -> "Study":
        """Estimate every strategy of a workload whose weights fit, fastest per sample first.

        Those whose activations do not fit the memory, even if recomputed, come last.

        Parameters
        ----------
        workload, memory : str or Path or Workload
            See :meth:`estimate`.
        samples : int or None
            In an iteration, for each replica; those of the workload if None.
        least_npus : int or None
            NPUs in use; 90 % of the wafer if None.
        cp, ep : sequence of int
            Context parallelism and expert groups to try, 1 to 4,096 each.
        sp : bool
            Whether to try sequence parallelism too.
        **options : str
            See :meth:`estimate`.

        Raises
        ------
        InputError
            As for :meth:`estimate`, or no strategy goes with the workload.
        """
        job = _workload(workload)
        if samples is not None:
            job = with_batch(job, samples, 1)
        fabrics = [self.topology]
        choices = feasible(job, self.npus, least_npus, cp=cp, ep=ep, sp=sp, fabrics=fabrics)
        rows = sweep([self.request(job, memory=memory, **options)], choices)
        return Study(tuple(row.estimate for row in rows if row.feasible))

    def collective(
        self, pattern: str, size_bytes: float, group: Sequence[int] | None = None
    ) -> CollectiveResult:
        """Simulate a collective over all NPUs, or those of a group, by the fastest algorithm.

        Parameters
        ----------
        pattern : str
            Such as ``all_reduce``.
        size_bytes : float
            The whole vector [B].
        group : sequence of int or None
            NPUs; all if None.

        Raises
        ------
        InputError
            A value is not allowed.
        """
        return run_collective(self.topology, pattern, size_bytes, group)


@dataclass(frozen=True)
class Study:
    """A set of estimates to compare.

    Parameters
    ----------
    estimates : tuple of Estimate
        One for each row.
    """

    estimates: tuple[Estimate, ...]

    def __len__(self) -> int:
        return len(self.estimates)

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.estimates)

    def to_dataframe(self) -> Any:
        """Return a ``pandas.DataFrame`` with a row for each estimate; see :func:`to_dataframe`."""
        return to_dataframe(self.estimates)


def compare(
    wafers: Sequence[Wafer],
    workloads: Sequence[str | Path | Workload],
    *,
    memory: str | Path | None = None,
    npu_from: str | None = None,
    as_is: bool = False,
    **options: Any,
) -> Study:
    """Estimate every workload on every wafer, each with the strategy of the workload.

    Wafers with different NPUs are refused unless ``npu_from`` names the wafer whose NPUs all of
    them get, or ``as_is`` is true. ``memory`` and ``options`` are as for :meth:`Wafer.estimate`.

    Raises
    ------
    InputError
        As for :meth:`Wafer.estimate`, or the NPUs of the wafers differ.
    """
    jobs = [_workload(one) for one in workloads]
    requests = [wafer.request(job, memory=memory, **options) for job in jobs for wafer in wafers]
    fair = on_equal_terms(requests, npu_from, as_is=as_is)
    return Study(tuple(map(training.estimate, fair)))


def to_dataframe(results: Iterable[Any]) -> Any:
    """Return results as a ``pandas.DataFrame`` with a column for each figure.

    Names are those of the fields, with the unit in SI at their end; fields inside others have both
    names with a point between (``exposed_s.mp``). Where the figures come from (``provenance``)
    stands in one column, as text; lists are text too, so that any file format takes the table, and
    lists of results, such as the links of a collective, are left out.

    Parameters
    ----------
    results : iterable of dataclasses
        Estimates, collectives or other results.

    Raises
    ------
    InputError
        pandas is not installed.
    """
    with needed("pandas", "tables", "fred-hw[tables]"):
        pandas: Any = import_module("pandas")
    return pandas.DataFrame([_row(one) for one in results])


def _row(result: Any) -> dict[str, Any]:
    """Return the figures of a result by the names of their columns."""
    provenance = getattr(result, "provenance", None)
    if provenance is not None:
        result = replace(result, provenance=None)
    if isinstance(result, CollectiveResult):  # asdict would copy the topology of other sequences
        result = replace(result, links=tuple(result.links))
    row = dict(figures_of("", asdict(result)))
    if provenance is not None:
        row["provenance"] = "; ".join([*provenance.said_records, *provenance.assumptions])
    return row


def _workload(workload: str | Path | Workload) -> Workload:
    return workload if isinstance(workload, Workload) else load_workload(str(workload))
