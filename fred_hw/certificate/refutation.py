"""Refutations: proofs that flows cannot be active together on FRED_m(P).

At level l, counted from 1, two neighbouring ports enter or leave one micro-switch, whose number is
their port one level further in; the (de)multiplexer of an odd last port has that number to itself
(FRED, arXiv 2406.19580, on the interconnect; our section 3). A micro-switch of the output side
reduces nothing, so all data of a flow crosses one subswitch. Two flows on one micro-switch
therefore need different subswitches at this level or an outer one. Subswitches are alike, so
flows of which each two meet at level 1 take subswitches 0, 1, ... without loss of generality.
"""

from collections.abc import Mapping, Sequence
from itertools import chain, combinations
from typing import Any

from .configurations import Flow, flows_of, need
from .rup import first_gap

__all__ = ["Flow", "check_refutation", "clauses_of", "flows_of", "formula"]


def check_refutation(data: Mapping[str, Any], phase: str) -> str:
    """Fail unless flows of a phase cannot be active together on the only unit; say how many.

    Parameters
    ----------
    data : mapping
        The contents of a certificate, as ``fred_hw.certificate.file`` describes them.
    phase : str
        Name of the phase.

    Raises
    ------
    CertificateError
        As :func:`clauses_of`, or the proof has a gap.
    """
    one = data["refutations"][phase]
    gap = first_gap(clauses_of(data, phase), one["proof"])
    need(gap != len(one["proof"]), "the proof ends without a contradiction")
    need(gap is None, f"clause {gap} of the proof does not follow")
    return f"{len(one['flows'])} flows cannot be active at once"


def clauses_of(data: Mapping[str, Any], phase: str) -> list[list[int]]:
    """Return the formula that the proof for a phase refutes, as literals of DIMACS.

    Raises
    ------
    CertificateError
        The flows are not of the phase, or do not say what they should.
    """
    one, wanted = data["refutations"][phase], flows_of(data["phases"].get(phase, ()))
    flows = flows_of(one["flows"])
    among = {*flows} <= {*wanted} and len({*flows}) == len(flows)
    need(among, "the refuted flows are not those of the phase")
    need(len(data["units"]) == 1, "a refutation must be of one unit")
    ports = {end: int(place.rpartition(".")[2]) for end, place in enumerate(data["endpoints"])}
    need({end for flow in flows for end in chain(*flow)} <= {*ports}, "an endpoint is missing")
    at_ports = [(tuple(map(ports.get, ins)), tuple(map(ports.get, outs))) for ins, outs in flows]
    [unit] = data["units"].values()
    return formula(at_ports, one["clique"], **unit)


def formula(
    flows: Sequence[Flow], clique: Sequence[int], ports: int, middle_switches: int
) -> list[list[int]]:
    """Return clauses, as literals of DIMACS, that every routing of the flows satisfies.

    Variable ``1 + (f * K + l - 1) * m + c`` says that flow f takes subswitch c at level l of K.
    Those behind say that two flows take the same one at a level.

    Parameters
    ----------
    flows : sequence of Flow
        Flows on ports of the interconnect.
    clique : sequence of int
        Different flows, by index, of which each two share a micro-switch at level 1.
    ports, middle_switches : int
        Size of the interconnect, each at least 2.

    Raises
    ------
    CertificateError
        Two flows of the clique share no micro-switch.
    """
    levels = range((ports - 1).bit_length() - 1)
    colours = range(middle_switches)

    def takes(flow: int, level: int) -> list[int]:
        first = 1 + (flow * len(levels) + level) * middle_switches
        return [first + colour for colour in colours]

    clauses = [takes(flow, level) for flow in range(len(flows)) for level in levels]
    last = len(flows) * len(levels) * middle_switches
    for one, other in combinations(range(len(flows)), 2):
        level = _meeting(flows[one], flows[other], len(levels))
        apart: list[int] = []
        for outer in range(level):
            pairs = zip(takes(one, outer), takes(other, outer), strict=True)
            if outer == level - 1:
                clauses += [[-a, -b, *apart] for a, b in pairs]
                break
            last += 1
            clauses += [[-a, -b, last] for a, b in pairs]
            apart.append(-last)
    for a, b in combinations(clique, 2):
        meet = a != b and max(a, b) < len(flows) and _meeting(flows[a], flows[b], 1) == 1
        need(meet, f"flows {a} and {b} of the clique share no micro-switch")
    for rank, flow in enumerate(clique):
        clauses += [[-takes(flow, 0)[colour]] for colour in colours if colour != rank]
    return clauses


def _meeting(one: Flow, other: Flow, levels: int) -> int:
    """Return the first level at which two flows share a micro-switch; 0 if there is none."""
    for level in range(1, levels + 1):
        for ours, theirs in zip(one, other, strict=True):
            if {port >> level for port in ours} & {port >> level for port in theirs}:
                return level
    return 0
