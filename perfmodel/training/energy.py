"""Energy of each unit of work: operations, memory, bits on links, and additions of reductions.

Energy is proportional to the work: operations, bytes to and from memory, bits that cross each link
including those of the protocol, and additions of collectives. A reduction over N members takes N -
1 additions for each number of its vector, whether switches or NPUs add, so that the same transfer
always has the same energy. Endpoints that are not ideal read memory for collectives; writes of
collectives to memory are left out, as are leakage, clocks of idle units and cooling.
"""

from functools import cache
from pathlib import Path
from typing import Annotated

from fred_hw.choices import find_choice, not_one_of
from fred_hw.errors import InputError
from fred_hw.files import FileModel, load_model, number_range
from fred_hw.reading import SUFFIXES

__all__ = [
    "LINK_CLASSES",
    "EnergyTable",
    "energy_tables",
    "file_in",
    "load_energy",
    "read_energy",
]

_FOLDER = Path(__file__).with_name("energy_tables")

_Picojoules = Annotated[float, number_range(0.0, 1e6)]

LINK_CLASSES: tuple[str, ...] = ("npu_npu", "npu_switch", "switch_switch", "io", "remote_memory")
"""Link classes by the nodes at the ends; ``io`` if either end is one, or remote memory."""


class EnergyTable(FileModel):
    """Energy of each unit of work.

    Parameters
    ----------
    operation_pj : float
        An operation of an NPU [pJ/FLOP].
    addition_pj : float
        An addition of two numbers in a collective, by a switch or an NPU [pJ].
    memory_pj_per_bit : float
        A bit to or from the memory of an NPU [pJ/bit].
    npu_npu_pj_per_bit : float
        A bit over a link between two NPUs, both ends together [pJ/bit].
    npu_switch_pj_per_bit : float
        A bit over a link between an NPU and a switch [pJ/bit].
    switch_switch_pj_per_bit : float
        A bit over a link between two switches [pJ/bit].
    io_pj_per_bit : float
        A bit to or from an I/O controller [pJ/bit].
    remote_memory_pj_per_bit : float
        A bit to or from remote memory [pJ/bit].
    """

    operation_pj: _Picojoules
    addition_pj: _Picojoules
    memory_pj_per_bit: _Picojoules
    npu_npu_pj_per_bit: _Picojoules
    npu_switch_pj_per_bit: _Picojoules
    switch_switch_pj_per_bit: _Picojoules
    io_pj_per_bit: _Picojoules
    remote_memory_pj_per_bit: _Picojoules

    def joules(self, use: str, amount: float) -> float:
        """Return the energy of a use [J].

        The amount is in FLOP for ``operations``, a number of ``additions``, and in bytes for
        ``memory`` and ``LINK_CLASSES``, with those of the protocol.
        """
        if use == "operations":
            return 1e-12 * self.operation_pj * amount
        if use == "additions":
            return 1e-12 * self.addition_pj * amount
        return 8e-12 * float(getattr(self, f"{use}_pj_per_bit")) * amount


@cache
def energy_tables() -> tuple[str, ...]:
    """Return the names of the built-in energy tables, that of a wafer first."""
    return tuple(sorted((path.stem for path in _FOLDER.glob("*.yaml")), reverse=True))


def load_energy(path: Path) -> EnergyTable:
    """Return the energy table in a file.

    Raises
    ------
    InputError
        The file is unreadable, or a key is unknown, missing or has a value that is not allowed.
    """
    return load_model(EnergyTable, path)


@cache
def _shipped(name: str) -> EnergyTable:
    return load_energy(_FOLDER / f"{name}.yaml")


def file_in(name_or_path: str) -> str:
    """Return the path if a text is that of a file and not a built-in name; else an empty text."""
    is_name = find_choice(name_or_path, energy_tables()) is not None
    return name_or_path if name_or_path.endswith(SUFFIXES) and not is_name else ""


def read_energy(name_or_path: str) -> EnergyTable:
    """Return the energy table with a built-in name or in a YAML file.

    Raises
    ------
    InputError
        There is no such table, or as for :func:`load_energy`.
    """
    if name := find_choice(name_or_path, energy_tables()):
        return _shipped(name)
    if path := file_in(name_or_path):
        return load_energy(Path(path))
    other = "or a path ending in .yaml"
    raise InputError("", "energy", not_one_of(name_or_path, energy_tables(), otherwise=other))
