"""Volume test of a link: both ends Verilated, and a compiled harness that is the faulty channel."""

# Amaranth has no types.
# pyright: reportAttributeAccessIssue=false, reportReturnType=false, reportArgumentType=false

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out

from fred_hw.datapath.interconnect import place
from fred_hw.link.flit import link_signature
from fred_hw.link.packets import packet_signature
from fred_hw.link.receiver import LinkReceiver
from fred_hw.link.sender import LinkSender
from fred_hw.link.spec import LinkSpec
from fred_hw.unit import Unit

from .harness import build_harness

__all__ = ["LinkPair", "build_link", "run_link"]

_HARNESS = Path(__file__).with_name("link.cpp")


class LinkPair(Unit):
    """Both ends of a link, with the channel between them left to the bench.

    Parameters
    ----------
    spec : LinkSpec
        Sizes; the harness wants flits of 4 bytes.
    sender, receiver : Unit, optional
        Broken ends to put in place of the right ones.

    Members
    -------
    i, o : packet streams
        In at the sender, out at the receiver.
    link_o, link_i : link flits
        From the sender, to the receiver.
    control_o, control_i : link flits
        From the receiver, to the sender.
    limit_o, limit_i : sequence
        From the receiver, to the sender.
    phase, circuit, retransmissions, dropped
        Those of the ends.

    Timing
    ------
    Latency : that of the ends.
    Throughput : that of the ends.
    Paths : none.
    Reset : that of the ends.
    """

    def __init__(
        self, spec: LinkSpec, sender: Unit | None = None, receiver: Unit | None = None
    ) -> None:
        self.spec = spec
        self.unit_name = "link_pair"
        self.ends = sender or LinkSender(spec=spec), receiver or LinkReceiver(spec=spec)
        link, sequence = link_signature(spec), spec.fields["sequence"]
        super().__init__(
            {
                "i": In(packet_signature(spec)),
                "o": Out(packet_signature(spec)),
                "link_o": Out(link),
                "link_i": In(link),
                "control_o": Out(link),
                "control_i": In(link),
                "limit_o": Out(sequence),
                "limit_i": In(sequence),
                "phase": In(spec.fields["phase"]),
                "circuit": In(spec.fields["circuit"]),
                "retransmissions": Out(32),
                "dropped": Out(32),
            }
        )

    def build(self, platform: object) -> Module:
        m = Module()
        sender, receiver = (
            place(m, name, end) for name, end in zip(("sender", "receiver"), self.ends, strict=True)
        )

        def wire(target: Any, source: Any) -> None:
            for name in ("valid", "header", "data", "crc"):
                m.d.comb += getattr(target, name).eq(getattr(source, name))

        for target, source in ((sender.i, self.i), (self.o, receiver.o)):
            m.d.comb += [
                target.valid.eq(source.valid),
                target.data.eq(source.data),
                target.last.eq(source.last),
                source.ready.eq(target.ready),
            ]
        wire(self.link_o, sender.o)
        wire(receiver.i, self.link_i)
        wire(self.control_o, receiver.control)
        wire(sender.control, self.control_i)
        m.d.comb += [
            self.limit_o.eq(receiver.limit),
            sender.limit.eq(self.limit_i),
            sender.phase.eq(self.phase),
            sender.circuit.eq(self.circuit),
            self.retransmissions.eq(sender.retransmissions),
            self.dropped.eq(receiver.dropped),
        ]
        return m


def build_link(
    spec: LinkSpec,
    pair: LinkPair | None = None,
    cache: Path | None = None,
    replacements: Mapping[str, Unit] | None = None,
) -> Path:
    """Verilate both ends and return the program, from the cache if it was built before.

    Parameters
    ----------
    spec : LinkSpec
        Sizes.
    pair : LinkPair, optional
        One with a broken end.
    cache : Path, optional
        Folder of built programs.
    replacements : mapping of str to Unit, optional
        Broken units in place of those of the given names.

    Raises
    ------
    ValueError
        The flits are not of 4 bytes, which the harness drives.
    SimulatorError
        Verilator is not installed or could not build.
    """
    if spec.flit_bytes != 4:
        raise ValueError(f"flit_bytes must be 4 for the harness, not {spec.flit_bytes}")
    return build_harness(pair or LinkPair(spec), _HARNESS, cache, replacements)


def run_link(
    program: Path,
    *,
    flits: int,
    seed: int = 1,
    delay: int = 20,
    faults_per_million: float = 0.0,
    stall_percent: int = 0,
    packet_flits: int = 8,
    fixed: bool = False,
) -> dict[str, Any]:
    """Send flits through a link and return what the harness counted.

    Parameters
    ----------
    program : Path
        Of :func:`build_link`.
    flits : int
        Flits of payload.
    seed : int
        Of data, pauses and faults.
    delay : int
        Cycles that the channel takes in each direction, 1 or more.
    faults_per_million : float
        Faults per flit on the link and per control flit, times a million.
    stall_percent : int
        Share of cycles in which the source, and the sink, pause [%].
    packet_flits : int
        Longest packet.
    fixed : bool
        Whether all packets are that long.

    Returns
    -------
    dict
        ``flits``, ``matched``, ``wrong``, ``cycles`` and counts of faults by kind; all flits have
        come right if ``matched`` is ``flits`` and ``wrong`` is 0.
    """
    arguments = (seed, flits, delay, faults_per_million, stall_percent, packet_flits, int(fixed))
    said = subprocess.run(
        [str(program), *map(str, arguments)], capture_output=True, text=True, check=False
    )
    if said.returncode not in (0, 1):
        raise RuntimeError(f"the harness ended with {said.returncode}: {said.stderr}")
    return json.loads(said.stdout)
