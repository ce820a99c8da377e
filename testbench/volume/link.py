"""Volume test of a link: a Verilated endpoint at each end, and a compiled faulty channel."""

# Amaranth has no type hints.
# pyright: reportAttributeAccessIssue=false, reportReturnType=false, reportArgumentType=false

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.hdl import Cat, Module
from amaranth.lib.wiring import In, Out

from fred_hw.endpoint.endpoint import Endpoint
from fred_hw.member import member, members
from fred_hw.per_class import per_class
from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, place
from gen.emitter import VerilogEmitter

from .conditions import Conditions
from .program import run_program
from .wires import build_wired, join_link, join_payload, wires

__all__ = ["ALL_FLOWS", "EndpointPair", "LinkRun", "build_link", "run_link"]

_EACH = per_class(ProtocolSpec())
FLOWS = 2 * _EACH
ALL_FLOWS = tuple(range(FLOWS))
"""Flow f runs from end f // 3 to the other end, on data virtual channel f % 3."""


class EndpointPair(Unit):
    """Both ends of a link; the bench provides the channel between them.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Timing
    ------
    Latency : that of the ends.
    Throughput : that of the ends.
    Paths : those of the ends.
    Reset : that of the ends.
    """

    pins = members(lambda u: wires(u.spec, 2, FLOWS))
    """``i<f>_valid``, ``ready``, ``last``, ``data`` and ``o<f>_...``: payload of flow f, entering
    at its source and leaving at its destination. ``m<e>_valid``, ``ready``, ``last``, ``data``,
    ``header``, ``crc`` and ``s<e>_...``: the link, from and to endpoint e."""
    clear = member(In, 1)
    """Restart all numbers at 0."""
    idle = member(Out, FLOWS)
    """Whether the source of each flow is idle."""
    rewinds = member(Out, FLOWS)
    """Whether the source of each flow retransmits."""
    dropped = member(Out, 2)
    """Whether each endpoint drops a flit."""
    error = member(Out, 1)
    """Any error of the endpoints that a correct neighbour never causes."""
    phases = members(
        lambda u: {f"phase{flow}": In(u.spec.protocol.fields["phase"]) for flow in ALL_FLOWS}
    )
    """Phase of flow f at both endpoints, ``phase<f>``. For unicasts their addresses are 0 and 1, or
    in a mesh whose sources choose routes 0 and that of its last NPU."""

    def __init__(self, spec: SwitchSpec) -> None:
        self.spec = spec
        paths = spec.protocol.routes
        self.addresses = (0, 1 if paths is None else paths.width * paths.height - 1)
        self.unit_name = "endpoint_pair"
        super().__init__()

    def build(self, m: Module) -> None:
        ends = [place(m, f"end_{k}", Endpoint(spec=self.spec)) for k in range(2)]
        for k, end in enumerate(ends):
            join_link(m, self, k, end)
            m.d.comb += [
                end.address.eq(self.addresses[k]),
                end.send_clear.eq(self.clear.replicate(_EACH)),
                end.receive_clear.eq(self.clear.replicate(_EACH)),
                self.idle[_EACH * k : _EACH * (k + 1)].eq(end.idle),
                self.rewinds[_EACH * k : _EACH * (k + 1)].eq(end.rewinds),
                self.dropped[k].eq(end.dropped),
            ]
        for flow in ALL_FLOWS:
            self._connect(m, flow, ends[flow // _EACH], ends[1 - flow // _EACH])
        causes = [
            getattr(end, name)
            for end in ends
            for name in ("unknown", "kind_error", "length_error", "overflow")
        ]
        m.d.comb += self.error.eq(Cat(causes).any())

    def _connect(self, m: Module, flow: int, source: Any, destination: Any) -> None:
        circuit = flow % _EACH
        phase = getattr(self, f"phase{flow}")
        sent, received = source.send_flow[circuit], destination.receive_flow[circuit]
        here, there = flow // _EACH, 1 - flow // _EACH
        for one, peer in ((sent, self.addresses[there]), (received, self.addresses[here])):
            m.d.comb += [one.phase.eq(phase), one.peer.eq(peer), one.generation.eq(phase)]
        join_payload(m, self, flow, source.send[circuit], destination.receive[circuit])


def build_link(spec: SwitchSpec, emitter: VerilogEmitter | None = None) -> Path:
    """Verilate both ends with the harness; return the program, from the cache if present.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes; flits of 32 to 64 bits.
    emitter : VerilogEmitter, optional
        One that puts broken units into the design.

    Raises
    ------
    ValueError
        The flits have another width.
    SimulatorError
        Verilator is not installed or could not build.
    """
    pair = EndpointPair(spec)
    return build_wired("link.cpp", pair, spec, emitter, flows=FLOWS, links=2, more=["phase"])


@dataclass(frozen=True, kw_only=True)
class LinkRun(Conditions):
    """Traffic between two endpoints, and its conditions.

    Parameters
    ----------
    flits : int
        Flits of payload, of all flows together.
    packet_flits : int
        Longest packet.
    fixed : bool
        Whether all packets are that long.
    flows : tuple of int
        Those that have packets; see ``ALL_FLOWS``.
    rounds : int
        Times that the flows get other phases and start their numbers at 0; the flits are shared
        among the rounds.
    link_stall_percent : int
        Share of cycles in which the channel takes no flit [%].
    """

    flits: int
    packet_flits: int = 8
    fixed: bool = False
    flows: tuple[int, ...] = ALL_FLOWS
    rounds: int = 1
    link_stall_percent: int = 0

    def options(self) -> dict[str, float]:
        return super().options() | {"flows": sum(1 << flow for flow in self.flows)}


def run_link(program: Path, run: LinkRun) -> dict[str, Any]:
    """Send packets between two endpoints; return the counts of the harness.

    Parameters
    ----------
    program : Path
        Program from :func:`build_link`.
    run : LinkRun
        Traffic and conditions.

    Returns
    -------
    dict
        ``right``
            All flits have arrived, in order, each once, all are acknowledged, and no rule was
            broken.
        ``flits``, ``matched``, ``wrong``
            Expected, delivered, and delivered with a wrong payload.
        ``violations``, ``messages``
            Number of violations of docs/reference/protocol.md, and descriptions of the first ones.
        ``cycles``, ``span_cycles``
            Length of the whole run; from the first accepted flit to the last delivered one.
        ``rewinds``, ``dropped``, ``errors``
            Strobes of the endpoints.
        ``changes``
            Number of times that a source changed its route with no packet in flight; otherwise it
            is a violation.
        ``from_0``, ``from_1``
            Flits sent by each endpoint, by kind.
        ``faults``
            Faults by kind.
    """
    return run_program(program, run.options(), run.plusargs)
