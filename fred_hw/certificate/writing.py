"""Certificates of routed switches and wafers."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fred_hw.compiler.exact import EffortError
from fred_hw.compiler.flows import Flow
from fred_hw.compiler.placement import Strategy
from fred_hw.compiler.routing import RoutingResult
from fred_hw.compiler.shape import split_count
from fred_hw.compiler.sharing import Sharing
from fred_hw.spec import SwitchSpec
from fred_hw.wafer.program import WaferProgram

from .file import CERTIFICATE_SCHEMA
from .refutation import formula
from .rup import first_gap

__all__ = ["certify_switch", "certify_wafer", "refutation"]

_SOLVER = "glucose4"
"""A solver that writes proofs; its clauses follow from each other by unit propagation."""


def certify_switch(
    spec: SwitchSpec,
    strategy: Strategy | None,
    results: Mapping[str, RoutingResult],
    *,
    max_conflicts: int,
) -> dict[str, Any]:
    """Return the certificate of phases on a switch as JSON values; see ``file.Certificate``.

    Parameters
    ----------
    spec : SwitchSpec
        The switch.
    strategy : Strategy, optional
        Strategy of MP, DP and PP whose phases they are; None for other flows.
    results : mapping
        Result of routing each phase, routed or in conflict.
    max_conflicts : int
        Solver conflicts to spend at most on each proof.

    Raises
    ------
    EffortError
        A result is unknown, or ``max_conflicts`` do not suffice for a proof.
    ValueError
        The strategy has other dimensions.
    """
    if any(result.status == "unknown" for result in results.values()):
        raise EffortError
    phases = {name: result.flows for name, result in results.items()}
    found = _certificate(spec.name, strategy, phases)
    found["units"]["switch"] = _unit(spec)
    found["endpoints"] += [f"switch.{port}" for port in range(spec.ports)]
    for name, result in results.items():
        if result.configuration:
            words = {"switch": f"{result.configuration.pack():#x}"}
            found["sets"][name] = {"phase": name, "flows": _dicts(result.flows), "words": words}
        else:
            flows = [result.flows[index] for index in result.conflict]
            found["refutations"][name] = refutation(
                flows, spec.ports, spec.middle_switches, max_conflicts=max_conflicts
            )
    return found


def certify_wafer(program: WaferProgram) -> dict[str, Any]:
    """Return the certificate of a wafer's program as JSON values; see ``file.Certificate``.

    Parameters
    ----------
    program : WaferProgram
        Program of a plane whose phases switches execute.

    Raises
    ------
    ValueError
        Endpoints execute the phases, or the strategy has other dimensions than MP, DP and PP.
    """
    if program.collectives != "in-network":
        raise ValueError(f"collectives must be in-network, not {program.collectives}")
    phases = {phase.name: phase.flows for phase in program.phases}
    plane = program.plane
    found = _certificate(plane.wafer.name, program.strategy, phases)
    for number, unit in enumerate(plane.units):
        found["units"][unit.name] = _unit(unit.spec)
        for port, end in enumerate(unit.ends):
            if end.kind == "unit" and (end.number, end.port) > (number, port):
                peer = f"{plane.units[end.number].name}.{end.port}"
                found["links"].append([f"{unit.name}.{port}", peer])
    homes = plane.homes[: plane.endpoints]
    found["endpoints"] += [f"{plane.units[unit].name}.{port}" for unit, port in homes]
    for phase in program.phases:
        for place, one in enumerate(phase.entries):
            configurations = one.paths.configurations.items()
            found["sets"][one.name] = {
                "phase": phase.name if place < len(phase.rounds) else None,
                "flows": _dicts(one.flows),
                "words": {plane.units[n].name: f"{c.pack():#x}" for n, c in configurations},
            }
    return found


def refutation(
    flows: Sequence[Flow], ports: int, middle_switches: int, *, max_conflicts: int
) -> dict[str, Any]:
    """Return a proof that flows cannot be active together as JSON values; see ``file.Refutation``.

    No clause of the proof can be left out.

    Parameters
    ----------
    flows : sequence of Flow
        Flows that have no routing.
    ports, middle_switches : int
        Size of the interconnect, each at least 2.
    max_conflicts : int
        Solver conflicts to spend at most.

    Raises
    ------
    EffortError
        The conflicts do not suffice.
    ValueError
        The flows have a routing.
    """
    from pysat.solvers import Solver

    sharing, among = Sharing(flows, split_count(ports)), range(len(flows))
    sizes = range(min(middle_switches + 1, len(flows)), 0, -1)
    clique = next(filter(None, (sharing.clique(size, among) for size in sizes)), ())
    sides = [(flow.inputs, flow.outputs) for flow in flows]
    clauses = formula(sides, clique, ports, middle_switches)
    with Solver(name=_SOLVER, bootstrap_with=clauses, with_proof=True) as solver:
        solver.conf_budget(max_conflicts)
        answer = solver.solve_limited()
        lines: Iterable[str] = solver.get_proof() or ()
    if answer is None:
        raise EffortError
    if answer:
        raise ValueError(f"flows must be in conflict, not {', '.join(map(str, flows))}")
    steps = ([int(literal) for literal in line.split()[:-1]] for line in lines if line[0] != "d")
    proof = [step for step in steps if step]
    for index in reversed(range(len(proof))):
        rest = proof[:index] + proof[index + 1 :]
        if first_gap(clauses, rest) is None:
            proof = rest
    return {"flows": _dicts(flows), "clique": list(clique), "proof": proof}


def _certificate(
    name: str, strategy: Strategy | None, phases: Mapping[str, Sequence[Flow]]
) -> dict[str, Any]:
    """Return a certificate of phases on no units."""
    if strategy is not None and not strategy.plain:
        raise ValueError(f"strategy must be of MP, DP and PP only in a certificate, not {strategy}")
    return {
        "schema": CERTIFICATE_SCHEMA,
        "name": name,
        "strategy": str(strategy) if strategy else None,
        "units": {},
        "links": [],
        "endpoints": [],
        "phases": {phase: _dicts(flows) for phase, flows in phases.items()},
        "sets": {},
        "refutations": {},
    }


def _unit(spec: SwitchSpec) -> dict[str, int]:
    return {"ports": spec.ports, "middle_switches": spec.middle_switches}


def _dicts(flows: Iterable[Flow]) -> list[dict[str, list[int]]]:
    return [flow.to_dict() for flow in flows]
