"""Contract of fred_hw.mesh.route_choice: which pairs have two routes, and their load."""

import random

import pytest

from fred_hw.link.crowding import CROWDING_PLACES
from fred_hw.mesh.route_choice import RouteChoice
from fred_hw.mesh.spec import MeshSpec
from tests.fred_hw.simulation import trace
from tests.fred_hw.specs import LINK

MESH = MeshSpec(width=4, height=3, lanes=1, routing="odd_even_adaptive")
SPEC = MESH.link


def test_throughput_is_a_pair_in_every_cycle_and_one_port_is_told_from_two() -> None:
    rng, plan, ends = random.Random(1), MESH.plan, range(MESH.plan.addresses)
    asked, wanted = [], []
    for source in ends:
        for end in ends:
            unit = plan.homes[source][0]
            named, other = (
                plan.units[unit].ports[plan.exit(unit, source, end, alternate=alternate)]
                for alternate in (False, True)
            )
            counts = {one: rng.randrange(16) for one in CROWDING_PLACES}
            asked.append(
                {
                    "source": source,
                    "destination": end,
                    **{f"crowding.{name}": count for name, count in counts.items()},
                }
            )
            wanted.append((1, counts[named], counts[other]) if named != other else (0,))
    found = trace(RouteChoice(spec=SPEC), asked, ["forks", "named", "other"])
    assert [one if one[0] else (0,) for one in found] == wanted
    assert sum(one[0] for one in found) > 50


def test_a_link_whose_sources_do_not_choose_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"^RouteChoice spec must be of a mesh whose sources choose"
    ):
        RouteChoice(spec=LINK)
