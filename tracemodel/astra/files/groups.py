"""Communicator group files of ASTRA-sim: the NPUs of each group number."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from fred_hw.errors import InputError
from fred_hw.files import in_range
from fred_hw.reading import read_data

from .network import MAX_NPUS

__all__ = [
    "GROUPS_SCHEMA",
    "GROUP_NAME",
    "NO_GROUPS",
    "Groups",
    "check_members",
    "check_names",
    "load_groups",
]

Groups = Mapping[str, tuple[int, ...]]
"""NPUs of each group in ring order, keyed by the group's number as text."""

NO_GROUPS = "--groups, or of process_group:init nodes"
"""Source named in error messages if no groups file is given."""

GROUP_NAME = r"[1-9][0-9]{0,17}"
"""Pattern of group numbers; group 0 contains all NPUs."""

GROUPS_SCHEMA: dict[str, Any] = {
    "type": "object",
    "patternProperties": {
        f"^{GROUP_NAME}$": {
            "type": "array",
            "items": {"type": "integer", "minimum": 0, "maximum": MAX_NPUS - 1},
            "minItems": 1,
            "uniqueItems": True,
            "description": "NPUs of the group of that number, in the order of its ring.",
        }
    },
    "additionalProperties": False,
}
"""JSON Schema of a groups file."""


def load_groups(path: Path) -> dict[str, tuple[int, ...]]:
    """Return the groups of a file: JSON if the file name ends in ``.json``, else YAML.

    Raises
    ------
    InputError
        The file is unreadable, a group has no number above 0, or its NPUs are no list of
        different ones.
    """
    source, data = str(path), read_data(path)
    if not isinstance(data, Mapping):
        raise InputError(source, "", f"must be a mapping of groups to NPUs, not {data!r:.60}")
    found: dict[str, tuple[int, ...]] = {}
    for key, members in cast("Mapping[object, object]", data).items():
        name = str(key) if isinstance(key, int) and not isinstance(key, bool) else key
        if not isinstance(name, str) or not re.fullmatch(GROUP_NAME, name):
            raise InputError(source, "", f"groups must be numbers from 1 up, not {key!r:.60}")
        if name in found:
            raise InputError(source, name, "must occur once, not several times")
        found[name] = _members(members, source, name)
    return found


def _members(value: object, source: str, name: str) -> tuple[int, ...]:
    if not isinstance(value, list) or not value:
        raise InputError(source, name, f"must be a list of one NPU or more, not {value!r:.60}")
    members: list[int] = []
    for place, npu in enumerate(cast("list[object]", value)):
        try:
            members.append(cast("int", in_range(npu, 0, MAX_NPUS - 1)))
        except ValueError as error:
            raise InputError(source, f"{name}.{place}", str(error)) from None
    if len({*members}) < len(members):
        twice = next(one for one in members if members.count(one) > 1)
        raise InputError(source, name, f"must hold each NPU once, not {twice} twice")
    return tuple(members)


def check_names(groups: Groups, source: str) -> None:
    """Fail unless every name is a valid group name of a groups file.

    Raises
    ------
    InputError
        A name is not a number above 0.
    """
    for name in groups:
        if not re.fullmatch(GROUP_NAME, name):
            message = f"must be a number of 1 or more in a group file, not {name!r:.60}"
            raise InputError(source, "pg_name", message)


def check_members(groups: Groups, npus: int, source: str) -> None:
    """Fail unless all members of groups are ranks of the ``npus`` traces.

    Raises
    ------
    InputError
        A member is not a rank of the traces.
    """
    for name, members in groups.items():
        if max(members) >= npus:
            message = f"must hold ranks 0 to {npus - 1} of the traces, not {max(members)}"
            raise InputError(source, name, message)
