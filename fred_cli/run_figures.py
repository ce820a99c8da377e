"""Figures that every kind of run has, as rows and tables of `fred estimate`."""

from collections.abc import Mapping, Sequence
from typing import Any

from fred_cli.output import table

__all__ = ["figure_rows", "print_figures", "print_ranks", "spans"]

_SHOWN = 6
"""Largest number of rank ranges named in a table row."""

_WORDS = {"energy": "energy", "link_bytes": "bytes on links", "utilization": "utilization"}


def figure_rows(found: Any) -> list[tuple[str, str]]:
    """Return energy, bytes and utilization of a run as rows, with the reasons of absent ones."""
    rows: list[tuple[str, str]] = []
    if energy := found.energy:
        known = energy.total_j is not None
        total = (
            f"{energy.total_j:,.4g} J" if known else f"unknown: {found.absent['energy.total_j']}"
        )
        rows += [
            ("energy of all NPUs and links", total),
            ("  by part", _amounts(energy.parts_j, "J")),
            ("  by use", _amounts(energy.uses_j, "J")),
        ]
    if found.link_bytes is not None:
        rows.append(("bytes on links", _amounts(found.link_bytes, "B", ",.0f") or "none"))
    for place, one in enumerate(found.utilization or ()):
        share = f"utilization {one.peak:.1%} at most, {one.average:.1%} on average"
        rows.append((f"{'  ' if place else 'links, '}{one.dimension}", share))
    absent = found.absent.items()
    return rows + [(_WORDS[name], f"unknown: {why}") for name, why in absent if name in _WORDS]


def print_figures(found: Any) -> None:
    """Print the figures of a run as a table."""
    table("energy and link utilization", ("figure", "value"), figure_rows(found))


def print_ranks(title: str, ranks: Sequence[Any]) -> None:
    """Print the times of ranks by activity, with a row for each set of ranks with equal times."""
    alike: dict[tuple[int, ...], list[int]] = {}
    for one in ranks:
        times = one.total_ns, one.compute_ns, one.communication_ns, one.overlap_ns
        alike.setdefault((*times, one.exposed_communication_ns), []).append(one.rank)
    table(
        title,
        ("ranks", "total", "compute", "communication", "overlap", "exposed communication"),
        [(spans(mine), *(f"{ns:,}" for ns in times)) for times, mine in alike.items()],
    )


def spans(ranks: list[int]) -> str:
    """Return ranks as text: consecutive ranks as ranges, and only the first few ranges."""
    found: list[list[int]] = []
    for rank in ranks:
        if found and found[-1][-1] == rank - 1:
            found[-1][1:] = [rank]
        else:
            found.append([rank])
    said = ["-".join(map(str, one)) for one in found]
    more = f" and {len(said) - _SHOWN} more" if len(said) > _SHOWN else ""
    return ", ".join(said[:_SHOWN]) + more


def _amounts(amounts: Mapping[str, float | None], unit: str, form: str = ",.4g") -> str:
    """Return the amounts that are neither zero nor unknown."""
    return ", ".join(
        f"{name.replace('_', ' ')} {amount:{form}} {unit}"
        for name, amount in amounts.items()
        if amount
    )
