"""Matching of a router's inputs and outputs."""

from amaranth.hdl import Module

from fred_hw.checks import check_int
from fred_hw.switch.matching import Matching, matching_members

__all__ = ["Allocator"]


class Allocator(Matching):
    """Match inputs and outputs of a crossbar, all at a time.

    An input asks for the output of its most urgent packet whose output is free and has space; an
    output takes the most urgent of those that ask it, inputs of one circuit round robin, counted by
    packets that start. Both may have a packet under way that ends in this cycle, so that packet
    follows packet without a gap. A path stays until its input or its output is wanted for another.
    A packet whose output was not free when its input was lets ``PASSES`` packets of less urgent
    circuits go ahead; then its input waits for it.

    Parameters
    ----------
    ports : int
        Ports P, 2 or more.

    Members
    -------
    coming : In(ArrayLayout(P, 3)).array(P)
        For each input and circuit the output of the next packet, as the only bit that is high,
        or 0.
    space : In(3).array(P)
        For each output the circuits that have space for a packet.
    starts : In(P)
        Inputs that start a packet on their path.
    holds, closing : In(P), In(P)
        Inputs whose packet goes on behind this cycle, so that their path must stay; those of them
        whose packet ends with its next flit, which may be there in the next cycle.
    destination_of, circuit_of : Out(P).array(P), Out(2).array(P)
        Per input, to where it has a path, as the only bit that is high, or 0; circuit of the
        packet that it is for.
    circuit_to : Out(2).array(P)
        Per output the circuit of the packet that it has a path for.

    Timing
    ------
    Latency : 1 cycle from a packet that comes to its path.
    Throughput : all paths in one cycle.
    Paths : none.
    Reset : ends all paths.

    Raises
    ------
    TypeError, ValueError
        The parameter is none of these.
    """

    def __init__(self, *, ports: int) -> None:
        self.port_count = check_int("Allocator ports", ports, minimum=2)
        self.unit_name = f"allocator_p{ports}"
        super().__init__(matching_members(ports))

    def build(self, m: Module) -> None:
        self.match(m)
