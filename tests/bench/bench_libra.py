"""Times LIBRA on both shipped examples; prints seconds, and deviations from the authors' optima.

All times are processor times: of the optimiser, the median of several runs; of `fred libra`, from
the start of the process, the least of five runs, since others use the caches of the processor too.
Returns 1 if an optimisation or a command takes 1 s or more. Run as
``.venv/bin/python tests/bench/bench_libra.py``.
"""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from perfmodel.libra.design import load_design
from perfmodel.libra.optimise import Allocation, optimise
from perfmodel.libra.problem import OBJECTIVES, Problem
from tests.perfmodel.libra.reference import MEASURED, SHIPPED, problem

__all__ = ["main"]

ROOT = Path(__file__).resolve().parents[2]
GOAL_S = 1.0
RUNS = 15
DESIGN = "examples/bandwidth-design.yaml"
AUTHORS = (
    *("--workload", "examples/libra/gpt-3.txt"),
    *("--communicator", "examples/libra/communicator.yml"),
    *("--network", "examples/libra/network.yml"),
    *("--prices", "examples/libra/prices.yml"),
    *(word for text in SHIPPED for word in ("--constraint", text)),
)
COMMANDS = {DESIGN: (DESIGN,), "examples/libra": AUTHORS}


def _say(what: str, objective: str, figures: str) -> None:
    sys.stdout.write(f"{what:34} {objective:12} {figures}\n")
    sys.stdout.flush()


def timed(given: Callable[[], Problem]) -> tuple[Allocation, float]:
    """Return the optimum of a problem, and the median processor time to find it [s]."""
    took: list[float] = []
    found = optimise(given())
    for _ in range(RUNS):
        one = given()  # a new problem, as a problem keeps its centre
        begin = time.process_time()
        found = optimise(one)
        took.append(time.process_time() - begin)
    return found, median(took)


def command_s(arguments: tuple[str, ...]) -> float:
    """Return the processor time of `fred libra`, from the start of the process [s]."""
    begun = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = "from fred_cli.main import main; main()"
    subprocess.run(
        [sys.executable, "-c", start, "libra", *arguments, "--json"],
        check=True,
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
    )
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime


def _of_design(objective: str) -> Problem:
    file = load_design(ROOT / DESIGN).model_copy(update={"objective": objective})
    return file.problem(DESIGN)


def main() -> int:
    """Measure optima and commands; return 1 if one misses the goal."""
    slowest = 0.0
    for objective in OBJECTIVES:
        _, took_s = timed(lambda objective=objective: _of_design(objective))
        slowest = max(slowest, took_s)
        _say(DESIGN, objective, f"{1e3 * took_s:6.1f} ms")
    farthest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for row in MEASURED:
            found, took_s = timed(
                lambda row=row: problem(
                    Path(folder), row.workload, row.net, row.constraints, row.objective
                )
            )
            slowest = max(slowest, took_s)
            pairs = zip(found.bytes_per_s, row.gb_per_s, strict=True)
            apart = max(abs(ours / 1e9 - theirs) for ours, theirs in pairs)
            farthest = max(farthest, apart if row.cost is not None else 0.0)
            what = f"{row.workload} {row.net}, {len(row.constraints)} constraints"
            _say(what, row.objective, f"{1e3 * took_s:6.1f} ms, {apart:.5f} GB/s apart")
    sys.stdout.write(f"farthest from the authors' optima: {farthest:.5f} GB/s\n")
    for name, arguments in COMMANDS.items():
        for objective in OBJECTIVES:
            words = (*arguments, "--objective", objective)
            took_s = min(command_s(words) for _ in range(5))
            slowest = max(slowest, took_s)
            _say(f"fred libra, {name}", objective, f"{took_s:6.2f} s, goal {GOAL_S:g} s")
    return int(slowest >= GOAL_S)


if __name__ == "__main__":
    sys.exit(main())
