"""Entries of the configuration memory."""

from collections.abc import Iterable, Sequence

from fred_hw.checks import check_int
from fred_hw.compiler.flows import Flow
from fred_hw.networks.network import NETWORKS, NetworkConfiguration
from fred_hw.protocol import FULL_GENERATIONS, GENERATION_BITS, GENERATIONS
from fred_hw.published import CONFIGURATION_BYTES
from fred_hw.spec import SwitchSpec
from fred_hw.virtual_channels import CLASS_BITS

__all__ = ["entry_bits", "entry_word", "phase_fields", "phases_that_fit"]


def phase_fields(spec: SwitchSpec) -> dict[str, int]:
    """Return the width of each field of a phase's entry, the lowest field first.

    ``inputs`` and ``outputs`` hold the number of each port's flow, from 1, or 0 for none;
    ``circuit`` is the virtual channel of the phase's packets, and ``used`` whether the phase
    exists. ``generation`` distinguishes its packets from those of the previous entry.
    """
    flow = spec.ports.bit_length()
    return {
        "configuration": spec.configuration_width,
        "inputs": flow * spec.ports,
        "outputs": flow * spec.ports,
        "circuit": CLASS_BITS,
        "used": 1,
        "generation": GENERATION_BITS,
    }


def entry_bits(spec: SwitchSpec) -> int:
    """Return the bits of an entry."""
    return sum(phase_fields(spec).values())


def phases_that_fit(spec: SwitchSpec, memory_bytes: int = CONFIGURATION_BYTES) -> int:
    """Return how many entries of a switch fit in a memory."""
    return 8 * memory_bytes // entry_bits(spec)


def entry_word(
    spec: SwitchSpec,
    configuration: NetworkConfiguration,
    flows: Sequence[Flow],
    circuit: int,
    *,
    generation: int = 0,
) -> int:
    """Return the entry of a phase.

    Parameters
    ----------
    spec : SwitchSpec
        The switch.
    configuration : NetworkConfiguration
        Configuration that routes exactly these flows.
    flows : sequence of Flow
        Flows with disjoint inputs and disjoint outputs.
    circuit : int
        Number of the urgency class, 0 for the most urgent one.
    generation : int
        One more than that of the previous entry, 0 to 65,535. The entry holds its lowest bits.

    Raises
    ------
    ValueError
        The virtual channel or the generation does not exist, two flows share a port, or the
        configuration does not route exactly the inputs of its flow to each output, for example if
        it joins two flows. A pruned switch has no such configuration.
    """
    if circuit not in range(spec.protocol.urgency_classes):
        most = spec.protocol.urgency_classes - 1
        raise ValueError(f"circuit must be 0 to {most}, not {circuit}")
    check_int("generation", generation, minimum=0, maximum=FULL_GENERATIONS - 1)
    if configuration.shape != spec.shape:
        raise ValueError(f"configuration must be of {spec.shape}, not of {configuration.shape}")
    if spec.needed is not None and configuration.pack() not in {0, *spec.needed}:
        word = configuration.pack()
        raise ValueError(f"configuration must be one of the words in spec.only, not {word:#x}")
    inputs = _flow_numbers(spec.ports, [flow.inputs for flow in flows])
    outputs = _flow_numbers(spec.ports, [flow.outputs for flow in flows])
    _check_arrivals(spec, configuration, flows, outputs)
    width = spec.ports.bit_length()
    values = {
        "configuration": configuration.pack(),
        "inputs": sum(number << width * port for port, number in enumerate(inputs)),
        "outputs": sum(number << width * port for port, number in enumerate(outputs)),
        "circuit": circuit,
        "used": 1,
        "generation": generation % GENERATIONS,
    }
    word = offset = 0
    for name, bits in phase_fields(spec).items():
        word |= values[name] << offset
        offset += bits
    return word


def _flow_numbers(ports: int, flows: Sequence[Iterable[int]]) -> list[int]:
    """Return the flow number of each port, from 1, or 0 for no flow."""
    numbers = [0] * ports
    for number, members in enumerate(flows, 1):
        for port in members:
            if numbers[port]:
                raise ValueError(f"flows must have disjoint ports, not port {port} in two")
            numbers[port] = number
    return numbers


def _check_arrivals(
    spec: SwitchSpec,
    configuration: NetworkConfiguration,
    flows: Sequence[Flow],
    outputs: Sequence[int],
) -> None:
    """Fail unless a configuration connects each output to exactly the inputs of its flow."""
    sources = [port for flow in flows for port in flow.inputs]
    reached = NETWORKS[spec.network].arriving(configuration, sources)
    for port, (found, number) in enumerate(zip(reached, outputs, strict=True)):
        wanted = frozenset(flows[number - 1].inputs) if number else frozenset()
        if found != wanted:
            raise ValueError(
                f"configuration must bring output {port} inputs {sorted(wanted)}, "
                f"not {sorted(found)}"
            )
