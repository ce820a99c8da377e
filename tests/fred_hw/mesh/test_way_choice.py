"""Contract of fred_hw.mesh.way_choice: which pairs have two ways, and what waits for them."""

import random

import pytest

from fred_hw.link.crowding import CROWDING_PLACES
from fred_hw.mesh.links_between import links_between
from fred_hw.mesh.spec import MeshSpec
from fred_hw.mesh.way_choice import WayChoice
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import LINK

MESH = MeshSpec(width=4, height=3, lanes=1, routing="odd_even_adaptive")
SPEC = MESH.link


def test_throughput_is_a_pair_in_every_cycle_and_one_port_is_told_from_two() -> None:
    rng, ends = random.Random(1), range(len(MESH.places))
    asked, wanted = [], []
    for source in ends:
        for end in ends:
            named, other = (
                links_between(MESH, source, end, turned=turned)[1:] for turned in (False, True)
            )
            counts = {one: rng.randrange(16) for one in CROWDING_PLACES}
            asked.append(
                {
                    "source": source,
                    "destination": end,
                    **{f"crowding.{name}": count for name, count in counts.items()},
                }
            )
            ports = named[0][2], other[0][2]
            forks = ports[0] != ports[1]
            wanted.append((1, *(counts[port] for port in ports)) if forks else (0,))
    found = trace(WayChoice(spec=SPEC), asked, ["forks", "named", "other"])
    assert [one if one[0] else (0,) for one in found] == wanted
    assert sum(one[0] for one in found) > 50


def test_a_link_whose_sources_do_not_choose_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^WayChoice spec must be of a mesh whose sources choose"):
        WayChoice(spec=LINK)
