"""Maps of link loads in communication phases."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from fred_cli.columns.loads import COLUMNS as LOADS
from fred_cli.drawings.loads import draw_loads
from perfmodel.network.run import profile
from perfmodel.topology.graph import Topology
from perfmodel.training.placement.place import Placement
from studies.section import GIB

from .study import Study

__all__ = ["MOST_NPUS", "Map", "as_csv", "maps", "maps_of"]

MOST_NPUS = 128
"""Number of NPUs of the largest wafer that is drawn."""

_Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Map:
    """One phase on a fabric, simulated alone.

    Parameters
    ----------
    phase, fabric, drawing : str
        Names, and an SVG.
    loads : tuple of (str, float)
        Each link in use, and the share of the time that it is occupied.
    """

    phase: str
    fabric: str
    drawing: str
    loads: tuple[tuple[str, float], ...]


def maps(study: Study) -> tuple[Map, ...]:
    """Return the phases of the strategy on the fabric in focus, and on the baseline."""
    places = tuple(dict.fromkeys((study.subject, 0)))
    fabrics = [study.fabrics[i] for i in places]
    placements = [study.iterations[i].placement for i in places]
    return tuple(
        one
        for fabric, placed in zip(fabrics, placements, strict=True)
        if fabric.npus <= MOST_NPUS
        for one in maps_of(fabric, placed)
    )


def maps_of(fabric: Topology, placed: Placement) -> Iterable[Map]:
    """Yield the phases of a placed strategy on a fabric, and the streams of its I/O controllers."""
    strategy, everyone = placed.strategy, [range(fabric.npus)]
    yield _map(fabric, "all-reduce of all NPUs", "all_reduce", everyone)
    for words, pattern, groups in _phases(placed):
        yield _map(fabric, f"{words} of {strategy}", pattern, groups)
    if fabric.io_nodes:
        yield _map(fabric, "weights streamed to all NPUs", "stream_in", everyone)
        yield _map(fabric, "gradients streamed to storage", "stream_out", everyone)


def _phases(placed: Placement) -> Iterable[tuple[str, str, _Groups]]:
    """Return name, pattern and groups of each phase, for all stages at once.

    They are those of ``fred_hw.compiler.placement.phases``, where groups have more than one worker.
    """
    strategy = placed.strategy

    def of_stages(groups: Callable[[int], _Groups]) -> _Groups:
        return tuple(group for stage in range(strategy.pp) for group in groups(stage))

    if strategy.sp:
        yield "MP reduce-scatter", "reduce_scatter", of_stages(placed.mp_groups)
        yield "MP all-gather", "all_gather", of_stages(placed.mp_groups)
    elif strategy.mp > 1:
        yield "MP all-reduce", "all_reduce", of_stages(placed.mp_groups)
    if strategy.dp * strategy.cp > 1:
        yield "DP all-reduce", "all_reduce", of_stages(placed.dp_groups)
    if strategy.pp > 1:
        yield "PP multicast", "broadcast", placed.multicasts(0, 1)
    if strategy.cp > 1:
        yield "CP all-gather", "all_gather", of_stages(placed.cp_groups)
        yield "CP reduce-scatter", "reduce_scatter", of_stages(placed.cp_groups)
    if strategy.ep > 1:
        yield "EP all-to-all", "all_to_all", of_stages(placed.ep_groups)
        if strategy.dp * strategy.cp > strategy.ep:
            yield "EP all-reduce", "all_reduce", of_stages(placed.expert_dp_groups)


def _map(fabric: Topology, title: str, pattern: str, groups: Sequence[Sequence[int]]) -> Map:
    found = profile(fabric, pattern, GIB, groups)[0]
    loads = {
        link: carried / fabric.capacities[link] / found.time_s for link, carried in found.loads
    }
    named = tuple((fabric.link_name(link), share) for link, share in loads.items())
    return Map(title, fabric.name, draw_loads(fabric, loads, f"{title} on {fabric.name}"), named)


def as_csv(shown: Sequence[Map]) -> str:
    """Return the loads of all links in use as CSV."""
    return LOADS.csv([(one.phase, one.fabric, *pair) for one in shown for pair in one.loads])
