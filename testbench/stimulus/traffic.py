"""Stimulus for the interconnect and its baselines: numbers, flows and routed configurations."""

import random
from collections.abc import Callable, Iterator, Sequence

from fred_hw.compiler.benes import BenesConfiguration, route_benes, switch_count
from fred_hw.compiler.collectives import collective_steps
from fred_hw.compiler.configuration import Configuration
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import Strategy, phases
from fred_hw.compiler.reduction_crossbar import CrossbarConfiguration, route_crossbar
from fred_hw.compiler.shape import subswitch_ports
from fred_hw.compiler.tracing import flows_of
from fred_hw.formats.number_format import FloatFormat, NumberFormat
from fred_hw.networks.network import NETWORKS
from fred_hw.spec import SwitchSpec
from testbench.models.golden import AnyConfiguration

__all__ = [
    "ROUTERS",
    "collective_runs",
    "flits_for",
    "needed_runs",
    "random_configuration",
    "random_flit",
    "random_flows",
    "random_run",
    "routed",
    "routed_random_flows",
    "strategy_phases",
    "strategy_runs",
]


def random_number(rng: random.Random, number_format: NumberFormat) -> int:
    """Return a random storage word, or one near others so that sums round and cancel."""
    if isinstance(number_format, FloatFormat) and rng.random() < 0.8:
        largest = (1 << number_format.exponent_bits) - 1
        exponent = min(max(number_format.bias + rng.randint(-3, 3), 0), largest)
        fraction = rng.getrandbits(number_format.fraction_bits)
        sign = rng.getrandbits(1) << (number_format.bits - 1)
        number = sign | (exponent << number_format.fraction_bits) | fraction
        return number << number_format.padding_below
    return rng.getrandbits(number_format.storage_bits)


def random_flit(rng: random.Random, spec: SwitchSpec) -> int:
    """Return a flit of random lanes."""
    flit = 0
    for lane in range(spec.lanes):
        flit |= random_number(rng, spec.number_format) << (lane * spec.number_format.storage_bits)
    return flit


def flits_for(
    rng: random.Random, spec: SwitchSpec, flows: Sequence[Flow], busy: float = 1.0
) -> list[int | None]:
    """Return a flit for each input of the active flows, a random share ``busy`` of all."""
    flits: list[int | None] = [None] * spec.ports
    for flow in flows:
        if rng.random() < busy:
            for port in flow.inputs:
                flits[port] = random_flit(rng, spec)
    return flits


def routed(flows: Sequence[Flow], spec: SwitchSpec) -> Configuration | CrossbarConfiguration | None:
    """Return the configuration of the flows in the network of a switch; None if they conflict."""
    return NETWORKS[spec.network].route(flows, spec).configuration


def random_flows(rng: random.Random, ports: int) -> list[Flow]:
    """Return disjoint random flows: reductions, multicasts, all-reduces and unicasts."""
    inputs = rng.sample(range(ports), ports)
    outputs = rng.sample(range(ports), ports)
    flows = []
    while inputs and outputs and rng.random() < 0.95:
        fan_in = min(len(inputs), rng.choice((1, 1, 2, 2, 3, 4, ports)))
        fan_out = min(len(outputs), rng.choice((1, 1, 2, 2, 3, 4, ports)))
        flows.append(
            Flow(
                inputs=tuple(sorted(inputs.pop() for _ in range(fan_in))),
                outputs=tuple(sorted(outputs.pop() for _ in range(fan_out))),
            )
        )
    return flows


Router = Callable[[Sequence[Flow], SwitchSpec], AnyConfiguration | None]

ROUTERS: dict[str, Router] = {
    "interconnect": routed,
    "crossbar": lambda flows, spec: route_crossbar(flows, spec.ports),
    "benes": lambda flows, spec: route_benes(flows, spec.ports)[1],
}
"""Routing of flows on each network, by generator level; None if they do not route."""


def routed_random_flows(
    rng: random.Random, spec: SwitchSpec
) -> tuple[list[Flow], Configuration | CrossbarConfiguration]:
    """Return random flows that can be routed; flows of a conflict are dropped one by one."""
    flows = random_flows(rng, spec.ports)
    while True:
        result = NETWORKS[spec.network].route(flows, spec)
        if result.configuration is not None:
            return flows, result.configuration
        flows.pop(rng.choice(result.conflict) if result.conflict else -1)


def random_configuration(rng: random.Random, spec: SwitchSpec, level: str) -> AnyConfiguration:
    """Return a configuration of a network, all of whose settings are independent and random."""
    ports = spec.ports
    if level == "crossbar":
        return CrossbarConfiguration(tuple(rng.getrandbits(ports) for _ in range(ports)))
    if level == "benes":
        settings = ((rng.randrange(4), rng.randrange(4)) for _ in range(switch_count(ports)))
        return BenesConfiguration(ports, tuple(settings))
    return _random_settings(rng, ports, spec.middle_switches)


def _random_settings(rng: random.Random, ports: int, middle_switches: int) -> Configuration:
    if ports == 2:
        return Configuration(2, middle_switches, crossing=(rng.randint(0, 3), rng.randint(0, 3)))

    def code() -> int:
        return rng.randint(0, middle_switches)

    def pairs() -> tuple[tuple[int, int], ...]:
        return tuple((code(), code()) for _ in range(ports // 2))

    inner = subswitch_ports(ports)
    return Configuration(
        ports,
        middle_switches,
        inputs=pairs(),
        demux=code() if ports % 2 else None,
        subswitches=tuple(
            _random_settings(rng, inner, middle_switches) for _ in range(middle_switches)
        ),
        outputs=pairs(),
        mux=code() if ports % 2 else None,
    )


def random_run(
    rng: random.Random, spec: SwitchSpec, level: str
) -> tuple[list[Flow], AnyConfiguration]:
    """Return random flows that a network can route; flows are dropped until it can."""
    if level == "interconnect":
        return routed_random_flows(rng, spec)
    flows = random_flows(rng, spec.ports)
    while (configuration := ROUTERS[level](flows, spec)) is None:
        flows.pop()
    return flows, configuration


def collective_runs(
    rng: random.Random, spec: SwitchSpec, kind: str, level: str = "interconnect"
) -> Iterator[tuple[tuple[Flow, ...], AnyConfiguration]]:
    """Yield the steps of a collective over several groups, with their configurations."""
    sizes = {2} if kind == "unicast" else {2, spec.ports, rng.randint(2, spec.ports)}
    for size in sorted(sizes):
        members = tuple(sorted(rng.sample(range(spec.ports), size)))
        for flows in collective_steps(kind, members):
            configuration = ROUTERS[level](flows, spec)
            assert configuration is not None, f"{kind} over {members} does not route: {flows}"
            yield flows, configuration


def needed_runs(spec: SwitchSpec) -> Iterator[tuple[list[Flow], Configuration]]:
    """Yield the only configurations of a specification, with their flows."""
    for word in sorted(spec.needed or ()):
        configuration = Configuration.unpack(word, spec.ports, spec.middle_switches)
        yield flows_of(configuration), configuration


def strategy_phases(ports: int) -> Iterator[tuple[str, tuple[Flow, ...]]]:
    """Yield every phase of the 3D-parallel strategies that leave the fewest ports unused."""
    for mp in range(1, ports + 1):
        for dp in range(1, ports // mp + 1):
            strategy = Strategy(mp=mp, dp=dp, pp=ports // (mp * dp))
            for name, flows in phases(strategy, ports=ports).items():
                yield f"{strategy} {name}", flows


def strategy_runs(
    spec: SwitchSpec, level: str = "interconnect"
) -> Iterator[tuple[str, tuple[Flow, ...], AnyConfiguration]]:
    """Yield every phase of :func:`strategy_phases` that a network can route."""
    for name, flows in strategy_phases(spec.ports):
        configuration = ROUTERS[level](flows, spec)
        if configuration is not None:
            yield name, flows, configuration
