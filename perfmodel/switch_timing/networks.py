"""Records of networks on a chip: FRED and its baselines, synthesized and simulated alike."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from fred_hw.files import FileModel

from .measured_record import as_tuple
from .record import RECORDS
from .synthesized import Count, Size, SynthesizedRecord

__all__ = ["REDUCING", "SHIPPED_NETWORKS", "WHOLE", "NetworkFigures", "NetworkRecord"]

SHIPPED_NETWORKS = RECORDS / "networks-fp16x1.json"
"""FRED, a crossbar with reduction trees and a Benes network, with one lane of FP16."""

REDUCING = "mesh+reduction"
"""Network of a mesh whose routers reduce and multicast."""
WHOLE = ("mesh", REDUCING, "switch")
"""Networks whose rows include links and buffers."""

Share = Annotated[float, Field(ge=0, le=1)]


class NetworkFigures(FileModel):
    """Figures of a network with a number of ports, without wires.

    Figures that a network does not have are None.

    Parameters
    ----------
    network, ports : str, int
        ``FRED_3``, ``FRED_2``, ``crossbar``, ``benes`` or one of ``WHOLE``, and its ports. The
        ports of a mesh are its NPUs, and ``switch`` is a whole switch around FRED_3.
    name : str
        Name of its top module.
    area_um2, clock_ns : float
        Area of its cells [um2], and its shortest clock period, register to register [ns]. The area
        of ``WHOLE`` includes links and buffers, and that of ``mesh`` an adder per lane and NPU.
    flip_flops, memory_bits : int
        Flip-flops in it, and bits of memories, which are not in the area. The flip-flops of a mesh
        do not include those of the added adders.
    other_share : float
        Share of the area that is no adder, pipeline register or multiplexer.
    latency_cycles : int
        Latency of a flit from port to port, co-simulated [cycles]; on a mesh, on the longest route.
    all_reduce_w : float
        Power in an all-reduce of all ports at the target clock, a flit per port and cycle [W]. The
        NPUs of ``mesh`` form a ring, and their adders are not included.
    random_share, phase_share : float
        Share of random flow sets, and of phases of strategies, that route at once.
    not_measured : str
        Reason why figures are None; empty if there are all.
    verilog_sha256 : str
        Canonical hash of the Verilog.
    git_commit : str
        Revision that was measured; empty if it is that of the record.
    """

    network: str
    ports: Annotated[int, Field(ge=2, le=64)]
    name: str
    area_um2: Size
    clock_ns: Size
    flip_flops: Count
    memory_bits: Count
    other_share: Share
    latency_cycles: Count
    all_reduce_w: Size
    random_share: Share | None
    phase_share: Share | None
    not_measured: str = ""
    verilog_sha256: str
    git_commit: str = ""

    @property
    def area_per_port_um2(self) -> float:
        """Area per port [um2]."""
        return self.area_um2 / self.ports

    @property
    def mw_per_port(self) -> float:
        """Power per port in an all-reduce of all ports at the target clock [mW]."""
        return 1e3 * self.all_reduce_w / self.ports

    @property
    def latency_ns(self) -> float:
        """Latency at the shortest clock [ns]."""
        return self.latency_cycles * self.clock_ns

    def beats(self, other: "NetworkFigures") -> bool:
        """Whether no figure of latency, area and clock is worse, and one is better."""
        own = self.latency_ns, self.area_um2, self.clock_ns
        others = other.latency_ns, other.area_um2, other.clock_ns
        return own != others and all(a <= b for a, b in zip(own, others, strict=True))


class NetworkRecord(SynthesizedRecord):
    """Figures of networks, for one configuration and one library.

    Parameters
    ----------
    schema : str
        ``fred-networks/1``; the field is called ``schema_name`` in Python.
    seed, flow_sets, cycles : int
        Seed of all stimulus, number of random flow sets, and cycles in which power is counted.
    networks : tuple of NetworkFigures
        Figures by network and ports.
    """

    schema_name: Annotated[Literal["fred-networks/1"], Field(alias="schema")]
    seed: Annotated[int, Field(ge=1)]
    flow_sets: Annotated[int, Field(ge=1)]
    cycles: Annotated[int, Field(ge=1)]
    networks: Annotated[tuple[NetworkFigures, ...], BeforeValidator(as_tuple), Field(min_length=1)]

    def front(self, ports: int) -> tuple[NetworkFigures, ...]:
        """Return the networks of a number of ports that no other one beats.

        ``WHOLE`` is left out, since its rows include links and buffers.
        """
        found = [one for one in self.networks if one.ports == ports and one.network not in WHOLE]
        return tuple(one for one in found if not any(other.beats(one) for other in found))
