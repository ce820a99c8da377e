"""Energy of an iteration: operations, memory, link traffic, and additions of reductions.

Energy is proportional to the work: operations, bytes to and from memory, bits that cross each link
including those of the protocol, and additions of collectives. A reduction over N members takes N -
1 additions for each number of its vector, whether switches or NPUs add, so that the same transfer
always has the same energy. Endpoints that are not ideal read memory for collectives; writes of
collectives to memory are left out, as are leakage, clocks of idle units and cooling.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from fred_hw.choices import find_choice, not_one_of
from fred_hw.errors import InputError
from fred_hw.files import FileModel, load_model, number_range
from fred_hw.reading import SUFFIXES
from perfmodel.constants import NUMBER_BYTES
from perfmodel.network.fluid.task import Profile
from perfmodel.topology.graph import Topology

from .counted import Counted
from .graph import Work
from .parts import PARTS

__all__ = [
    "LINK_CLASSES",
    "Energy",
    "EnergyTable",
    "energy",
    "energy_tables",
    "file_in",
    "link_class",
    "load_energy",
    "profile_energy",
    "read_energy",
]

_FOLDER = Path(__file__).with_name("energy_tables")

_Picojoules = Annotated[float, number_range(0.0, 1e6)]

LINK_CLASSES: tuple[str, ...] = ("npu_npu", "npu_switch", "switch_switch", "io", "remote_memory")
"""Link classes by the nodes at the ends; ``io`` if either end is one, or remote memory."""

_USES: tuple[str, ...] = ("operations", "memory", "additions", *LINK_CLASSES)


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

    def link_j_per_byte(self, name: str) -> float:
        """Return the energy per byte on a link of a class [J/B]."""
        return 8e-12 * float(getattr(self, f"{name}_pj_per_bit"))


@dataclass(frozen=True, slots=True)
class Energy:
    """Energy of an iteration over all NPUs and links.

    Parameters
    ----------
    total_j : float
        Total energy [J].
    parts_j : dict
        Energy by compute and kinds of communication, ``parts.PARTS`` [J].
    uses_j : dict
        Energy by ``operations``, ``memory``, ``additions`` and ``LINK_CLASSES`` [J].
    """

    total_j: float
    parts_j: dict[str, float]
    uses_j: dict[str, float]


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


def link_class(topology: Topology, link: int, endpoints: int = 0) -> str | None:
    """Return the class of a link in a profile; None for the rounds inside a switch.

    Behind ``topology.capacities`` are the endpoints that read memory for collectives, so many, and
    then the links to remote memory.
    """
    behind = link - len(topology.capacities)
    if behind >= 0:
        return "memory" if behind < endpoints else "remote_memory"
    if link >= len(topology.links):
        return None
    kinds = topology.link_ends(link)
    return "io" if "io" in kinds else "_".join(kinds)


def profile_energy(
    table: EnergyTable, topology: Topology, profile: Profile, npus: int = 1, endpoints: int = 0
) -> dict[str, float]:
    """Return the energy of one task by use, without unused entries [J].

    Parameters
    ----------
    table : EnergyTable
        Energy of each unit of work.
    topology : Topology
        Topology whose links the profile loads.
    profile : Profile
        Compute of one NPU, or a transfer of all that communicate at once.
    npus : int
        Number of NPUs that compute the same.
    endpoints : int
        See :func:`link_class`.
    """
    found: dict[str, float] = {}
    if isinstance(profile, Work):
        found["operations"] = npus * 1e-12 * table.operation_pj * profile.operations
        found["memory"] = npus * 8e-12 * table.memory_pj_per_bit * profile.moved_bytes
    if profile.added_bytes:
        found["additions"] = 1e-12 * table.addition_pj * profile.added_bytes / NUMBER_BYTES
    for link, carried in profile.loads:
        name = link_class(topology, link, endpoints)
        if name is None:
            continue
        if name == "memory":
            joules = 8e-12 * table.memory_pj_per_bit * carried
        else:
            share = 1.0 if name == "remote_memory" else topology.links[link].efficiency
            joules = table.link_j_per_byte(name) * carried / share
        found[name] = found.get(name, 0.0) + joules
    return found


def energy(
    table: EnergyTable, topology: Topology, counts: Counted, npus: int, endpoints: int = 0
) -> Energy:
    """Return the energy of an iteration.

    Parameters
    ----------
    table, topology : EnergyTable, Topology
        See :func:`profile_energy`.
    counts : Counted
        Number of executions of each task.
    npus : int
        NPUs of a pipeline stage.
    endpoints : int
        See :func:`link_class`.
    """
    parts = dict.fromkeys(PARTS, 0.0)
    uses = dict.fromkeys(_USES, 0.0)
    for kind, profile, times in counts:
        for use, joules in profile_energy(table, topology, profile, npus, endpoints).items():
            parts[kind] += times * joules
            uses[use] += times * joules
    return Energy(sum(parts.values()), parts, uses)
