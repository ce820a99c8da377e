"""Measure traces and collectives in the manner of ASTRA-sim: seconds of whole processes, memory."""

import json
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tracemodel.chakra.files import write
from tracemodel.chakra.kinds import CollectiveType, NodeType
from tracemodel.chakra.node import Attr, Node

GIB = 1 << 30
COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
NO_CPU = Attr("is_cpu_op", "bool", False)


def say(text: str) -> None:
    """Print a line."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def compute(number: int, after: Sequence[int], us: int) -> Node:
    """Return a node of compute."""
    kind = NodeType.COMP_NODE
    return Node(number, "c", kind, data_deps=tuple(after), duration_us=us, attrs=(NO_CPU,))


def reduction(number: int, after: Sequence[int], size: int, group: str = "") -> Node:
    """Return an all-reduce of a group, or of all NPUs."""
    attrs = [
        NO_CPU,
        Attr("comm_type", "int64", int(CollectiveType.ALL_REDUCE)),
        Attr("comm_size", "int64", size),
    ]
    if group:
        attrs.append(Attr("pg_name", "string", group))
    kind = NodeType.COMM_COLL_NODE
    return Node(number, "r", kind, data_deps=tuple(after), attrs=tuple(attrs))


def step(first: str, second: str, layers: int = 170, steps: int = 1) -> list[Node]:
    """Return steps of a transformer, eight nodes a layer, in groups of two kinds."""
    nodes: list[Node] = []
    last: list[int] = []
    for forward in (True, False) * steps:
        for _ in range(layers):
            at = len(nodes)
            nodes.append(compute(at, last, 37 if forward else 74))
            nodes.append(reduction(at + 1, [at], 8 << 20, first))
            nodes.append(compute(at + 2, [at + 1], 61 if forward else 122))
            size, group = (8 << 20, first) if forward else (32 << 20, second)
            nodes.append(reduction(at + 3, [at + 2] if forward else [at], size, group))
            last = [at + 3] if forward else [at + 2]
    return nodes


def uneven(count: int) -> Iterator[Node]:
    """Yield compute that does not repeat: uneven durations, after one or a few of the last."""
    rng = random.Random(1)
    for number in range(count):
        few = rng.choice((1, 1, 2, 3)) if number else 0
        after = {max(0, number - rng.randint(1, 8)) for _ in range(few)}
        yield compute(number, sorted(after), rng.randint(1, 9))


def uneven_pair(count: int, rank: int) -> Iterator[Node]:
    """Yield compute, all-reduces and messages between two ranks, which do not repeat."""
    rng, own = random.Random(2), random.Random(10 + rank)
    last: set[int] = set()
    for number in range(count):
        after = {max(0, number - rng.randint(1, 8))} if number else set[int]()
        kind, size = rng.random(), rng.randint(1, 1 << 20)
        if kind < 0.8:
            yield compute(number, sorted(after), own.randint(1, 9))
            continue
        # Each waits for the one before, so that both ranks begin them in the same order.
        after, last = after | last, {number}
        if kind < 0.9:
            yield reduction(number, sorted(after), size)
        else:
            yield message(number, sorted(after), size, rank, sends=(kind < 0.95) == (rank == 0))


def message(number: int, after: Sequence[int], size: int, rank: int, *, sends: bool) -> Node:
    """Return a message between ranks 0 and 1."""
    kind = NodeType.COMM_SEND_NODE if sends else NodeType.COMM_RECV_NODE
    ends = (rank, 1 - rank) if sends else (1 - rank, rank)
    values = {"comm_src": ends[0], "comm_dst": ends[1], "comm_tag": number, "comm_size": size}
    attrs = [Attr(name, "int64", value) for name, value in values.items()]
    return Node(number, "m", kind, data_deps=tuple(after), attrs=(NO_CPU, *attrs))


class Timed:
    """Commands in a folder, timed.

    Parameters
    ----------
    folder : Path
        Takes their files.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def network(self, *dimensions: tuple[str, int, float]) -> list[str]:
        """Return the option of a network of kinds, NPUs and bandwidths."""
        kinds, npus, rates = (list(one) for one in zip(*dimensions, strict=True))
        data = {"topology": kinds, "npus_count": npus, "bandwidth": rates}
        return self._file("network", {**data, "latency": [500.0] * len(kinds)})

    def system(self, *names: str, **others: Any) -> list[str]:
        """Return the option of a system with an algorithm for each dimension."""
        data: dict[str, Any] = {f"{one}-implementation": list(names) for one in COLLECTIVES}
        return self._file("system", data | {"collective-optimization": "localBWAware"} | others)

    def groups(self, groups: dict[str, list[int]]) -> list[str]:
        """Return the option of groups."""
        return self._file("groups", groups)

    def traces(self, ranks: Sequence[Iterable[Node]]) -> list[str]:
        """Return the option of traces."""
        for rank, nodes in enumerate(ranks):
            write(self._folder / f"w.{rank}.et", iter(nodes))
        return ["--workload", str(self._folder / "w")]

    def _file(self, option: str, data: object) -> list[str]:
        path = self._folder / f"{option}.json"
        path.write_text(json.dumps(data))
        return [f"--{option}", str(path)]

    def run(self, what: str, least: str, *parts: Sequence[str]) -> None:
        """Print seconds, processor time and memory of `fred estimate`, and its result [ns]."""
        arguments = [one for part in parts for one in part]
        # ru_maxrss of a process begins with that of the one that started it.
        start = "import sys; from fred_cli.main import main\n"
        start += "try: main()\n"
        start += "finally: print(open('/proc/self/status').read(), file=sys.stderr)"
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        command = [sys.executable, "-c", start, "estimate", *arguments, "--json"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        mib = int(re.findall(r"VmHWM:\s+(\d+) kB", done.stderr)[0]) / 1024
        found = json.loads(done.stdout)
        total_ns = found.get("total_ns") or round(1e9 * found["iteration_time_s"])
        mark = "  above" if least and seconds > float(least) else ""
        say(f"{what:58} {least:>12} {seconds:8.2f} {cpu_s:8.2f} {mib:8.0f} {total_ns:15,}{mark}")


def collectives(bench: Timed) -> None:
    """Print collectives of 1 GiB."""
    one = [reduction(0, [], GIB)]
    for model, least in (("unaware", "1"), ("fluid", "0.6")):
        ring = bench.network(("Ring", 1024, 50)), bench.system("ring")
        more = bench.traces([one] * 1024), ["--network-model", model]
        bench.run(f"1 GiB ring all-reduce, 1,024 NPUs, {model}", least, *ring, *more)
    stacks = [(("Ring", 64), ("Switch", 64)), (("Ring", 16), ("FullyConnected", 8), ("Switch", 32))]
    for stack in stacks:
        network = bench.network(
            *((kind, npus, 100 / (i + 1)) for i, (kind, npus) in enumerate(stack))
        )
        system = bench.system(*["ring"] * len(stack), **{"preferred-dataset-splits": 4})
        what = f"1 GiB all-reduce, {len(stack)}-D stack of 4,096 NPUs, fluid"
        bench.run(what, "1", network, system, bench.traces([one] * 4096))
    direct = bench.network(("Switch", 64, 50)), bench.system("direct")
    for rank in range(64, 4096):
        (bench._folder / f"w.{rank}.et").unlink()  # pyright: ignore[reportPrivateUsage]
    more = bench.traces([one] * 64), ["--network-model", "aware"]
    bench.run("1 GiB direct all-reduce, 64-NPU switch, aware", "1", *direct, *more)


def square(bench: Timed, side: int, count: int = 1) -> list[list[str]]:
    """Return the options of steps on a square of NPUs, whose rows and columns are groups."""
    groups = {str(1 + i): [side * i + k for k in range(side)] for i in range(side)}
    groups |= {str(1 + side + k): [side * i + k for i in range(side)] for k in range(side)}
    ranks = [
        step(str(1 + rank // side), str(1 + side + rank % side), steps=count)
        for rank in range(side * side)
    ]
    return [
        bench.network(("Switch", side, 400), ("Switch", side, 50)),
        bench.system("ring", "ring"),
        bench.groups(groups),
        bench.traces(ranks),
    ]


def steps(bench: Timed, side: int, least: str) -> None:
    """Print a step on a square of NPUs."""
    given, what = square(bench, side), f"step of 1,360 nodes, {side * side} ranks"
    bench.run(f"{what}, fluid", least, *given)
    bench.run(f"{what}, fluid, without symmetry", "", *given, ["--no-symmetry"])
    bench.run(f"{what}, unaware", least, *given, ["--network-model", "unaware"])


def iterations(bench: Timed, side: int, count: int) -> None:
    """Print many steps on a square of NPUs, all of them and without those that repeat."""
    given = [*square(bench, side, count), ["--no-symmetry"]]
    what = f"{count} steps of 1,360 nodes, {side * side} ranks, no symmetry"
    bench.run(what, "", *given)
    bench.run(f"{what}, all", "", *given, ["--no-repeats"])


def microbatches(bench: Timed) -> None:
    """Print iterations with few microbatches and with many."""
    given = ["--topology", "fred-d", "--workload", "transformer-17b"]
    for count, more in ((64, []), (512, ["--no-repeats"]), (512, []), (1 << 20, [])):
        what = f"Transformer-17B on fred-d, {count:,} microbatches{' of which all' if more else ''}"
        size = ["--samples", str(count), "--microbatches", str(count)]
        bench.run(what, "", given, size, more)


def main() -> None:
    """Print all measurements; a row is marked whose seconds are above what they may be."""
    say(f"{'whole processes':58} {'at most [s]':>12} {'[s]':>8} {'CPU':>8} {'MiB':>8} {'ns':>15}")
    with tempfile.TemporaryDirectory() as folder:
        steps(Timed(Path(folder)), 4, "0.3")
    with tempfile.TemporaryDirectory() as folder:
        steps(Timed(Path(folder)), 8, "0.5")
    with tempfile.TemporaryDirectory() as folder:
        iterations(Timed(Path(folder)), 4, 40)
    with tempfile.TemporaryDirectory() as folder:
        collectives(Timed(Path(folder)))
    with tempfile.TemporaryDirectory() as folder:
        bench = Timed(Path(folder))
        many = [compute(number, [number - 1] if number else [], 1) for number in range(500_000)]
        network = bench.network(("Ring", 2, 50)), bench.system("ring")
        given = bench.traces([many, many])
        what = "1,000,000 nodes, two equal files of equal nodes"
        bench.run(what, "20", *network, given, ["--no-symmetry"])
        given = bench.traces([uneven(1_000_000), ()])
        bench.run("1,000,000 nodes that do not repeat, one file", "20", *network, given)
        given = bench.traces([uneven_pair(500_000, rank) for rank in range(2)])
        bench.run("the same with all-reduces and messages, two files", "", *network, given)
        microbatches(bench)


if __name__ == "__main__":
    main()
