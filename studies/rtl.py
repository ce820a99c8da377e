"""Validation of the model against RTL simulation: cycles of single phases of strategies."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, Self, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from fred_hw.ace.steps import circuit_of
from fred_hw.choices import not_one_of
from fred_hw.compiler.collective_phases import collective_phases
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import Strategy, phases
from fred_hw.files import FileModel, refused
from fred_hw.mesh.spec import MeshSpec
from fred_hw.wafer.spec import WaferSpec
from perfmodel.network.run import run_collectives
from perfmodel.switch_timing.measured_record import MeasuredRecord, Schema, as_tuple
from perfmodel.topology.graph import Topology

__all__ = [
    "FEW_CYCLES",
    "LONG",
    "LONG_CYCLES",
    "SHORT",
    "CyclesRecord",
    "CyclesRow",
    "Groups",
    "RtlRow",
    "Some",
    "Summary",
    "against_rtl",
    "groups_of",
    "groups_of_flows",
    "summaries",
]

LONG_CYCLES = 10_000
"""Duration above which transfers must be within ``LONG``; others within ``SHORT`` or ``FEW``."""

LONG, SHORT, FEW_CYCLES = 0.03, 0.10, 60

Groups = tuple[str, list[list[int]]]
"""A collective, and the endpoints of each group."""

Fabric = TypeVar("Fabric", MeshSpec, WaferSpec)
Count = Annotated[int, Field(ge=0, lt=1 << 40)]
Some = Annotated[int, Field(ge=1, lt=1 << 40)]
"""Checked integers: cycles or flits, with and without 0 allowed."""


def _strategy(value: str) -> str:
    """Fail if a text is not a strategy."""
    try:
        Strategy.parse(value)
    except ValueError as error:
        raise refused(str(error).removeprefix("strategy ")) from None
    return value


class CyclesRow(FileModel):
    """Cycles of a phase that runs alone; subclasses add executor or algorithm.

    Parameters
    ----------
    strategy, phase : str
        Strategy and phase that ran.
    flits, cycles : int
        Flits that an NPU sends, and time from the first COMMAND until software has read the last
        completion at the last endpoint [cycles].
    """

    strategy: Annotated[str, AfterValidator(_strategy)]
    phase: str
    flits: Some
    cycles: Some


Row = TypeVar("Row", bound=CyclesRow)


class CyclesRecord(MeasuredRecord[Schema, Fabric], Generic[Schema, Fabric, Row]):
    """Co-simulation measurements of phases on a fabric with endpoints.

    Parameters
    ----------
    link_cycles, memory_cycles : int
        Latency of each link in one direction, and latency of memory from a read to its data
        [cycles].
    rows : tuple of Row
        Measurements.
    """

    link_cycles: Count
    memory_cycles: Count
    rows: Annotated[tuple[Row, ...], BeforeValidator(as_tuple), Field(min_length=1)]

    def phases_of(self, row: Row) -> Collection[str]:
        """Return the names of the phases in the strategy of a row."""
        strategy = Strategy.parse(row.strategy)
        return {**collective_phases(strategy), **phases(strategy)}

    @model_validator(mode="after")
    def _check_rows(self) -> Self:
        """Fail if a row has a strategy or a phase that the fabric does not support."""
        spec = self.spec
        npus = spec.npus if isinstance(spec, WaferSpec) else spec.routers
        for number, row in enumerate(self.rows):
            workers = Strategy.parse(row.strategy).workers
            if workers > npus:
                most = f"a strategy of at most {npus} NPUs, not {row.strategy}"
                raise refused(f"rows.{number}.strategy: must be {most} of {workers}")
            if row.phase not in (known := self.phases_of(row)):
                message = not_one_of(row.phase, known)
                raise refused(f"rows.{number}.phase: {message}")
        return self


@dataclass(frozen=True, slots=True)
class RtlRow:
    """A phase with its cycles in RTL simulation and in the model.

    Parameters
    ----------
    strategy, phase, collectives, flits
        As in the record; of a mesh ``collectives`` is the algorithm.
    rtl_cycles, model_cycles : int, float
        Measured, and ours.
    error : float
        Ours over what was measured, less 1.
    ok : bool
        Within 3 % where it takes more than ``LONG_CYCLES``, else within 10 % or 60 cycles.
    evidence : str
        ``predicted``, or ``calibrated`` where the model was set by this measurement.
    """

    strategy: str
    phase: str
    collectives: str
    flits: int
    rtl_cycles: int
    model_cycles: float
    error: float
    ok: bool
    evidence: Literal["predicted", "calibrated"]


@dataclass(frozen=True, slots=True)
class Summary:
    """Error statistics of a set of rows.

    Parameters
    ----------
    what : str
        Which rows.
    rows, ok : int
        How many there are, and how many are within tolerance.
    worst, mean : float
        Largest and mean of the errors, without their signs.
    worst_cycles : float
        The largest difference [cycles].
    """

    what: str
    rows: int
    ok: int
    worst: float
    mean: float
    worst_cycles: float


def against_rtl(
    record: CyclesRecord[Any, Any, Row],
    how_of: Callable[[Row], str],
    topology_of: Callable[[Row], Topology],
    algorithm_of: Callable[[Row, str], str],
    groups_in: Callable[[Row], Groups] | None = None,
    time_of: Callable[[Row], float | None] = lambda _: None,
    calibrated: Callable[[Row], bool] = lambda _: False,
) -> tuple[RtlRow, ...]:
    """Return each phase of a record with its measured cycles and those of the model.

    Parameters
    ----------
    record : CyclesRecord
        Record of measurements.
    how_of, topology_of : callable
        ``how_of`` returns the executor or algorithm of a row, ``topology_of`` the modelled fabric
        with endpoints.
    algorithm_of : callable
        Returns the model's name of the algorithm for a row and its pattern.
    groups_in : callable or None
        Returns the collective of a row, and the nodes of each group in the topology, the root
        first. If None, ``groups_of`` is used, and NPU n is node n.
    time_of : callable
        Returns the time of a row [s] if its groups are not all active at once, otherwise None.
    calibrated : callable
        Returns whether the model was calibrated with the measurement of a row.
    """
    found: list[RtlRow] = []
    for row in record.rows:
        if groups_in is None:
            pattern, groups = groups_of(Strategy.parse(row.strategy), row.phase)
        else:
            pattern, groups = groups_in(row)
        topology = topology_of(row)
        assert topology.endpoint is not None
        time_s = time_of(row)
        if time_s is None:
            time_s = run_collectives(
                topology,
                pattern,
                row.flits * record.spec.link.data_width / 8,
                groups,
                algorithm=algorithm_of(row, pattern),
                network_model="packet",
                second_first=circuit_of(row.phase) == "dp",
            ).time_s
        ours = time_s * topology.endpoint.clock.hz
        error = ours / row.cycles - 1
        long = row.cycles > LONG_CYCLES
        ok = abs(error) <= (LONG if long else SHORT)
        ok = ok or (not long and abs(ours - row.cycles) <= FEW_CYCLES)
        what = row.strategy, row.phase, how_of(row)
        evidence = "calibrated" if calibrated(row) else "predicted"
        found.append(RtlRow(*what, row.flits, row.cycles, ours, error, ok, evidence))
    return tuple(found)


def groups_of(strategy: Strategy, phase: str) -> Groups:
    """Return the collective of a phase, and the NPUs of each group, the root first."""
    pattern, what = collective_phases(strategy).get(phase, ("multicast", ()))
    if pattern != "multicast":
        return pattern, [list(one) for one in what if not isinstance(one, Flow)]
    return groups_of_flows(phases(strategy)[phase])


def groups_of_flows(flows: Sequence[Flow]) -> Groups:
    """Return the collective of the given reductions or multicasts, and their members.

    The root, which receives the reduction or sends the multicast, comes first.
    """
    if all(len(flow.outputs) == 1 < len(flow.inputs) for flow in flows):
        return "reduce", [_first(flow.outputs, flow.inputs) for flow in flows]
    return "broadcast", [_first(flow.inputs, flow.outputs) for flow in flows]


def _first(root: Sequence[int], others: Sequence[int]) -> list[int]:
    return [*root, *(one for one in others if one not in root)]


def summaries(rows: Sequence[RtlRow]) -> tuple[Summary, ...]:
    """Return the errors of all rows, of long transfers and of short transfers."""
    kinds: list[tuple[str, list[Any]]] = [
        (f"over {LONG_CYCLES:,} cycles", [one for one in rows if one.rtl_cycles > LONG_CYCLES]),
        (f"up to {LONG_CYCLES:,} cycles", [one for one in rows if one.rtl_cycles <= LONG_CYCLES]),
        *(
            (how, [one for one in rows if one.collectives == how])
            for how in dict.fromkeys(one.collectives for one in rows)
        ),
        ("all", list(rows)),
    ]
    return tuple(
        Summary(
            what,
            len(own),
            sum(one.ok for one in own),
            max(abs(one.error) for one in own),
            sum(abs(one.error) for one in own) / len(own),
            max(abs(one.model_cycles - one.rtl_cycles) for one in own),
        )
        for what, own in kinds
        if own
    )
