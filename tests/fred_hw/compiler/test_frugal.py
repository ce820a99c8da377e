"""Tests of fred_hw.compiler.frugal."""

from itertools import product

from fred_hw.compiler.assembly import assemble
from fred_hw.compiler.connections import BOTH, made_by
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.frugal import route_frugally
from fred_hw.compiler.placement import Strategy, phases
from fred_hw.compiler.routing import RoutingResult, route
from fred_hw.compiler.shape import layout
from fred_hw.compiler.tracing import arriving, path_of


def parts(results: dict[str, RoutingResult], ports: int, middle_switches: int) -> tuple[int, int]:
    """Return the reduction units and connections that some routings use together."""
    words = [one.configuration.pack() for one in results.values() if one.configuration]
    made = made_by(words, ports, middle_switches)
    kinds = {field.path: field.kind for field in layout(ports, middle_switches)}
    reducing = [path for path in made if kinds[path] in ("R", "RD")]
    units = sum(any(source == BOTH for source, _ in made[path]) for path in reducing)
    return units, sum(map(len, made.values()))


def all_phases(*strategies: str) -> dict[str, tuple[Flow, ...]]:
    return {
        f"{text}:{name}": flows
        for text in strategies
        for name, flows in phases(Strategy.parse(text)).items()
    }


def test_every_flow_gets_its_sum_on_the_path_that_the_result_names() -> None:
    for ports, texts in ((12, ("MP3-DP2-PP2", "MP2-DP3-PP2")), (7, ("MP2-DP3-PP1",))):
        for result in route_frugally(all_phases(*texts), ports, 3).values():
            assert result.configuration is not None
            got = arriving(result.configuration, range(ports))
            for flow, path in zip(result.flows, result.paths, strict=True):
                assert all(got[port] == {*flow.inputs} for port in flow.outputs)
                assert path_of(result.configuration, flow) == path


def test_phases_together_use_fewer_parts_than_routed_alone() -> None:
    needs = all_phases("MP1-DP12-PP1", "MP3-DP2-PP2", "MP2-DP3-PP2")
    alone = {name: route(flows, 12, 3) for name, flows in needs.items()}
    assert parts(alone, 12, 3) == (21, 155)
    assert parts(route_frugally(needs, 12, 3), 12, 3) == (20, 148)


def test_no_routing_of_two_small_phases_uses_fewer_parts() -> None:
    needs = {"pairs": (Flow([0, 1], [2]), Flow([2], [0])), "all": (Flow([0, 1, 2, 3], [1]),)}
    found = parts(route_frugally(needs, 4, 3), 4, 3)
    every = [
        parts(
            {
                name: RoutingResult(flows, 4, 3, "routed", paths)
                for (name, flows), paths in zip(needs.items(), chosen, strict=True)
            },
            4,
            3,
        )
        for chosen in product(
            [((a,), (b,)) for a in range(3) for b in range(3) if a != b],
            [((c,),) for c in range(3)],
        )
    ]
    assert found == min(every)


def test_phases_that_conflict_stay_in_conflict() -> None:
    circle = (Flow((0, 2), (0,)), Flow((1, 4), (2,)), Flow((3, 5), (4,)))
    found = route_frugally({"circle": circle, "one": circle[:1]}, 8, 2)
    assert [one.status for one in found.values()] == ["conflict", "routed"]
    assert assemble(circle[:1], found["one"].paths, 8, 2) == found["one"].configuration
