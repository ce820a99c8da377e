"""The model beside the RTL: cycles of phases on a plane of switches and endpoints, and ours."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import Strategy, phases
from fred_hw.errors import InputError
from fred_hw.files import FileModel, load_model
from fred_hw.protocol import CRC_BITS, HEADER_BITS
from fred_hw.spec import SwitchSpec
from fred_hw.wafer.spec import WaferSpec
from perfmodel.collectives.run import run_collectives
from perfmodel.switch_timing.endpoint import load_endpoint_record
from perfmodel.switch_timing.record import (
    RECORDS,
    SHIPPED,
    Simulator,
    Source,
    SwitchTiming,
    as_tuple,
    load_record,
)
from perfmodel.topology.fred import L1, FredTopology, Level

__all__ = [
    "LONG_CYCLES",
    "SHIPPED_CYCLES",
    "RtlRow",
    "Summary",
    "WaferRecord",
    "beside",
    "beside_rtl",
    "groups_of",
    "load_cycles",
    "plane_topology",
    "summaries",
]

SHIPPED_CYCLES = RECORDS / "wafer-20.json"
"""Cycles of phases on the published wafer."""

LONG_CYCLES = 10_000
"""Transfers that take longer are to be within ``LONG``, others within ``SHORT`` or ``FEW``."""

LONG, SHORT, FEW_CYCLES = 0.03, 0.10, 60

Count = Annotated[int, Field(ge=0, lt=1 << 40)]


class WaferRow(FileModel):
    """Cycles of a phase alone.

    Parameters
    ----------
    strategy, phase : str
        What was done.
    collectives : str
        Who did it: switches (``in-network``), or endpoints (``ring``).
    flits, cycles : int
        What an NPU sends [flits], and how long it took from the first COMMAND until software has
        read at the last endpoint that all is completed [cycles].
    """

    strategy: str
    phase: str
    collectives: Literal["in-network", "ring"]
    flits: Annotated[int, Field(ge=1, lt=1 << 40)]
    cycles: Annotated[int, Field(ge=1, lt=1 << 40)]


class WaferRecord(FileModel):
    """What co-simulation measured on a plane of a wafer.

    Parameters
    ----------
    schema : str
        ``fred-wafer-cycles/1``; the field is called ``schema_name`` in Python.
    name : str
        Name of the wafer.
    spec, measured_spec : WaferSpec
        The wafer, and what was simulated, with fewer lanes.
    simulators, seed, source : tuple of Simulator, int, Source
        Who measured, with which random seed, and what: the Verilog of the plane.
    link_cycles, memory_cycles : int
        Of each link in one direction, and from a read of memory to its data [cycles].
    flits_checked : int
        Flits of results compared with the golden model while measuring.
    rows : tuple of WaferRow
        What was measured.
    """

    schema_name: Annotated[Literal["fred-wafer-cycles/1"], Field(alias="schema")]
    name: str
    spec: WaferSpec
    measured_spec: WaferSpec
    simulators: Annotated[tuple[Simulator, ...], BeforeValidator(as_tuple), Field(min_length=1)]
    seed: int
    source: Source
    link_cycles: Count
    memory_cycles: Count
    flits_checked: Annotated[int, Field(ge=1)]
    rows: Annotated[tuple[WaferRow, ...], BeforeValidator(as_tuple), Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class RtlRow:
    """A phase, its cycles in RTL, and those of the model.

    Parameters
    ----------
    strategy, phase, collectives, flits
        As in the record.
    rtl_cycles, model_cycles : int, float
        Measured, and ours.
    error : float
        Ours over what was measured, less 1.
    ok : bool
        Within 3 % where it takes more than ``LONG_CYCLES``, else within 10 % or 60 cycles.
    """

    strategy: str
    phase: str
    collectives: str
    flits: int
    rtl_cycles: int
    model_cycles: float
    error: float
    ok: bool


@dataclass(frozen=True, slots=True)
class Summary:
    """Errors of some rows.

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


def load_cycles(path: Path = SHIPPED_CYCLES) -> WaferRecord:
    """Return cycles of phases from a file.

    Raises
    ------
    InputError
        It cannot be read, or is no valid record; names the field.
    """
    return load_model(WaferRecord, path)


def plane_topology(record: WaferRecord, *, in_network: bool) -> FredTopology:
    """Return one plane of a wafer as the model has it: a link carries a flit per cycle each way.

    Raises
    ------
    InputError
        The wafer has more than two levels, or chiplets that no shipped record is of.
    """
    wafer = record.spec
    below = wafer.below(wafer.root)
    if any(wafer.below(one) for one in below) or wafer.switches[wafer.root].npus:
        raise InputError(record.name, "switches", "must be L1s below one L2, not more levels")
    top = _timing(record, wafer.chiplet(wafer.root))
    hz, width = top.record.clock.hz, wafer.link.data_width
    # All bits of a flit are those of the link: headers and CRC go beside the data.
    rate = hz * (width + HEADER_BITS + CRC_BITS) / 8
    l1 = [
        L1(
            len(wafer.switches[one].npus),
            wafer.switches[one].controllers,
            _timing(record, wafer.chiplet(one)),
        )
        for one in below
    ]
    uplinks = {wafer.switches[one].uplinks for one in below}
    if len(uplinks) > 1:
        raise InputError(record.name, "switches", "must have as many uplinks in all L1s")
    return FredTopology(
        name=record.name,
        l1=l1,
        levels=[Level((top,), len(l1), rate * uplinks.pop())],
        npu_l1_bytes_per_s=rate,
        io_bytes_per_s=rate,
        link_latency_s=record.link_cycles / hz,
        in_network=in_network,
        endpoint=load_endpoint_record("endpoint", memory_s=record.memory_cycles / hz),
    )


def _timing(record: WaferRecord, spec: SwitchSpec) -> SwitchTiming:
    """Return the shipped timing of a chiplet."""
    for name in SHIPPED:
        timing = load_record(name)
        if timing.record.spec.name == spec.name:
            return timing
    names = ", ".join(SHIPPED)
    message = f"must be of chiplets that a record is shipped of, {names}, not {spec.name}"
    raise InputError(record.name, "switches", message)


def beside_rtl(record: WaferRecord) -> tuple[RtlRow, ...]:
    """Return the cycles of each phase of a record, and those of the model."""
    topologies = {
        how: plane_topology(record, in_network=how == "in-network")
        for how in dict.fromkeys(row.collectives for row in record.rows)
    }
    clock_hz = load_record(SHIPPED[0]).record.clock.hz
    found: list[RtlRow] = []
    for row in record.rows:
        flows = phases(Strategy.parse(row.strategy))[row.phase]
        pattern, groups = groups_of(flows)
        chosen = "direct" if (pattern, row.collectives) == ("broadcast", "ring") else "published"
        size = row.flits * record.spec.link.data_width / 8
        result = run_collectives(
            topologies[row.collectives], pattern, size, groups, algorithm=chosen
        )
        what = row.strategy, row.phase, row.collectives
        found.append(beside(what, row.flits, row.cycles, result.time_s * clock_hz))
    return tuple(found)


def beside(what: tuple[str, str, str], flits: int, rtl_cycles: int, ours: float) -> RtlRow:
    """Return cycles of RTL and of the model side by side.

    Parameters
    ----------
    what : tuple of str
        Strategy, phase, and who did it or how.
    flits, rtl_cycles, ours : int, int, float
        What an NPU sends, what was measured, and what the model says [cycles].
    """
    error = ours / rtl_cycles - 1
    long = rtl_cycles > LONG_CYCLES
    ok = abs(error) <= (LONG if long else SHORT)
    ok = ok or (not long and abs(ours - rtl_cycles) <= FEW_CYCLES)
    return RtlRow(*what, flits, rtl_cycles, ours, error, ok)


def groups_of(flows: Sequence[Flow]) -> tuple[str, list[list[int]]]:
    """Return the collective that flows are, and the NPUs of each, the root of a copy first."""
    if all(flow.inputs == flow.outputs for flow in flows):
        return "all_reduce", [list(flow.inputs) for flow in flows]
    return "broadcast", [
        [*flow.inputs, *(one for one in flow.outputs if one not in flow.inputs)] for flow in flows
    ]


def summaries(rows: Sequence[RtlRow]) -> tuple[Summary, ...]:
    """Return the errors of all rows, and of those that take long and those that do not."""
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
