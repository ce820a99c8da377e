"""Random schedule tables: all-reduces along random trees, beside the other work of a plan."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from fred_hw.mesh.tree_program import CHILDREN, TreeEdge, TreeProgram
from testbench.collectives.plane import WAIT, Code, codes

__all__ = ["Schedule", "circuits_of", "random_trees"]


@dataclass(frozen=True)
class Schedule:
    """Runs of the schedule tables of all endpoints.

    Parameters
    ----------
    program : TreeProgram
        What the tables hold.
    waits : tuple of int
        Cycles after which each endpoint starts its table for the first time.
    runs : int
        How often an endpoint runs its table.
    first : bool
        Whether endpoints queue the jobs of the plan after the schedule, instead of before.
    """

    program: TreeProgram
    waits: tuple[int, ...]
    runs: int
    first: bool

    @property
    def flits(self) -> int:
        """Flits that all endpoints send and receive."""
        program = self.program
        block = program.size // program.npus * 8 // program.link.data_width
        return 4 * self.runs * len(program.edges) * block

    @property
    def cycles(self) -> int:
        """Cycles that the schedule takes at least."""
        return max(self.waits) + self.runs * self.program.steps * self.program.step_cycles

    def codes(self, npu: int) -> list[Code]:
        """Return what the driver of an endpoint does: load the table and run it."""
        wait = (WAIT, 0, self.waits[npu], 0)
        run = codes(self.program.run_steps())
        return [*codes(self.program.load_steps(npu)), wait, *run * self.runs]

    def entries(self, npu: int) -> Counter[str]:
        """Return how many entries each virtual channel of an endpoint completes."""
        own = Counter(one.descriptor.circuit for one in self.program.entries(npu))
        return Counter({circuit: self.runs * count for circuit, count in own.items()})

    def text(self) -> str:
        """Return all of it for readers, to repeat a failure by hand."""
        place = "before" if self.first else "after"
        return (
            f"  schedule {place} the jobs, {self.runs} runs, starts after {self.waits}, steps of "
            f"{self.program.step_cycles} cycles, {self.program.size} bytes: {self.program.edges}"
        )


def random_trees(rng: random.Random, npus: int, pairs: Sequence[tuple[int, int]]) -> list[TreeEdge]:
    """Return random trees, one of each root, whose steps leave gaps.

    Parameters
    ----------
    npus : int
        Endpoints; each sends one message at most in a step, and receives one.
    pairs : sequence of (int, int)
        Parents and children that an edge may have. They connect all endpoints.
    """
    when: list[dict[int, int]] = [{root: -1} for root in range(npus)]
    children: Counter[tuple[int, int]] = Counter()
    busy: set[tuple[int, int, str]] = set()
    edges: list[TreeEdge] = []
    slack = rng.choice((0, 0, 1, 3))
    while growing := [root for root in range(npus) if len(when[root]) < npus]:
        root = rng.choice(growing)
        parent, child = rng.choice(
            [
                (a, b)
                for a, b in pairs
                if a in when[root] and b not in when[root] and children[root, a] < CHILDREN
            ]
        )
        step = when[root][parent] + 1 + rng.randint(0, slack)
        while {(step, parent, "sends"), (step, child, "receives")} & busy:
            step += 1
        busy |= {(step, parent, "sends"), (step, child, "receives")}
        when[root][child] = step
        children[root, parent] += 1
        edges.append(TreeEdge(root, child, parent, step))
    return edges


def circuits_of(program: TreeProgram) -> dict[tuple[int, int], str]:
    """Return the virtual channel on which jobs may use the two flows of a pair, if there is one.

    It is empty if the schedule has the two directions on different virtual channels.
    """
    found: dict[tuple[int, int], set[str]] = {}
    for npu in range(program.npus):
        for entry in program.entries(npu):
            for flow in (entry.descriptor.send, entry.descriptor.receive):
                if flow is not None:
                    pair = min(npu, flow.number), max(npu, flow.number)
                    found.setdefault(pair, set()).add(entry.descriptor.circuit)
    return {pair: own.pop() if len(own) == 1 else "" for pair, own in found.items()}
