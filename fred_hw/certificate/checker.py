"""Independent checker of routing certificates, written from the definition of FRED_m(P).

FRED, arXiv 2406.19580, on placement and routing (our section 5). Neither this module nor those that
it imports use the compiler.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, product
from typing import Any, NamedTuple

from .refutation import Flow, check_refutation, flows_of
from .trace import CertificateError, Sum, need, outputs

__all__ = ["Finding", "check"]


class Finding(NamedTuple):
    """Verdict on a part of a certificate, with details; ``wrong`` if it must not be trusted."""

    name: str
    verdict: str
    detail: str


def check(data: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield a finding for fabric, phases, each configuration set and each refutation.

    Parameters
    ----------
    data : mapping
        The contents of a certificate, as ``fred_hw.certificate.file`` describes them.
    """
    parts = [("sound", "fabric", _check_fabric, ()), ("complete", "phases", _check_phases, ())]
    parts += [("routed", name, _check_set, (one,)) for name, one in data["sets"].items()]
    refutations = data["refutations"].items()
    parts += [("refuted", name, check_refutation, (name, one)) for name, one in refutations]
    for verdict, name, test, said in parts:
        try:
            yield Finding(name, verdict, test(data, *said))
        except CertificateError as error:
            yield Finding(name, "wrong", str(error))


def _check_fabric(data: Mapping[str, Any]) -> str:
    """Fail unless each port of a unit has at most one link or endpoint."""
    places = {f"{name}.{k}" for name, unit in data["units"].items() for k in range(unit["ports"])}
    used = Counter(chain(data["endpoints"], *data["links"]))
    for place, count in used.items():
        need(place in places and count == 1, f"port {place} is missing or connected twice")
    return f"{len(data['units'])} units"


def _check_phases(data: Mapping[str, Any]) -> str:
    """Fail unless the phases of the strategy are there, and each flow once in their sets."""
    phases = {name: flows_of(said) for name, said in data["phases"].items()}
    required = _required(data["strategy"], len(data["endpoints"])) if data["strategy"] else ()
    for name, flows in required:
        need(sorted(phases.get(name, ())) == sorted(flows), f"{name} differs from the strategy")
    sets = data["sets"].values()
    for name in {one["phase"] for one in sets} - {None}:
        need(name in phases, f"{name}, the phase of a set, is not among the phases")
    for name, flows in phases.items():
        own = [flow for one in sets if one["phase"] == name for flow in flows_of(one["flows"])]
        complete = sorted(own) == sorted(flows)
        need(complete or name in data["refutations"], f"{name} lacks a flow, or repeats one")
    return f"strategy {data['strategy']}" if data["strategy"] else f"{len(phases)} given"


def _required(strategy: str, endpoints: int) -> Iterator[tuple[str, list[Flow]]]:
    """Yield the flows of MP and DP all-reduces, and of multicasts from and to stages of PP."""
    mp, dp, pp = (int(size) for size in re.findall(r"\d+", strategy))
    need(mp * dp * pp <= endpoints, "the strategy has more workers than endpoints")

    def workers(*ranges: Iterable[int]) -> tuple[int, ...]:
        return tuple(sorted(k + mp * (p + pp * d) for k, d, p in product(*ranges)))

    ks, ds, ps = range(mp), range(dp), range(pp)
    mp_groups = [workers(ks, [d], [p]) for d in ds for p in ps]
    dp_groups = [workers([k], ds, [p]) for k in ks for p in ps]
    yield "mp_all_reduce", [(group, group) for group in mp_groups if mp > 1]
    yield "dp_all_reduce", [(group, group) for group in dp_groups if dp > 1]
    for name, step in (("pp_forward", 1), ("pp_backward", -1)):
        pairs = [(d, p) for d in ds for p in ps if p + step in ps]
        yield name, [(workers([0], [d], [p]), workers(ks, [d], [p + step])) for d, p in pairs]


def _check_set(data: Mapping[str, Any], one: Mapping[str, Any]) -> str:
    """Fail unless each output of a flow gets each of its inputs once, and all else is idle."""
    flows = flows_of(one["flows"])
    for side in (0, 1):
        ends = [end for flow in flows for end in flow[side]]
        need(len({*ends}) == len(ends), "an endpoint is in two flows")
    local = _local(data["units"], one["words"])
    address = {place: number for number, place in enumerate(data["endpoints"])}
    peers = {a: b for link in data["links"] for a, b in (link, link[::-1])}
    entered = {place for ins in local.values() for place in ins}
    for place in local:
        need(place in address or peers.get(place) in entered, f"output {place} is unconnected")
    known = {place: (address[place],) for place in entered if place in address}
    owner = {end: number for number, flow in enumerate(flows) for end in flow[0]}
    need(
        {end for (end,) in known.values()} == owner.keys(),
        "endpoints that send are not the inputs of the flows",
    )
    got: dict[int, Sum] = {}
    while local:
        ready = [place for place, ins in local.items() if known.keys() >= {*ins}]
        need(bool(ready), f"outputs {sorted(local)[:2]} lack data")
        for place in ready:
            found = tuple(end for source in local.pop(place) for end in known[source])
            need(len({owner[end] for end in found}) == 1, f"two flows share output {place}")
            need(len({*found}) == len(found), f"output {place} has an operand twice")
            if place in address:
                got[address[place]] = tuple(sorted(found))
            else:
                known[peers[place]] = found
    wanted = {end: flow[0] for flow in flows for end in flow[1]}
    for end in sorted(got.keys() | wanted.keys()):
        said = f"endpoint {end} gets the sum of {got.get(end, ())}, not of {wanted.get(end, ())}"
        need(got.get(end) == wanted.get(end), said)
    return f"{len(flows)} flows, {len(one['words'])} units"


def _local(units: Mapping[str, Any], words: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the inputs whose sum each output in use gets, within each unit."""
    found: dict[str, list[str]] = {}
    for unit, word in words.items():
        need(unit in units, f"there is no unit {unit}")
        try:
            sums = outputs(int(word, 16), **units[unit])
        except CertificateError as error:
            raise CertificateError(f"{unit}: {error}") from None
        for port, ins in enumerate(sums):
            if ins:
                found[f"{unit}.{port}"] = [f"{unit}.{one}" for one in ins]
    return found
