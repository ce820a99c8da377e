"""Topology files: what a user may write in YAML."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from fred_hw.errors import InputError
from fred_hw.files import FileModel, int_range, one_of, read_yaml, validate
from perfmodel import constants
from perfmodel.switch_timing.record import PROTOCOL_MODELS, ProtocolModel, load_record

from .fred import L1, FredTopology
from .graph import Topology
from .mesh import MeshTopology

__all__ = ["FredFile", "L1Entry", "MeshFile", "load_topology"]

MAX_NPUS = 4096


def _quantity(minimum: float, *, open_end: bool) -> BeforeValidator:
    """Check of a number in SI base units; YAML reads 3e12 as text, so such text is a number too."""

    def check(value: object) -> object:
        number = value
        if isinstance(value, str):
            try:
                number = float(value)
            except ValueError:
                number = None
        valid = isinstance(number, int | float) and not isinstance(number, bool)
        if not valid or not minimum <= float(number) < float("inf"):  # pyright: ignore[reportArgumentType]
            raise _refusal(minimum, value, open_end=open_end)
        if open_end and number == minimum:
            raise _refusal(minimum, value, open_end=open_end)
        return float(number)  # pyright: ignore[reportArgumentType]

    return BeforeValidator(check)


def _refusal(minimum: float, value: object, *, open_end: bool) -> PydanticCustomError:
    allowed = f"above {minimum:g}" if open_end else f"{minimum:g} or more"
    return PydanticCustomError(
        "int_range",
        "must be a number {allowed}, not {given}",
        {"allowed": allowed, "given": repr(value)},
    )


Rate = Annotated[float, _quantity(0, open_end=True)]
Time = Annotated[float, _quantity(0, open_end=False)]
Protocol = Annotated[ProtocolModel, one_of(*PROTOCOL_MODELS)]


class MeshFile(FileModel):
    """``kind: mesh``; bandwidths [B/s] per direction and latency [s] default to the published.

    Links carry the flits of the switch of ``link_record``, at the share of payload measured there.
    """

    kind: Annotated[str, one_of("mesh")]
    columns: Annotated[int, int_range(1, 64)]
    rows: Annotated[int, int_range(1, 64)]
    link_bytes_per_s: Rate = constants.MESH_LINK_BYTES_PER_S
    io_bytes_per_s: Rate = constants.IO_BYTES_PER_S
    link_latency_s: Time = constants.LINK_LATENCY_S
    link_record: str = "l1-12"
    protocol: Protocol = "measured"

    def build(self, name: str, base: Path | None = None) -> MeshTopology:
        """Return the topology; a record with a relative path is looked for in ``base``.

        Raises
        ------
        InputError
            The mesh has a single NPU, or the timing record is bad.
        """
        if self.columns * self.rows < 2:
            raise InputError(name, "", "must have 2 or more NPUs, not 1")
        return MeshTopology(
            name=name,
            columns=self.columns,
            rows=self.rows,
            link_bytes_per_s=self.link_bytes_per_s,
            io_bytes_per_s=self.io_bytes_per_s,
            link_latency_s=self.link_latency_s,
            link_timing=load_record(self.link_record, base, self.protocol),
        )


class L1Entry(FileModel):
    """One or ``count`` equal L1 switches: what hangs on each, and the record of its chiplet."""

    count: Annotated[int, int_range(1, 64)] = 1
    npus: Annotated[int, int_range(1, 64)]
    io_controllers: Annotated[int, int_range(0, 64)]
    record: str


class FredFile(FileModel):
    """``kind: fred``; bandwidths [B/s] per direction; ``l1_l2_bytes_per_s`` is that of one L1."""

    kind: Annotated[str, one_of("fred")]
    l1: Annotated[list[L1Entry], Field(min_length=1)]
    l2_record: str
    l1_l2_bytes_per_s: Rate
    in_network: bool
    npu_l1_bytes_per_s: Rate = constants.NPU_L1_BYTES_PER_S
    io_bytes_per_s: Rate = constants.IO_BYTES_PER_S
    link_latency_s: Time = constants.LINK_LATENCY_S
    protocol: Protocol = "measured"

    def build(self, name: str, base: Path | None = None) -> FredTopology:
        """Return the topology; records with relative paths are looked for in ``base``.

        Raises
        ------
        InputError
            There are fewer than 2 or more than 4096 NPUs, or a timing record is bad.
        """
        npus = sum(entry.count * entry.npus for entry in self.l1)
        if not 2 <= npus <= MAX_NPUS:
            raise InputError(name, "l1", f"must have 2 to {MAX_NPUS} NPUs in all, not {npus}")
        switches: list[L1] = []
        for entry in self.l1:
            timing = load_record(entry.record, base, self.protocol)
            one = L1(entry.npus, entry.io_controllers, self.l1_l2_bytes_per_s, timing)
            switches += [one] * entry.count
        return FredTopology(
            name=name,
            l1=switches,
            l2_timing=load_record(self.l2_record, base, self.protocol),
            npu_l1_bytes_per_s=self.npu_l1_bytes_per_s,
            io_bytes_per_s=self.io_bytes_per_s,
            link_latency_s=self.link_latency_s,
            in_network=self.in_network,
        )


class _Kind(FileModel, extra="ignore"):
    kind: Annotated[Literal["mesh", "fred"], one_of("mesh", "fred")]


def load_topology(path: Path, protocol: ProtocolModel | None = None) -> Topology:
    """Return the topology of a YAML file.

    Parameters
    ----------
    path : Path
        The file.
    protocol : str or None
        One of ``timing.PROTOCOL_MODELS``; None for what the file says.

    Raises
    ------
    InputError
        The file is unreadable, or a key is unknown, missing or has a value that is not allowed.
    """
    data = read_yaml(path)
    kind = validate(_Kind, data, str(path)).kind
    file = validate(MeshFile if kind == "mesh" else FredFile, data, str(path))
    if protocol:
        file = file.model_copy(update={"protocol": protocol})
    return file.build(str(path), path.parent)
