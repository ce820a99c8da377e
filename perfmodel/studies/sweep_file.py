"""Sweep files: lists of topologies, workloads and options to combine."""

from typing import Annotated, Any, cast

from pydantic import Field, create_model

from fred_hw.choices import find_choice
from fred_hw.errors import InputError
from fred_hw.file_kinds import SWEEP
from fred_hw.files import Check, EachOnce, FileModel, int_range, refused
from perfmodel.topology.files import NpuEntry, Protocol
from perfmodel.training.options import OPTIONS, Option
from perfmodel.workloads.file import MAX_SAMPLES, STRATEGY

from .strategies import MAX_SHARES

__all__ = ["ALL", "NO_TIER", "SWEEP_FILE", "SweepKeys"]

ALL = "all"
"""Value that stands for all strategies that fit."""

NO_TIER = "none"
"""Value for no remote memory: weights and input come from the I/O controllers."""

_Shares = Annotated[list[Annotated[int, int_range(1, MAX_SHARES)]], EachOnce()]


def _strategies(value: object) -> object:
    """Check the key ``strategies``."""
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


class SweepKeys(FileModel):
    """Lists of values, of which the Cartesian product is evaluated.

    Parameters
    ----------
    topologies : list of str
        Names or files, as `--topology` takes them; paths are relative to this file.
    workloads : list of str
        Names or files, as `--workload` takes them; paths are relative to this file.
    strategies : list of str
        Strategies such as ``MP2-DP5-PP2`` or ``TP2-DP5-PP2``, or `all` for those that fit the
        smallest of the topologies. By default each workload uses its own strategy.
    samples : int
        Samples in an iteration for each replica, in as many microbatches as in `fred strategies`.
        By default those of the workload.
    least_npus : int
        Minimum number of NPUs in use, with `all` strategies; 90 % of the smallest topology by
        default.
    cp : list of int
        Sizes of context parallelism to try, with `all` strategies; 1 by default.
    ep : list of int
        Sizes of expert groups to try, with `all` strategies; 1 by default.
    sp : bool
        Whether `all` strategies are tried with sequence parallelism too, where MP is 2 or more.
    protocols : list of str
        Cost of headers, CRC, acks and the link layer: as measured in co-simulation (`measured`), or
        none (`ideal`). By default that of the topology file, and `measured` for names.
    npus : list of NpuEntry
        Changes to the NPUs of all topologies. ``{}``, or no list, leaves the NPUs unchanged.
    memories : list of str
        Files of remote memory, as `--memory` takes them, in place of the I/O controllers of the
        topologies. `none`, or no list, keeps the I/O controllers.
    baseline : str
        Topology with which the others are compared; the first by default.
    npu_from : str
        Topology whose NPUs all topologies get. Without it, topologies with different NPUs are
        refused, unless `as_is` is true.
    as_is : bool
        Whether to compare topologies with different NPUs.
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
    protocols: Annotated[
        Annotated[list[Protocol], EachOnce()] | None, Field(examples=[["measured", "ideal"]])
    ] = None
    npus: Annotated[list[NpuEntry], EachOnce()] | None = None
    memories: Annotated[
        Annotated[list[str], EachOnce()] | None, Field(examples=[["none", "pool-memory.yaml"]])
    ] = None
    baseline: Annotated[str | None, Field(examples=["mesh:4x4"])] = None
    npu_from: Annotated[str | None, Field(examples=["fred-d"])] = None
    as_is: bool = False

    def values(self, option: Option) -> list[str]:
        """Return the values to try for an option."""
        return getattr(self, option.key)


def _list_of(option: Option) -> tuple[Any, Any]:
    """Return type and default of the key that lists an option's values."""

    def check(value: object) -> object:
        if not isinstance(value, str):
            raise refused(f"must be text, not {value!r}")
        found = find_choice(value, option.names()) or value
        try:
            option.refuse_unknown(found)
        except InputError as error:
            raise refused(error.message) from None
        return found

    def schema() -> dict[str, Any]:
        names = {} if option.check else {"enum": list(option.names())}
        return {"type": "string", **names}

    said = f"Values of `--{option.name.replace('_', '-')}`, each of which is tried."
    one = Annotated[str, Check(check, schema=schema)]
    return Annotated[list[one], EachOnce()], Field(default=[option.default], description=said)


_LISTS: dict[str, Any] = {option.key: _list_of(option) for option in OPTIONS.values()}

SWEEP_FILE: type[SweepKeys] = create_model(
    "SweepFile",
    __base__=SweepKeys,
    __doc__=SweepKeys.__doc__,
    **_LISTS,
)
"""Keys of a sweep file: those of :class:`SweepKeys`, and one list per option."""
