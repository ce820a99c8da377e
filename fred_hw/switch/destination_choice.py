"""Choice of the source whose unicast a destination accepts next."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_int
from fred_hw.gates.select import above, any_of, chosen_by_pairs, gated
from fred_hw.gates.wire import wire
from fred_hw.protocol import DATA_CIRCUITS, DATA_COUNT
from fred_hw.unit import Unit

__all__ = ["DestinationChoice"]


class DestinationChoice(Unit):
    """Choose one of the sources that request a destination.

    The most urgent virtual channel with a request goes first. Sources with the same channel are
    served round-robin, starting after the one whose packet started last.

    Parameters
    ----------
    sources : int
        Sources, 1 or more.

    Members
    -------
    picks, coming : In(sources).array(3), In(sources).array(3)
        For each channel the sources that may send a packet on it next, and the sources whose packet
        on it has this destination. A source in both requests the destination.
    path, starts : In(sources), In(sources)
        The source that has a path to this destination, one-hot or 0; the sources that start a
        packet in this cycle.
    begins : In(1)
        The chosen source gets a path.
    chosen : Out(sources)
        The chosen source, one-hot, or 0 without a request.
    circuit_to : Out(2)
        Channel of the packet for which the current path is.

    Timing
    ------
    Latency : none from a request to ``chosen``; 1 cycle from ``begins`` to ``circuit_to``.
    Throughput : a choice per cycle.
    Paths : ``picks`` and ``coming`` to ``chosen``.
    Reset : arbitration starts at source 0.

    Raises
    ------
    TypeError, ValueError
        The parameter is not an integer, or below 1.
    """

    picks: list[Signal]
    coming: list[Signal]
    path: Signal
    starts: Signal
    begins: Signal
    chosen: Signal
    circuit_to: Signal

    def __init__(self, *, sources: int) -> None:
        self.sources = check_int("DestinationChoice sources", sources, minimum=1)
        self.unit_name = f"destination_choice_p{sources}"
        members = {
            "picks": In(sources).array(DATA_COUNT),
            "coming": In(sources).array(DATA_COUNT),
            "path": In(sources),
            "starts": In(sources),
            "begins": In(1),
            "chosen": Out(sources),
            "circuit_to": Out(2),
        }
        super().__init__(members)

    def build(self, m: Module) -> None:
        asks = [
            wire(m, f"asks_{name}", pick & coming)
            for name, pick, coming in zip(DATA_CIRCUITS, self.picks, self.coming, strict=True)
        ]
        circuit, began = Signal(2), Signal()
        m.d.comb += [
            circuit.eq(Mux(asks[0].any(), 0, Mux(asks[1].any(), 1, 2))),
            began.eq((self.path & self.starts).any()),
        ]
        with m.If(self.begins):
            m.d.sync += self.circuit_to.eq(circuit)
        # The source with the path is known earlier than whether it starts.
        behind = wire(m, "behind_path", above(m, "path", self.path))
        last = [Signal(self.sources, name=f"behind_{name}") for name in DATA_CIRCUITS]
        for c, own in enumerate(last):
            with m.If(began & (self.circuit_to == c)):
                m.d.sync += own.eq(behind)
        # Arbitrate all virtual channels in parallel, and take the result of the most urgent one.
        grants = [
            chosen_by_pairs(m, name, asks[c], last[c]) for c, name in enumerate(DATA_CIRCUITS)
        ]
        m.d.comb += self.chosen.eq(
            any_of(gated(grant, circuit == c) for c, grant in enumerate(grants))
        )
