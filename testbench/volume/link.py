"""Volume test of a link: an endpoint at each end, Verilated, and a compiled faulty channel."""

# Amaranth has no types.
# pyright: reportAttributeAccessIssue=false, reportReturnType=false, reportArgumentType=false

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from amaranth.hdl import Cat, Module
from amaranth.lib.wiring import In, Member, Out

from fred_hw.endpoint.endpoint import Endpoint
from fred_hw.protocol import CRC_BITS, DATA_CIRCUITS, HEADER_BITS
from fred_hw.spec import SwitchSpec
from fred_hw.unit import Unit, place
from gen.emitter import VerilogEmitter
from testbench.sim.harness import build_harness

from .program import harness_sources, run_program

__all__ = ["ALL_FLOWS", "EndpointPair", "build_link", "check_width", "run_link"]

COUNT = len(DATA_CIRCUITS)
FLOWS = 2 * COUNT
ALL_FLOWS = tuple(range(FLOWS))
"""Flow f goes from end f // 3 to the other, on data circuit f % 3."""

_LINK = ("valid", "ready", "last", "data", "header", "crc")
_PAYLOAD = ("valid", "ready", "last", "data")


class EndpointPair(Unit):
    """Both ends of a link, with the channel between them left to the bench.

    Parameters
    ----------
    spec : SwitchSpec
        Sizes.

    Members
    -------
    i<f>_valid, ready, last, data; o<f>_...
        Payload of flow f, in at its source and out at its destination.
    phase<f>, peer<f> : In
        Of flow f, for both of its ends.
    m<e>_valid, ready, last, data, header, crc; s<e>_...
        The link, from and to end e.
    clear : In(1)
        Start all numbers at 0.
    idle, gone_back : Out(6)
        Of the sources of the flows.
    dropped, error : Out(2), Out(1)
        Of the ends; ``error`` for any of those that a right neighbour never causes.

    Timing
    ------
    Latency : that of the ends.
    Throughput : that of the ends.
    Paths : those of the ends.
    Reset : that of the ends.
    """

    def __init__(self, spec: SwitchSpec) -> None:
        self.spec = spec
        self.unit_name = "endpoint_pair"
        fields = spec.protocol.fields(spec.ports)
        widths = {"data": spec.data_width, "header": HEADER_BITS, "crc": CRC_BITS}
        members: dict[str, Member] = {
            "clear": In(1),
            "idle": Out(FLOWS),
            "gone_back": Out(FLOWS),
            "dropped": Out(2),
            "error": Out(1),
        }
        groups = [("m", "s", _LINK, range(2)), ("o", "i", _PAYLOAD, range(FLOWS))]
        for out, into, names, numbers in groups:
            for k in numbers:
                for name in names:
                    forth, back = (In, Out) if name == "ready" else (Out, In)
                    members[f"{out}{k}_{name}"] = forth(widths.get(name, 1))
                    members[f"{into}{k}_{name}"] = back(widths.get(name, 1))
        for flow in ALL_FLOWS:
            members |= {f"{name}{flow}": In(fields[name]) for name in ("phase", "peer")}
        super().__init__(members)

    def build(self, platform: object) -> Module:
        m = Module()
        ends = [place(m, f"end_{k}", Endpoint(spec=self.spec)) for k in range(2)]
        for k, end in enumerate(ends):
            m.d.comb += [
                Cat(getattr(self, f"m{k}_header"), getattr(self, f"m{k}_crc")).eq(end.m_axis_tuser),
                end.s_axis_tuser.eq(Cat(getattr(self, f"s{k}_header"), getattr(self, f"s{k}_crc"))),
                end.m_axis_tready.eq(getattr(self, f"m{k}_ready")),
                getattr(self, f"s{k}_ready").eq(end.s_axis_tready),
                end.send_clear.eq(self.clear.replicate(COUNT)),
                end.receive_clear.eq(self.clear.replicate(COUNT)),
                self.idle[COUNT * k : COUNT * (k + 1)].eq(end.idle),
                self.gone_back[COUNT * k : COUNT * (k + 1)].eq(end.gone_back),
                self.dropped[k].eq(end.dropped),
            ]
            for name in ("valid", "last", "data"):
                m.d.comb += [
                    getattr(self, f"m{k}_{name}").eq(getattr(end, f"m_axis_t{name}")),
                    getattr(end, f"s_axis_t{name}").eq(getattr(self, f"s{k}_{name}")),
                ]
        for flow in ALL_FLOWS:
            self._connect(m, flow, ends[flow // COUNT], ends[1 - flow // COUNT])
        causes = [
            getattr(end, name)
            for end in ends
            for name in ("unknown", "kind_error", "length_error", "overflow")
        ]
        m.d.comb += self.error.eq(Cat(causes).any())
        return m

    def _connect(self, m: Module, flow: int, source: Any, destination: Any) -> None:
        circuit = flow % COUNT
        sent, received = source.send[circuit], destination.receive[circuit]
        phase, peer = getattr(self, f"phase{flow}"), getattr(self, f"peer{flow}")
        m.d.comb += [
            source.send_phase[circuit].eq(phase),
            source.send_peer[circuit].eq(peer),
            destination.receive_phase[circuit].eq(phase),
            destination.receive_peer[circuit].eq(peer),
            getattr(self, f"i{flow}_ready").eq(sent.ready),
            received.ready.eq(getattr(self, f"o{flow}_ready")),
        ]
        for name in ("valid", "last", "data"):
            m.d.comb += [
                getattr(sent, name).eq(getattr(self, f"i{flow}_{name}")),
                getattr(self, f"o{flow}_{name}").eq(getattr(received, name)),
            ]


def check_width(spec: SwitchSpec) -> None:
    """Refuse flits of widths that a harness with separate wires cannot drive."""
    if not 32 <= spec.data_width <= 64:
        raise ValueError(f"data_width must be 32 to 64 for the harness, not {spec.data_width}")


def build_link(spec: SwitchSpec, emitter: VerilogEmitter | None = None) -> Path:
    """Verilate both ends with the harness and return the program, from the cache if it is there.

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
    flow = [f"&top_.{side}##n##_{name}" for side in "io" for name in _PAYLOAD[:3]]
    flow += ["&top_.i##n##_data", "&top_.o##n##_data", "&top_.phase##n", "&top_.peer##n"]
    end = [f"&top_.{side}##n##_{name}" for side in "ms" for name in _LINK[:3]]
    end += [f"&top_.{side}##n##_{name}" for name in _LINK[3:] for side in "ms"]
    lines = [
        f"#define FLOW_PORTS(n) FlowPorts{{{', '.join(flow)}}}",
        f"#define END_PORTS(n) EndPorts{{{', '.join(end)}}}",
        f"#define EACH_FLOW(DO) {', '.join(f'DO({k})' for k in ALL_FLOWS)}",
        "#define EACH_END(DO) DO(0), DO(1)",
    ]
    check_width(spec)
    sources = harness_sources("link.cpp", pair.unit_name, spec, lines)
    return build_harness(pair, sources, emitter)


def run_link(
    program: Path,
    *,
    flits: int,
    seed: int = 1,
    delay: int = 20,
    faults_per_million: float = 0.0,
    stall_percent: int = 0,
    link_stall_percent: int = 0,
    packet_flits: int = 8,
    fixed: bool = False,
    flows: tuple[int, ...] = ALL_FLOWS,
    rounds: int = 1,
    idle_limit: int = 200_000,
    plusargs: Sequence[str] = (),
) -> dict[str, Any]:
    """Send packets between two endpoints and return what the harness counted.

    Parameters
    ----------
    program : Path
        Of :func:`build_link`.
    flits : int
        Flits of payload, of all flows together.
    seed : int
        Of data, pauses and faults.
    delay : int
        Cycles that the channel takes in each direction, 1 or more.
    faults_per_million : float
        Faults per flit on the link in each direction, times a million.
    stall_percent, link_stall_percent : int
        Share of cycles in which sources and destinations pause, and in which the channel takes
        no flit [%].
    packet_flits : int
        Longest packet.
    fixed : bool
        Whether all packets are that long.
    flows : tuple of int
        Those that have packets; see ``ALL_FLOWS``.
    rounds : int
        Times that the flows get other phases and start their numbers at 0; the flits are shared
        among the rounds.
    idle_limit : int
        Give up after so many cycles in which no payload moves.
    plusargs : sequence of str
        Arguments of the model: the fault that it has.

    Returns
    -------
    dict
        ``right``
            All flits have come, in order, each once, all are acknowledged, and no rule was broken.
        ``flits``, ``matched``, ``wrong``
            Wanted, delivered, and delivered with another payload than expected.
        ``violations``, ``messages``
            Broken rules of docs/protocol.md, and the first of them.
        ``cycles``, ``span_cycles``
            Of the whole run; from the first flit taken to the last one given.
        ``gone_back``, ``dropped``, ``errors``
            Strobes of the endpoints.
        ``from_0``, ``from_1``
            Flits that each end sent, by kind.
        ``faults``
            By kind.
    """
    options = {
        "seed": seed,
        "flits": flits,
        "delay": delay,
        "faults_per_million": faults_per_million,
        "stall_percent": stall_percent,
        "link_stall_percent": link_stall_percent,
        "packet_flits": packet_flits,
        "fixed": int(fixed),
        "flows": sum(1 << flow for flow in flows),
        "rounds": rounds,
        "idle_limit": idle_limit,
    }
    return run_program(program, options, plusargs=plusargs)
