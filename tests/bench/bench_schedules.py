"""Build schedules of MultiTree and of the synthesizer: time on one core, and time slots."""

import sys
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path

from perfmodel.collectives.link_graph import LinkGraph, graph_of
from perfmodel.collectives.multitree import grow
from perfmodel.collectives.schedule import PATTERNS
from perfmodel.collectives.select import build_schedule
from perfmodel.collectives.synthesis import Shard, synthesize
from perfmodel.network.run import run_collective
from perfmodel.topology.parse import parse_topology

EXAMPLES = Path(__file__).parents[2] / "examples"

MOST_S = {
    ("multitree", "torus:16x16"): 10.0,
    ("multitree", "torus:32x32"): 120.0,
    ("synthesized", "torus:16x8"): 5.0,
    ("synthesized", "mesh:16x8"): 5.0,
    ("synthesized", "torus:32x32"): 60.0,
}
"""Goals: seconds to find the trees of all members, or an all-gather."""

BUILT_S = {
    ("torus:16x8", "all_reduce"): 5.0,
    ("torus:16x8", "all_to_all"): 5.0,
    ("mesh:16x8", "all_to_all"): 5.0,
    (str(EXAMPLES / "switches-8x8x8.yaml"), "all_gather"): 60.0,
    (str(EXAMPLES / "switches-8x8x8.yaml"), "all_reduce"): 60.0,
}
"""Goals: seconds to synthesize a schedule and to build its messages."""

WHOLE_S = {("synthesized", "torus:16x8"): 5.0, ("synthesized", "torus:32x32"): 300.0}
"""Goals: seconds to run an all-gather, other algorithms included where it falls back. On 1,024
NPUs: 60 s of its own, and 120 s for the trees of each of the two MultiTrees."""


def synthesized(graph: LinkGraph) -> int:
    return synthesize(graph, [Shard(member) for member in graph.members]).steps


def trees(graph: LinkGraph) -> int:
    return grow(graph).steps


FINDERS: dict[str, Callable[[LinkGraph], int]] = {"multitree": trees, "synthesized": synthesized}


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    """Print what each takes; 1 if one takes longer than its goal."""
    missed = 0
    say(f"{'algorithm':12} {'topology':12} {'slots':>6} {'s':>7} {'goal s':>7}")
    for (algorithm, name), most_s in MOST_S.items():
        topology = parse_topology(name)
        graph = graph_of(topology, range(topology.npus))
        begin = time.process_time()
        steps = FINDERS[algorithm](graph)
        took_s = time.process_time() - begin
        missed += took_s > most_s
        say(f"{algorithm:12} {name:12} {steps:6} {took_s:7.2f} {most_s:7.0f}")
    for (name, pattern), most_s in BUILT_S.items():
        topology = parse_topology(name)
        begin = time.process_time()
        made = build_schedule(topology, pattern, [range(topology.npus)], 1.0, "synthesized")
        took_s = time.process_time() - begin
        missed += took_s > most_s
        rest = f"{made.details['steps']} slots, {len(made.messages):,} messages"
        say(f"{pattern} by synthesized on {Path(name).name}, {rest}: {took_s:.2f} s")
    for (algorithm, name), most_s in WHOLE_S.items():
        begin = time.process_time()
        run_collective(parse_topology(name), "all_gather", 64 << 20, algorithm=algorithm)
        took_s = time.process_time() - begin
        missed += took_s > most_s
        say(f"whole all-gather by {algorithm} on {name}: {took_s:.2f} s, goal {most_s:.0f} s")
    for algorithm in FINDERS:
        topology = parse_topology("torus:16x16")
        begin = time.process_time()
        schedule = build_schedule(topology, "all_reduce", [range(256)], 1.0, algorithm)
        took_s = time.process_time() - begin
        messages = f"{len(schedule.messages):,} messages"
        say(f"all-reduce by {algorithm} on torus:16x16, {messages}: {took_s:.2f} s")
    fall_backs()
    return int(missed > 0)


def fall_backs() -> None:
    """Print how often synthesized falls back, and to what."""
    runs = fell_back = 0
    for name, pattern in product(("mesh:4x4", "torus:4x4", "mesh:5x4", "fred-d"), PATTERNS):
        topology = parse_topology(name)
        found = run_collective(topology, pattern, 64 << 20, algorithm="synthesized").details
        runs, fell_back = runs + 1, fell_back + bool(found["fell_back"])
        times = [float(found[key]) * 1e6 for key in ("synthesized_time_s", "fixed_time_s")]
        best = f"{found['fixed_algorithm']} {times[1]:.1f} us"
        say(f"64 MiB, {pattern} on {name}: synthesized {times[0]:.1f} us, {best}")
    say(f"fell back in {fell_back} of {runs}")


if __name__ == "__main__":
    sys.exit(main())
