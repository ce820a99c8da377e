"""Co-simulation of one all-reduce, recorded cycle by cycle for the report."""

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from fred_hw.datapath.network import network_latency_cycles
from fred_hw.formats.number_format import NumberFormat
from fred_hw.formats.values import encoded, numbers_of, storage, stored, values_of
from fred_hw.spec import SwitchSpec
from gen.design import generate
from testbench.models.golden import lanes_of, word_of
from testbench.sim.kept import kept
from testbench.sim.tools import SimulatorError

from .benches import benches
from .launch import launch

__all__ = ["Shown", "as_text", "cosimulate_shown"]

FLITS = 3


@dataclass(frozen=True)
class Shown:
    """Flits on the ports of an interconnect during an all-reduce over all ports.

    Parameters
    ----------
    simulator, version : str
        Simulator that ran the Verilog, and its version.
    latency_cycles : int
        Counted cycles from a flit on the inputs to the same flit on the outputs.
    inputs, outputs : tuple of tuple of str or None
        For each port and cycle the number in the first lane; None without a flit.
    """

    simulator: str
    version: str
    latency_cycles: int
    inputs: tuple[tuple[str | None, ...], ...]
    outputs: tuple[tuple[str | None, ...], ...]


def cosimulate_shown(spec: SwitchSpec, work: Path, simulator: str = "icarus") -> Shown:
    """Run an all-reduce of all ports on the generated Verilog and return the observed flits.

    Every flit is compared with the golden model's, as in the regression.

    Parameters
    ----------
    spec : SwitchSpec
        Specification to simulate.
    work : Path
        Folder for logs.
    simulator : str
        A name of ``SIMULATORS``.

    Raises
    ------
    SimulatorError
        The simulator is not installed or failed, or the outputs are not what they should be.
    """
    form, latency = spec.number_format, network_latency_cycles(spec)
    flits = [[_flit(1 + k + port % 2, spec) for port in range(spec.ports)] for k in range(FLITS)]
    make = partial(kept, generate, spec)
    environment = {"FRED_FLITS": json.dumps(flits), "FRED_LATENCY": latency}
    found = launch(benches("shown"), make, spec, work, environment, {"simulator": simulator})
    if found.failures:
        raise SimulatorError(f"{simulator}: the all-reduce to show: {found.failures[0].message}")
    rows = {
        side: tuple(
            tuple(
                None if flit is None else as_text(int(lanes_of(flit, spec)[0]), form)
                for flit in row
            )
            for row in found.measurements[side]
        )
        for side in ("i", "o")
    }
    counted = next(k for k, text in enumerate(rows["o"][0]) if text is not None)
    return Shown(simulator, found.version, counted, rows["i"], rows["o"])


def _flit(number: int, spec: SwitchSpec) -> int:
    """Return a flit with a small number in all lanes."""
    numbers = encoded(np.full(spec.lanes, number), spec.number_format)
    return word_of(stored(numbers, spec.number_format), spec)


def as_text(word: int, form: NumberFormat) -> str:
    """Return the number that a storage word holds."""
    words = np.asarray(word, storage(form))
    value = values_of(numbers_of(words, form), form).item()
    return str(value) if isinstance(value, int) else f"{value:g}"
