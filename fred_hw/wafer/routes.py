"""Unicast routes on a plane that spread a program's unicasts over links.

A switch has one route for each address, whatever the source. By default the address alone selects
one of several links to the switch above (``Plane.port_for``). The members of a ring enter each L1
at its first NPU, whose addresses often select the same link, while other links are idle.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from .plane import Plane

__all__ = ["Routes", "shared_out"]

Routes = Mapping[tuple[int, int], int]
"""Output ports of unicasts that differ from the default, by chiplet and address."""

_Moments = Counter[int]
"""Number of unicasts at each moment, a set of concurrent unicasts."""


def shared_out(plane: Plane, moments: Sequence[Iterable[tuple[int, int]]]) -> Routes:
    """Return the routes that differ from the default.

    The routes to one address after another are chosen anew, as long as that reduces the sum of the
    squares of the link loads. Routes stay at the default where no two unicasts share a link.

    Parameters
    ----------
    plane : Plane
        The plane.
    moments : sequence of iterable of (int, int)
        Sources and destinations of the unicasts that are under way at the same time.
    """
    search = _Search(plane, moments)
    while sum(search.improve(address) for address in search.routes):
        pass
    return {
        (chiplet, address): port
        for address, routes in search.routes.items()
        for chiplet, port in routes.items()
        if port != plane.port_for(chiplet, address)
    }


class _Search:
    """Routes to all addresses, and the link loads they cause at each moment."""

    def __init__(self, plane: Plane, moments: Sequence[Iterable[tuple[int, int]]]) -> None:
        self._plane = plane
        self._loads: Counter[tuple[int, int, int]] = Counter()
        """Number of unicasts, keyed by moment, chiplet and port."""
        self._demands: dict[int, dict[int, _Moments]] = {}
        """Number of unicasts, keyed by address and by the chiplet of the source."""
        self.routes: dict[int, dict[int, int]] = {}
        """Output ports, keyed by address and chiplet."""
        for moment, pairs in enumerate(moments):
            for source, address in pairs:
                sources = self._demands.setdefault(address, {})
                sources.setdefault(plane.homes[source][0], Counter())[moment] += 1
        for address, sources in self._demands.items():
            self.routes[address] = {}
            for chiplet, own in sources.items():
                self._follow_default(address, chiplet)
                self._load(address, chiplet, own, 1)

    def improve(self, address: int) -> bool:
        """Choose new routes to an address; return whether they are better."""
        sources, before = self._demands[address], self.routes[address]
        change = sum(self._load(address, chiplet, own, -1) for chiplet, own in sources.items())
        self.routes[address] = {}
        for chiplet, own in sources.items():
            self.routes[address].update(self._best(address, chiplet, own)[1])
            change += self._load(address, chiplet, own, 1)
        if change < 0:
            return True
        for chiplet, own in sources.items():
            self._load(address, chiplet, own, -1)
        self.routes[address] = before
        for chiplet, own in sources.items():
            self._load(address, chiplet, own, 1)
        return False

    def _follow_default(self, address: int, chiplet: int) -> None:
        while chiplet != self._plane.homes[address][0]:
            port = self.routes[address][chiplet] = self._plane.port_for(chiplet, address)
            chiplet = self._plane.units[chiplet].ends[port].number

    def _load(self, address: int, chiplet: int, own: _Moments, sign: int) -> int:
        """Add or remove unicasts to an address; return the change in the sum of squared loads."""
        change = 0
        for link in self._links(address, chiplet):
            change += self._change(link, own, sign)
            for moment, count in own.items():
                self._loads[(moment, *link)] += sign * count
        return change

    def _change(self, link: tuple[int, int], own: _Moments, sign: int) -> int:
        return sum(
            count * (count + 2 * sign * self._loads[(moment, *link)])
            for moment, count in own.items()
        )

    def _links(self, address: int, chiplet: int) -> Iterator[tuple[int, int]]:
        """Yield the links between switches on the route from a chiplet to an address."""
        while chiplet != self._plane.homes[address][0]:
            port = self.routes[address][chiplet]
            yield chiplet, port
            chiplet = self._plane.units[chiplet].ends[port].number

    def _best(
        self, address: int, chiplet: int, own: _Moments
    ) -> tuple[int, tuple[tuple[int, int], ...]]:
        """Return the links of the best route to an address, and the change in cost.

        A chiplet that has a route to the address keeps it. Of equally good routes the default comes
        first.
        """
        if chiplet == self._plane.homes[address][0]:
            return 0, ()
        default, known = self._plane.port_for(chiplet, address), self.routes[address].get(chiplet)
        ports = self._plane.ports_for(chiplet, address) if known is None else [known]
        found: list[tuple[int, tuple[tuple[int, int], ...]]] = []
        for port in sorted(ports, key=lambda one: one != default):
            link = chiplet, port
            further = self._plane.units[chiplet].ends[port].number
            change, links = self._best(address, further, own)
            found.append((change + self._change(link, own, 1), (link, *links)))
        return min(found, key=lambda one: one[0])
