"""Sweep files: lists of topologies, workloads and so on, all of which meet all others."""

from typing import Annotated, Any, cast

from pydantic import Field

from fred_hw.file_kinds import SWEEP
from fred_hw.files import Check, EachOnce, FileModel, int_range, name_in, refused
from perfmodel.collectives.algorithm import ALGORITHMS
from perfmodel.collectives.select import PUBLISHED
from perfmodel.topology.files import NpuEntry, Protocol
from perfmodel.training.placement.policy import POLICIES
from perfmodel.workloads.file import MAX_SAMPLES, STRATEGY

from .strategies import MAX_SHARES

__all__ = ["ALL", "NO_TIER", "SweepFile"]

ALL = "all"
"""All strategies that fit."""

NO_TIER = "none"
"""No remote memory: weights and input come from the I/O controllers."""

_Shares = Annotated[list[Annotated[int, int_range(1, MAX_SHARES)]], EachOnce()]


def _strategies(value: object) -> object:
    """Check ``strategies``."""
    if value != ALL and not _texts(value):
        raise refused(f"must be all, or a list of one or more like MP2-DP5-PP2, not {value!r}")
    return value


def _texts(value: object) -> bool:
    some = cast("list[object]", value) if isinstance(value, list) else []
    return bool(some) and all(isinstance(one, str) for one in some)


def _strategies_schema() -> dict[str, Any]:
    one = {"type": "string", "pattern": STRATEGY}
    some = {"type": "array", "items": one, "minItems": 1, "uniqueItems": True}
    return {"anyOf": [{"const": ALL}, some]}


class SweepFile(FileModel):
    """Lists of what is to be varied: every entry of each meets every entry of the others.

    Parameters
    ----------
    topologies : list of str
        Names or files, as `--topology` takes them; paths are relative to this file.
    workloads : list of str
        Names or files, likewise, as `--workload` takes them.
    strategies : list of str
        Each like ``MP2-DP5-PP2`` or ``TP2-DP5-PP2``, or `all` for those that fit the smallest of
        the topologies; without it each workload has its own.
    samples : int
        Samples in an iteration for each replica, in as many microbatches as `fred strategies`
        takes; without it those of the workload, or 40 with `all` strategies.
    least_npus : int
        NPUs in use at least, with `all` strategies; 90 % of the smallest topology by default.
    cp : list of int
        Context parallelism to try, with `all` strategies; 1 without it.
    ep : list of int
        Expert groups to try, likewise.
    sp : bool
        Whether `all` strategies are tried with sequence parallelism too, where MP is 2 or more.
    compute_models : list of str
        As `--compute` takes them.
    algorithms : list of str
        Of collectives, as `--algorithm` takes them.
    placements : list of str
        As `--placement` takes them.
    protocols : list of str
        What headers, CRC, acks and the link layer cost: as co-simulated, or nothing (`ideal`).
        Without it what a file says, and `measured` for names.
    npus : list of NpuEntry
        Changes to the NPUs of all topologies; ``{}`` leaves them as they are, as does no list.
    memories : list of str
        Files of remote memory, as `--memory` takes them, in place of the I/O controllers of the
        topologies; `none` keeps those, as does no list.
    baseline : str
        The topology that others are compared with; the first by default.
    """

    file_kind = SWEEP

    topologies: Annotated[list[str], EachOnce()]
    workloads: Annotated[list[str], EachOnce()]
    strategies: Annotated[Any, Check(_strategies, schema=_strategies_schema)] | None = None
    samples: Annotated[Annotated[int, int_range(1, MAX_SAMPLES)] | None, Field(examples=[40])] = (
        None
    )
    least_npus: Annotated[Annotated[int, int_range(1, 4096)] | None, Field(examples=[16])] = None
    cp: Annotated[_Shares | None, Field(examples=[[1, 2]])] = None
    ep: Annotated[_Shares | None, Field(examples=[[1, 4]])] = None
    sp: bool = False
    compute_models: Annotated[list[str], EachOnce()] = Field(default=["first-principles"])
    algorithms: Annotated[
        list[Annotated[str, name_in(ALGORITHMS, "auto", PUBLISHED)]], EachOnce()
    ] = Field(default=[PUBLISHED])
    placements: Annotated[list[Annotated[str, name_in(POLICIES, "auto", "anneal")]], EachOnce()] = (
        Field(default=["auto"])
    )
    protocols: Annotated[
        Annotated[list[Protocol], EachOnce()] | None, Field(examples=[["measured", "ideal"]])
    ] = None
    npus: Annotated[list[NpuEntry], EachOnce()] | None = None
    memories: Annotated[
        Annotated[list[str], EachOnce()] | None, Field(examples=[["none", "pool-memory.yaml"]])
    ] = None
    baseline: Annotated[str | None, Field(examples=["mesh:4x4"])] = None
