"""Phases of a strategy for endpoints, which execute collectives as a whole."""

from .flows import Flow
from .placement import Groups, Strategy, cp_groups, ep_groups, mp_groups, phases

__all__ = ["collective_phases"]

_GROUPS = {"sp": mp_groups, "cp": cp_groups, "ep": ep_groups}


def collective_phases(strategy: Strategy) -> dict[str, tuple[str, Groups | tuple[Flow, ...]]]:
    """Return pattern and groups or flows of each phase; multi-step collectives are one phase.

    Patterns are "all_reduce", "reduce_scatter", "all_gather" and "all_to_all", of groups of NPUs,
    and "multicast", of flows. Steps ``sp_reduce_scatter_0`` and those behind it are
    ``sp_reduce_scatter``; other names are those of ``phases``.
    """
    found: dict[str, tuple[str, Groups | tuple[Flow, ...]]] = {}
    for name, flows in phases(strategy).items():
        kind, _, rest = name.partition("_")
        if rest in ("forward", "backward"):
            found[name] = ("multicast", flows)
        elif rest == "all_reduce":
            found[name] = (rest, tuple(tuple(flow.inputs) for flow in flows))
        else:
            pattern = rest.rpartition("_")[0]
            found[f"{kind}_{pattern}"] = (pattern, _GROUPS[kind](strategy))
    return found
