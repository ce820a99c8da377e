"""Checker of routed configurations, written from the definition of FRED_m(P).

FRED, arXiv 2406.19580, on interconnect, placement and routing (our sections 3 and 5). Each check
takes the contents of a certificate, as :mod:`fred_hw.certificate.file` describes them, returns what
it covers, and raises a CertificateError if they are wrong. Nothing of the project is imported.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, product
from typing import Any

Sum = tuple[int, ...]  # endpoints whose data is added
Flow = tuple[Sum, Sum]  # inputs and outputs


class CertificateError(Exception):
    """A certificate is wrong; says where and why."""


def need(holds: bool, message: str) -> None:
    """Raise a CertificateError unless something holds."""
    if not holds:
        raise CertificateError(message)


def flows_of(said: Iterable[Mapping[str, Sequence[int]]]) -> list[Flow]:
    """Return flows of a certificate with sorted endpoints."""
    return [(tuple(sorted(one["inputs"])), tuple(sorted(one["outputs"]))) for one in said]


def check_fabric(data: Mapping[str, Any]) -> str:
    """Check that each port of a unit has at most one link or endpoint."""
    places = {f"{name}.{k}" for name, unit in data["units"].items() for k in range(unit["ports"])}
    for place, count in Counter(chain(data["endpoints"], *data["links"])).items():
        need(place in places and count == 1, f"port {place} is missing or connected twice")
    return f"{len(data['units'])} units"


def check_phases(data: Mapping[str, Any]) -> str:
    """Check that all phases of the strategy are there, and each flow is once in their sets."""
    phases = {name: flows_of(said) for name, said in data["phases"].items()}
    required = _required(data["strategy"], len(data["endpoints"])) if data["strategy"] else ()
    for name, flows in required:
        need(sorted(phases.get(name, ())) == sorted(flows), f"{name} differs from the strategy")
    found: dict[str, list[Flow]] = {name: [] for name in phases}
    for one in data["sets"].values():
        name = one["phase"]
        need(name in (None, *phases), f"{name}, the phase of a set, is not among the phases")
        found.get(name, []).extend(flows_of(one["flows"]))
    for name, flows in phases.items():
        complete = sorted(found[name]) == sorted(flows) or name in data["refutations"]
        need(complete, f"{name} lacks a flow, or repeats one")
    return f"strategy {data['strategy']}" if data["strategy"] else f"{len(phases)} given"


def _required(strategy: str, endpoints: int) -> Iterator[tuple[str, list[Flow]]]:
    """Yield the flows of MP and DP all-reduces, and of multicasts from and to stages of PP."""
    mp, dp, pp = (int(size[2:]) for size in strategy.split("-"))
    need(mp * dp * pp <= endpoints, "the strategy has more workers than endpoints")

    def workers(*ranges: Iterable[int]) -> Sum:
        return tuple(sorted(k + mp * (p + pp * d) for k, d, p in product(*ranges)))

    ks, ds, ps = range(mp), range(dp), range(pp)
    yield "mp_all_reduce", [(workers(ks, [d], [p]),) * 2 for d in ds for p in ps if mp > 1]
    yield "dp_all_reduce", [(workers([k], ds, [p]),) * 2 for k in ks for p in ps if dp > 1]
    for name, step in (("pp_forward", 1), ("pp_backward", -1)):
        pairs = [(d, p) for d in ds for p in ps if p + step in ps]
        yield name, [(workers([0], [d], [p]), workers(ks, [d], [p + step])) for d, p in pairs]


def check_set(data: Mapping[str, Any], name: str) -> str:
    """Check that each output of a flow gets each of its inputs once, and all else is idle."""
    flows, words = flows_of(data["sets"][name]["flows"]), data["sets"][name]["words"]
    ends = [(side, end) for flow in flows for side in (0, 1) for end in flow[side]]
    need(len({*ends}) == len(ends), "an endpoint is in two flows")
    fabric, places = _Fabric(data, words), dict(enumerate(data["endpoints"]))
    wanted = {end: flow[0] for flow in flows for end in flow[1]}
    for end in sorted(wanted.keys() | places.keys()):
        got = tuple(sorted(fabric.leaving_unit(places[end], 1))) if end in places else ()
        said = f"endpoint {end} gets the sum of {got}, not of {wanted.get(end, ())}"
        need(got == wanted.get(end, ()), said)
    for port, code in fabric.codes.items():
        need(code == 0 or port in fabric.used, f"{port} takes part in no flow")
    return f"{len(flows)} flows, {len(words)} units"


class _Fabric:
    """Units under their configuration words; follows data backwards from where it arrives."""

    def __init__(self, data: Mapping[str, Any], words: Mapping[str, str]) -> None:
        self.codes: dict[str, int] = {}
        self.used: dict[str, Sum] = {}
        self._ends = {place: (end,) for end, place in enumerate(data["endpoints"])}
        self._peers = {a: b for link in data["links"] for a, b in (link, link[::-1])}
        for unit, word in words.items():
            need(unit in data["units"], f"there is no unit {unit}")
            bits = iter(f"{int(word, 16):b}"[::-1])  # the lowest bit first
            for port, count in _codes(unit, **data["units"][unit]):
                self.codes[port] = int("".join(islice(bits, count))[::-1] or "0", 2)
            need("1" not in bits, f"{unit}: the word has bits beyond the last micro-switch")

    def leaving_unit(self, place: str, units: int) -> Sum:
        """Return the sum at an output of a unit; data has crossed some units behind it."""
        need(units <= 16, f"data that leaves {place} crosses more than 16 units")
        unit, _, port = place.partition(".")
        return self._leaving(unit, int(port), units)

    def _leaving(self, path: str, number: int, units: int) -> Sum:
        port = f"{path} output {number}"
        code = self.codes.get(port, 0)
        if code == 0 or port in self.used:
            return self.used.get(port, ())
        self.used[port] = ()  # until it is found, which ends a loop
        if f"{path} input {number}" in self.codes:
            found = self._leaving(f"{path}.middle_{code - 1}", number // 2, units)
        else:
            single = code == 3 and self.codes[f"{path} output {1 - number}"] in (1, 2)
            need(not single, f"{port} gets a sum that its neighbour does not get")
            found = tuple(chain(*(self._entering(path, k, units) for k in (0, 1) if code >> k & 1)))
        need(bool(found), f"{port} gets no data")
        self.used[port] = found
        return found

    def _entering(self, path: str, number: int, units: int) -> Sum:
        outer, _, own = path.rpartition(".middle_")
        place = f"{path}.{number}"
        if not outer and place in self._peers:
            return self.leaving_unit(self._peers[place], units + 1)
        found = self._ends.get(place, ())
        for k in (2 * number, 2 * number + 1) if outer else ():
            if self.codes.get(f"{outer} input {k}") == int(own) + 1:
                found += self.used.setdefault(f"{outer} input {k}", self._entering(outer, k, units))
        need(bool(found), f"{path} input {number} gets no data")
        return found


def _codes(path: str, ports: int, middle_switches: int) -> Iterator[tuple[str, int]]:
    """Yield the codes of a configuration word of FRED_m(P) and their bits, the lowest first.

    Code 0 is idle, and c + 1 is subswitch c. If P = 2, inputs have no code, and an output has one
    of two bits: it gets input 0 (code 1), input 1 (2) or their sum (3).
    """
    bits = middle_switches.bit_length() if ports > 2 else 2
    yield from ((f"{path} input {k}", bits) for k in range(ports) if ports > 2)
    for subswitch in range(middle_switches) if ports > 2 else ():
        yield from _codes(f"{path}.middle_{subswitch}", (ports + 1) // 2, middle_switches)
    yield from ((f"{path} output {k}", bits) for k in range(ports))
