"""Search of all short queues of descriptors of four endpoints on a shared fabric.

Two switches (L1) have two endpoints each, and are joined by a third one (L2). Flows from one L1 to
the other share two queues of flits in each direction: the input buffers of L2 and of the far L1.
The last link ends in the receive queue of the endpoint. The input buffer of a source's own L1 is
left out for these flows, as a source has one flow in flight. Every endpoint has up to two
descriptors, and may start late. A descriptor sends a message, receives one, does both, or takes
part in a ring.

    python -m testbench.formal.descriptor_queues --record testbench/evidence/records/deadlocks.json
"""

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from itertools import combinations, pairwise, permutations, product
from typing import Any, NamedTuple

from testbench.evidence.record_file import record_file
from testbench.formal.acceptance import RULES, Descriptor, Fabric, Searched, exchange, ring, search

__all__ = [
    "KINDS",
    "Queues",
    "Row",
    "can_end",
    "classes",
    "fabric",
    "is_expected",
    "main",
    "row_of",
    "work_of",
]

KINDS = ("messages", "rings")
"""Queues of messages only, and those with a ring of three or four members."""

ENDS = range(4)
FLITS = 3
"""Flits of a message: one more than a receive queue holds."""

Part = tuple[int, ...]
"""Endpoints that take part: source and destination of a message, or members of a ring."""
Job = tuple[Part, ...]
"""The messages, or the ring, that one descriptor executes."""
Queues = tuple[tuple[Job, ...], ...]
"""Descriptors of each endpoint."""

_MESSAGES = tuple(permutations(ENDS, 2))
_RINGS = tuple(
    (first, *rest)
    for size in (3, 4)
    for first, *others in combinations(ENDS, size)
    for rest in permutations(others)
)
_ORDERS = tuple(
    tuple((end ^ swap[end // 2]) ^ 2 * sides for end in ENDS)
    for *swap, sides in product(range(2), repeat=3)
)
"""New numbers of the endpoints that leave the fabric as it is."""


def fabric(queue: int = 2, window: int = 2) -> Fabric:
    """Return the fabric, whose queues all hold some flits."""
    paths = {(a, b): (a,) if a // 2 == b // 2 else (4 + a // 2, 6 + b // 2) for a, b in _MESSAGES}
    return Fabric(paths, ENDS, link_depth=queue, receive_depth=queue, window=window)


def _flows(part: Part) -> Iterator[tuple[int, int]]:
    """Yield sources and destinations of a part."""
    return pairwise(part if len(part) == 2 else (*part, part[0]))


_DIGITS = {
    step: 16**place
    for place, step in enumerate(
        (part, flow) for part in (*_MESSAGES, *_RINGS) for flow in _flows(part)
    )
}


def _balance(end: int, jobs: tuple[Job, ...]) -> int:
    """Return a number with a digit for each flow: sent by an endpoint, minus received."""
    return sum(
        _DIGITS[part, flow] * ((flow[0] == end) - (flow[1] == end))
        for job in jobs
        for part in job
        for flow in _flows(part)
    )


def _choices(end: int, kind: str) -> Iterator[tuple[tuple[Job, ...], int]]:
    """Yield queues of an endpoint with their balance."""
    sent, received = (
        [(), *((part,) for part in _MESSAGES if part[way] == end)] for way in range(2)
    )
    jobs = [tuple(sorted(one + other)) for one, other in product(sent, received) if one or other]
    if kind == "rings":
        jobs += [(part,) for part in _RINGS if end in part]
    for queue in ((), *((job,) for job in jobs), *product(jobs, repeat=2)):
        yield queue, _balance(end, queue)


def _every_queue(kind: str) -> Iterator[Queues]:
    """Yield all queues in which each message and ring is queued at all its endpoints."""
    rings = kind == "rings"
    choices = [[*_choices(end, kind)] for end in ENDS]
    first = defaultdict[int, list[Queues]](list)
    for (a, here), (b, there) in product(*choices[:2]):
        first[here + there].append((a, b))
    for (c, here), (d, there) in product(*choices[2:]):
        for pair in first.get(-here - there, ()):
            queues = (*pair, c, d)
            if any(queues) and rings == any(job[0] in _RINGS for jobs in queues for job in jobs):
                yield queues


def can_end(queues: Queues) -> bool:
    """Return whether all descriptors end if each flow has links of its own.

    A message is then sent as soon as the descriptors of both ends are under way, and a ring as soon
    as those of all its members are.
    """
    left = [[[*job] for job in jobs] for jobs in queues]
    while any(left):
        ready = Counter(part for jobs in left for job in jobs[:1] for part in job)
        done = {part for part, members in ready.items() if members == len(part)}
        if not done:
            return False
        for jobs in filter(None, left):
            jobs[0] = [part for part in jobs[0] if part not in done]
            if not jobs[0]:
                jobs.pop(0)
    return True


def _renumbered(queues: Queues, order: tuple[int, ...]) -> Queues:
    """Return queues for new numbers of the endpoints."""
    found: list[tuple[Job, ...]] = [()] * len(queues)
    for end, jobs in enumerate(queues):
        found[order[end]] = tuple(
            tuple(sorted(_named(part, order) for part in job)) for job in jobs
        )
    return tuple(found)


def _named(part: Part, order: tuple[int, ...]) -> Part:
    """Return a part for new numbers; a ring begins with its smallest member."""
    members = tuple(order[end] for end in part)
    start = members.index(min(members)) if len(members) > 2 else 0
    return (*members[start:], *members[:start])


def classes(kind: str) -> Counter[Queues]:
    """Return one queue of each class that can end, with the number of queues in the class.

    Parameters
    ----------
    kind : str
        One of ``KINDS``.
    """
    found, seen = Counter[Queues](), set[Queues]()
    for queues in _every_queue(kind):
        if queues not in seen:
            equal = {_renumbered(queues, order) for order in _ORDERS}
            seen |= equal
            if can_end(queues):
                found[min(equal)] = len(equal)
    return found


def _descriptor(end: int, job: Job) -> Descriptor:
    flows = [flow for part in job for flow in _flows(part)]
    [to] = [b for a, b in flows if a == end] or [-1]
    [source] = [a for a, b in flows if b == end] or [-1]
    if len(job[0]) > 2:
        return ring(to, source, len(job[0]) - 1, FLITS, 2)
    return exchange(to, source, FLITS)


def work_of(queues: Queues) -> list[list[Descriptor]]:
    """Return the descriptors of queues."""
    return [[_descriptor(end, job) for job in jobs] for end, jobs in enumerate(queues)]


def _searched(queues: Queues, rule: str, where: Fabric) -> Searched:
    return search(where, work_of(queues), rule)


class Row(NamedTuple):
    """Searches of a kind of queues, with a window of some packets, and under a rule."""

    kind: str
    window: int
    rule: str


_ROWS = (
    *(Row(kind, 1, rule) for kind, rule in product(KINDS, RULES)),
    Row("messages", 2, "bounded"),
)


def row_of(row: Row, counts: Mapping[Queues, int], processes: int) -> dict[str, Any]:
    """Return what searches find for classes of queues.

    Parameters
    ----------
    row : Row
        What is searched.
    counts : mapping
        Classes, with the number of queues in each.
    processes : int
        Searches at a time.
    """
    where = fabric(window=row.window)
    with ProcessPoolExecutor(processes) as pool:
        search_one = partial(_searched, rule=row.rule, where=where)
        found = dict(zip(counts, pool.map(search_one, counts, chunksize=16), strict=True))
    stuck = [queues for queues, one in found.items() if one.stuck]
    return {
        **row._asdict(),
        "queues": sum(counts.values()),
        "classes": len(counts),
        "states": sum(one.reached for one in found.values()),
        "most states": max(one.reached for one in found.values()),
        "stuck": sum(counts[queues] for queues in stuck),
        "first stuck": min(stuck, default=None),
    }


def is_expected(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether queues are stuck in all rows of ``endless``, and in no row of ``bounded``."""
    return all((row["stuck"] > 0) == (row["rule"] == "endless") for row in rows)


def _processes(text: str) -> int:
    """Return a number of processes, 1 or more."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be an integer of 1 or more, not {text!r}")
    return int(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Search all states of all queues, and print what was found; return 1 if it is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--record", type=record_file, help="write the result to this file")
    parser.add_argument("--processes", type=_processes, default=2, help="searches at a time")
    given = parser.parse_args(arguments)
    begun, every = time.monotonic(), {kind: classes(kind) for kind in KINDS}
    rows = list[dict[str, Any]]()
    for row in _ROWS:
        rows.append(row_of(row, every[row.kind], given.processes))
        sys.stdout.write(json.dumps(rows[-1]) + "\n")
        sys.stdout.flush()
    if given.record:
        entry = {
            "date": f"{datetime.now(UTC):%Y-%m-%d}",
            "version": version("fred-hw"),
            "tools": {"numba": version("numba")},
            "seconds": round(time.monotonic() - begun),
            "flits": FLITS,
            "queue": fabric().link_depth,
            "rows": rows,
        }
        given.record.write_text(json.dumps(entry, indent=1) + "\n", encoding="utf-8")
    return int(not is_expected(rows))


if __name__ == "__main__":
    sys.exit(main())
