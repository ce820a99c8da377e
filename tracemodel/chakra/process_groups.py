"""Process groups of PyTorch, listed by a metadata node named ``process_group:init``.

The inputs of such a node are a list with one text, and the text is a list in JSON with an object
for each group: ``pg_name``, ``ranks`` and ``group_size``. No ranks stand for all.
"""

from collections.abc import Mapping
from typing import Any, cast

from fred_hw.errors import InputError
from fred_hw.reading import parse_json

from .kinds import NodeType

__all__ = ["EVERYONE", "NAME", "ProcessGroups", "lists_groups"]

EVERYONE = ("", "0")
"""Names of the group that contains all ranks."""

NAME = "process_group:init"
"""Substring of the name of every node that lists process groups."""

_METADATA = int(NodeType.METADATA_NODE)


def lists_groups(node: Any) -> bool:
    """Return whether a node or a node message lists process groups."""
    return node.type == _METADATA and NAME in node.name


class ProcessGroups:
    """Process groups of a set of traces; each trace lists the groups that its rank knows.

    Parameters
    ----------
    ranks : int or None
        Number of ranks in the set of traces; None for a single trace of an unknown set.

    Attributes
    ----------
    groups : dict of str to tuple of int
        Ranks of each group but that of all, by its name.
    """

    def __init__(self, ranks: int | None) -> None:
        self._ranks = ranks
        self._sources: dict[str, str] = {}
        self.groups: dict[str, tuple[int, ...]] = {}

    def add(self, values: str, source: str, node: int) -> None:
        """Add the groups that a node lists.

        Parameters
        ----------
        values : str
            Values of its inputs.
        source, node : str, int
            File and number of the node, for errors.

        Raises
        ------
        InputError
            This is no list of groups, a group has ranks that the set does not have, or another
            trace has other ranks for it.
        """
        field = f"node {node}: inputs"
        try:
            said = parse_json(_inner(values), len(values) + 1)
        except InputError as error:
            raise InputError(source, field, error.message) from None
        if not isinstance(said, list):
            message = f"must be a list of process groups, not {said!r:.60}"
            raise InputError(source, field, message)
        for one in cast("list[object]", said):
            if not isinstance(one, Mapping):
                raise InputError(source, field, f"must list process groups, not {one!r:.60}")
            self._add(cast("Mapping[str, object]", one), source, field)

    def _add(self, group: Mapping[str, object], source: str, field: str) -> None:
        name = group.get("pg_name")
        if not isinstance(name, str):
            raise InputError(source, f"{field}: pg_name", f"must be a text, not {name!r:.60}")
        field = f"{field}: process group {name!r:.40}"
        size = group.get("group_size")
        members = _members(group.get("ranks"), source, field)
        every = self._ranks if self._ranks is not None or not _is_count(size) else cast("int", size)
        if not members:
            if every is None:
                message = "must be listed in one trace of a set, as the number of ranks is unknown"
                raise InputError(source, f"{field}: ranks", message)
            members = tuple(range(every))
        if self._ranks is not None and max(members) >= self._ranks:
            message = f"must be ranks 0 to {self._ranks - 1} of the traces, not {max(members)}"
            raise InputError(source, f"{field}: ranks", message)
        if size is not None and size != len(members):
            message = f"must be the number of its ranks, {len(members)}, not {size!r:.60}"
            raise InputError(source, f"{field}: group_size", message)
        if name in EVERYONE:
            if self._ranks is not None and len(members) < self._ranks:
                message = f"must be all {self._ranks} ranks of the traces, not {len(members)}"
                raise InputError(source, f"{field}: ranks", message)
            return
        if self.groups.setdefault(name, members) != members:
            message = f"must be the same as in {self._sources[name]}"
            raise InputError(source, f"{field}: ranks", message)
        self._sources.setdefault(name, source)


def _inner(values: str) -> str:
    """Return the string inside a one-element list of strings in JSON or Python syntax."""
    text = values.strip()
    if text.startswith('["'):
        said = parse_json(text, len(text) + 1)
        return said[0] if len(said) == 1 and isinstance(said[0], str) else text
    if text.startswith("['") and text.endswith("']"):
        return text[2:-2].replace("\\'", "'").replace("\\\\", "\\")
    return text


def _members(value: Any, source: str, field: str) -> tuple[int, ...]:
    """Return the ranks of a group in order; for a mapping, its keys."""
    ranks = value
    if isinstance(value, Mapping):
        places = cast("Mapping[str, Any]", value)
        ranks = [int(one) if one.isdecimal() else one for one in sorted(places, key=_place(places))]
    if not isinstance(ranks, list):
        raise InputError(source, f"{field}: ranks", f"must be a list of ranks, not {value!r:.60}")
    found = tuple(cast("list[Any]", ranks))
    bad = [one for one in found if not _is_count(one)]
    if bad:
        message = f"must be integers from 0 up, not {bad[0]!r:.60}"
        raise InputError(source, f"{field}: ranks", message)
    if len({*found}) < len(found):
        raise InputError(source, f"{field}: ranks", f"must have each rank once, not {value!r:.60}")
    return found


def _place(places: Mapping[str, Any]) -> Any:
    """Return the sort key of a rank: its position in the group, where positions are numbers."""
    numbers = all(_is_count(one) for one in places.values())
    return places.__getitem__ if numbers else None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
