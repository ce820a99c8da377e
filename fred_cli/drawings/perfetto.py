"""Iterations on several fabrics, in RTL and in the model, as one timeline for Perfetto.

Format: see `perfmodel/training/trace.py`. Complete events of a thread must nest, so spans of a kind
that overlap have threads of their own.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from studies.rtl_iteration import KINDS, Lane, Span

__all__ = ["perfetto"]


def perfetto(processes: Mapping[str, Mapping[str, Lane]]) -> dict[str, Any]:
    """Return a JSON object with a process per fabric and threads for each NPU's activities.

    Parameters
    ----------
    processes : mapping of str to mapping of str to Lane
        By words for the fabric, and for those that do it, what is done.
    """
    events: list[dict[str, Any]] = []

    def named(what: str, name: str, **place: int) -> None:
        events.append({"ph": "M", "name": what, "args": {"name": name}, **place})

    for pid, (fabric, lanes) in enumerate(processes.items()):
        named("process_name", fabric, pid=pid)
        threads = [(who, kind, own) for who, lane in lanes.items() for kind, own in _rows(lane)]
        for tid, (who, kind, spans) in enumerate(threads):
            named("thread_name", f"{who}, {kind}", pid=pid, tid=tid)
            sort = {"sort_index": tid}
            place = {"pid": pid, "tid": tid}
            events.append({"ph": "M", "name": "thread_sort_index", "args": sort, **place})
            for one in spans:
                times = {"ts": one.begin_s * 1e6, "dur": (one.end_s - one.begin_s) * 1e6}
                events.append({"ph": "X", "name": one.name, "cat": one.kind, **place, **times})
    return {"traceEvents": events, "displayTimeUnit": "ns"}


def _rows(lane: Lane) -> Iterator[tuple[str, list[Span]]]:
    """Yield the spans of each kind in rows, so that spans in a row do not overlap."""
    for kind in KINDS:
        rows: list[list[Span]] = []
        for span in (one for one in lane.spans if one.kind == kind):
            free = next((row for row in rows if row[-1].end_s <= span.begin_s), None)
            if free is None:
                rows.append([span])
            else:
                free.append(span)
        yield from ((kind, row) for row in rows)
