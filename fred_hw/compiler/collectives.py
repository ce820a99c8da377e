"""Collectives as steps of flows."""

from collections.abc import Callable, Iterable

from fred_hw.checks import check_choice, check_int

from .flows import Flow

__all__ = ["COLLECTIVES", "collective_steps"]

Members = tuple[int, ...]
Steps = tuple[tuple[Flow, ...], ...]


def collective_steps(
    kind: str, members: Iterable[int], root: int | None = None, *, loopback: bool = True
) -> Steps:
    """Return the steps of a collective, each as a list of concurrent flows.

    With i members, their order gives the ranks 0 to i - 1. A vector of a kind in several steps is
    cut into i elements, and element j belongs to member j. Which one a step moves:

    ============== ====================== ========================================== =====
    kind           flows of step s        what moves                                 steps
    ============== ====================== ========================================== =====
    unicast        root to the next one   the whole vector                           1
    multicast      root to the others     the whole vector                           1
    reduce         all to the root        the whole vector, every member's           1
    all_reduce     all to all             the whole vector, every member's           1
    reduce_scatter all to member s        element s of every member's vector         i
    all_gather     member s to the others element s, which member s holds            i
    scatter        root to member s       element s of the root's vector             i
    gather         member s to the root   element s, which member s holds            i
    all_to_all     each k to (k + s) % i  element (k + s) % i of k's vector, which   i
                                          becomes element k at its destination
    ============== ====================== ========================================== =====

    The next one is the first member that is not the root.
    FRED, arXiv 2406.19580, on flows and collectives (our section 4).

    Parameters
    ----------
    kind : str
        One of ``COLLECTIVES``.
    members : iterable of int
        Ports of the group, none twice; with the root at least two ports.
    root : int, optional
        Port that sends or receives for all, of the group or not; the first member if not given.
        Only for unicast, multicast, reduce, scatter and gather.
    loopback : bool
        Keep the unicasts from a port to itself of scatter, gather and all_to_all. Without them a
        step is shorter or left out; the data concerned is where it should be.

    Raises
    ------
    TypeError
        A port is no integer.
    ValueError
        The kind is unknown; members repeat or are too few; the kind has no root.
    """
    group = _checked_group(kind, members, root)
    steps = _STEPS[kind](group, group[0] if root is None else root)
    if loopback:
        return steps
    kept = (tuple(f for f in step if len(f.inputs) > 1 or f.inputs != f.outputs) for step in steps)
    return tuple(step for step in kept if step)


def _checked_group(kind: str, members: Iterable[int], root: int | None) -> Members:
    """Return the members; raises as :func:`collective_steps` does."""
    check_choice("collective", kind, COLLECTIVES)
    group = tuple(check_int("member", member, minimum=0) for member in members)
    if len(set(group)) < len(group):
        raise ValueError(f"members must be different ports, not {list(group)}")
    if root is not None:
        if kind not in _ROOTED:
            raise ValueError(f"root must be left out of collective {kind}, not {root!r}")
        check_int("root", root, minimum=0)
    if len({*group, *([] if root is None else [root])}) < 2 or not group:
        raise ValueError(
            f"members must be at least two ports, including the root, not {list(group)}"
        )
    return group


def _others(group: Members, port: int) -> Members:
    return tuple(member for member in group if member != port)


def _all_to_all(group: Members) -> Steps:
    shifted = (group[step:] + group[:step] for step in range(len(group)))
    return tuple(
        tuple(Flow((k,), (to,)) for k, to in zip(group, targets, strict=True))
        for targets in shifted
    )


_STEPS: dict[str, Callable[[Members, int], Steps]] = {
    "unicast": lambda group, root: ((Flow((root,), _others(group, root)[:1]),),),
    "multicast": lambda group, root: ((Flow((root,), _others(group, root)),),),
    "reduce": lambda group, root: ((Flow(group, (root,)),),),
    "all_reduce": lambda group, _: ((Flow(group, group),),),
    "reduce_scatter": lambda group, _: tuple((Flow(group, (one,)),) for one in group),
    "all_gather": lambda group, _: tuple((Flow((one,), _others(group, one)),) for one in group),
    "scatter": lambda group, root: tuple((Flow((root,), (one,)),) for one in group),
    "gather": lambda group, root: tuple((Flow((one,), (root,)),) for one in group),
    "all_to_all": lambda group, _: _all_to_all(group),
}
COLLECTIVES = tuple(_STEPS)
_ROOTED = ("unicast", "multicast", "reduce", "scatter", "gather")
