"""Output of graphs of waits, and of their cycles."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .output import table

if TYPE_CHECKING:
    from fred_hw.fabric_plan import FabricPlan
    from fred_hw.waits import Dependency, Wait, WaitGraph

__all__ = ["cycle_words", "ends_text", "print_waits", "verdict", "waits_of"]


def waits_of(graph: "WaitGraph") -> list[dict[str, Any]]:
    """Return the numbers of nodes and edges of each kind of wait."""
    return [
        {
            "kind": kind,
            "nodes": count,
            "edges": sum(len(needs) for one, needs in graph.edges.items() if one.kind == kind),
        }
        for kind, count in sorted(graph.counts.items())
    ]


def print_waits(name: str, graph: "WaitGraph") -> None:
    """Print these numbers as a table."""
    rows = [tuple(one.values()) for one in waits_of(graph)]
    table(f"Graph of waits of {name}", ("kind", "nodes", "edges"), rows)


def cycle_words(plan: "FabricPlan[Any]", cycle: "Sequence[Dependency]") -> list[dict[str, str]]:
    """Return the waits of a cycle for output."""
    found: list[dict[str, str]] = []
    for wait, message in cycle:
        has_channels = wait.kind == "link queue" and plan.class_channels > 1
        channel = f", channel {wait.channel}" if has_channels else ""
        phase = f", {wait.phase}" if wait.phase else ""
        ends = [ends_text(plan, side) for side in (message.inputs, message.outputs)]
        words = f"{wait.kind} {_place(plan, wait)}{channel}{phase}"
        found.append({"waits": words, "message": " to ".join(ends)})
    return found


def ends_text(plan: "FabricPlan[Any]", addresses: Sequence[int]) -> str:
    """Return the names of addresses; of many, the first, the last and their number."""
    names = [plan.end_name(one) for one in addresses]
    if len(names) > 4:
        return f"{names[0]} ... {names[-1]} ({len(names)})"
    return ", ".join(names)


def _place(plan: "FabricPlan[Any]", wait: "Wait") -> str:
    """Return the name of the place of a wait."""
    if isinstance(wait.place, int):
        return plan.end_name(wait.place)
    kind, number, port = wait.place
    if kind != "unit":
        return f"behind {plan.end_name(number)}"
    unit = plan.units[number]
    return f"behind port {unit.ports[port]} of {unit.name}"


def verdict(steps: list[dict[str, str]], what: str) -> str:
    """Return the result in words, with the waits of a cycle, or what cannot wait for itself."""
    if not steps:
        return f"no cycle: no {what} can wait for itself"
    lines = [f"  {one['waits']} ({one['message']}) waits for" for one in steps]
    return "\n".join([f"cycle of {len(steps)} waits:", *lines, f"  {steps[0]['waits']}"])
