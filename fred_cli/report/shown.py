"""Report section of one all-reduce in the interconnect: waveforms, and flits by stage."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fred_cli.cosimulation import load_testbench, simulating
from fred_cli.drawings.interconnect import draw_interconnect
from fred_cli.drawings.waves import MOST_PORTS, draw_waves
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.routing import route
from fred_hw.errors import InputError
from fred_hw.spec import SwitchSpec

__all__ = ["AllReduce", "all_reduce", "columns", "find_simulator", "shown_folder"]


@dataclass(frozen=True)
class AllReduce:
    """A co-simulated all-reduce of all ports.

    Parameters
    ----------
    drawing : str
        The interconnect that it is routed through, as SVG.
    waves : str
        Flits on the ports, as SVG; empty if no simulator is installed.
    simulator : str
        Name and version.
    steps : dict
        For the animation: ``columns``, first age of a flit in each stage and the age at which it
        is on the outputs [cycles]; ``sent``, cycles in which flits went in; ``inputs`` and
        ``outputs`` as seen on the first port; ``cycles``.
    cut : bool
        Whether there are more ports than shown in the waves.
    """

    drawing: str
    waves: str
    simulator: str
    steps: dict[str, Any]
    cut: bool


def all_reduce(spec: SwitchSpec, simulators: list[str]) -> AllReduce | None:
    """Co-simulate an all-reduce with the first available simulator; None if there is none."""
    flow = Flow(range(spec.ports), range(spec.ports))
    routing = route([flow], spec.ports, spec.middle_switches)
    shown = _shown(spec, simulators)
    if shown is None or routing.configuration is None:
        return None
    title = f"{shown.latency_cycles} cycles from the inputs to the sums on all outputs"
    steps = {
        "columns": columns(spec),
        "sent": [k for k, text in enumerate(shown.inputs[0]) if text is not None],
        "inputs": [[row[k] for row in shown.inputs] for k in range(len(shown.inputs[0]))],
        "outputs": shown.outputs[0],
        "cycles": len(shown.inputs[0]),
    }
    return AllReduce(
        drawing=draw_interconnect(routing.configuration, [flow]),
        waves=draw_waves(shown.inputs, shown.outputs, shown.latency_cycles, title),
        simulator=f"{shown.simulator} {shown.version}",
        steps=steps,
        cut=spec.ports > MOST_PORTS,
    )


def columns(spec: SwitchSpec) -> list[int]:
    """Return the first cycle of a flit in each stage, and then on the outputs.

    A micro-switch that can reduce takes the registers of the adder and of the crossing, one that
    only distributes those of the crossing (docs/explanation/architecture.md).
    """
    halvings, ports = 0, spec.ports
    while ports > 2:
        halvings, ports = halvings + 1, (ports + 1) // 2
    crossing = spec.stage_registers
    ages = [0]
    for _ in range(halvings + 1):
        ages.append(ages[-1] + spec.adder_registers + crossing)
    for _ in range(halvings):
        ages.append(ages[-1] + crossing)
    return ages


def shown_folder(spec: SwitchSpec) -> Path:
    """Return the folder in which the shown all-reduce is simulated."""
    return Path("build/sim-results") / spec.name / "shown"


def find_simulator(simulators: Sequence[str]) -> str | None:
    """Return the first available simulator, or None."""
    try:
        load_testbench("icarus")
    except InputError:
        return None
    from testbench.sim.simulator import SIMULATORS

    found = (name for name in simulators if name in SIMULATORS and SIMULATORS[name].find())
    return next(found, None)


def _shown(spec: SwitchSpec, simulators: Sequence[str]) -> Any:
    name = find_simulator(simulators)
    if name is None:
        return None
    from testbench.cosimulation.shown import cosimulate_shown

    with simulating(spec.name):
        return cosimulate_shown(spec, shown_folder(spec), name)
