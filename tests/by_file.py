"""Which tests a worker is given at a time: a group, or the tests of a file that come together."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from xdist.scheduler import LoadGroupScheduling

__all__ = ["ByFile", "units_of_work"]


def units_of_work(nodeids: Sequence[str]) -> dict[str, str]:
    """Return the unit of work that each test belongs to, in the order of the tests.

    Parameters
    ----------
    nodeids : sequence of str
        Tests in the order in which they should begin; ``@`` and a group stand behind those that
        have one.
    """
    units: dict[str, str] = {}
    for number, (place, together) in enumerate(groupby(nodeids, key=_place)):
        grouped = place.startswith("@")
        for nodeid in together:
            units[nodeid] = place if grouped else f"{place} {number}"
    return units


def _place(nodeid: str) -> str:
    """Return the group of a test behind ``@``, or its file."""
    name, _, group = nodeid.rpartition("@")
    return f"@{group}" if name and "]" not in group else nodeid.partition("::")[0]


class ByFile(LoadGroupScheduling):
    """Give workers groups and files in the order of the tests, not each test alone.

    What tests of a file share, such as a unit that is compiled or a study that is computed, is then
    made by one worker; and a test that is handed out alone takes longer than most tests.
    """

    _units: dict[str, str] | None = None

    def __init__(self, config: Any, log: Any = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False  # the largest are not the longest

    def _split_scope(self, nodeid: str) -> str:
        if self._units is None:
            self._units = units_of_work(next(iter(self.registered_collections.values())))
        return self._units[nodeid]
