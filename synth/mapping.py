"""Mapping of Verilog to the cells of a library, each distinct module once."""

import os
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from errno import ENOSPC
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Event
from typing import Any

from fred_hw.checks import check_choice
from fred_hw.errors import InputError
from fred_hw.progress import count

from .liberty import Libraries
from .process import Worker, reading, running

__all__ = [
    "EFFORTS",
    "QUICKER",
    "MapOptions",
    "Mapped",
    "Memory",
    "find_yosys",
    "map_again",
    "map_design",
]

EFFORTS = {
    "area": "strash;ifraig;scorr;dc2;strash;&get,-n;&dch,-f;&nf;&put;stime,-p",
    "speed": "strash;ifraig;scorr;dc2;dch,-f;map,-B,0.9;topo;buffer,-c;upsize;dnsize;stime,-p",
}
EFFORTS["clock"] = EFFORTS["area"]
"""Optimization of a module's logic by ABC: smallest area, or buffers and cell sizes for the
shortest path. Without the latter a 16-bit adder is 2.5 times slower. With effort ``clock``,
flip-flops are those that are smallest together with an inverter, and the design is sized until it
reaches the requested clock."""

_SIZED = "strash;dch,-f;map,-B,0.9;topo;buffer,-c;upsize;dnsize;stime,-p"

QUICKER = (
    f"strash;ifraig;scorr;dc2;strash;if,-g,-K,6;{_SIZED}",
    f"strash;ifraig;scorr;dc2;dch,-f;if,-g,-K,6;{_SIZED}",
)
"""Alternative ABC scripts for effort ``speed``, which balance sums of products for the shortest
path first. In ASAP7 an FP32 sum becomes 29 % faster and 16 % larger, an FP16 sum 16 % and 26 %."""

CARRIES = "han-carlson"
"""Carry structures to try with effort ``clock``, among those of Yosys, instead of Brent-Kung: in
nangate45 a saturating INT32 sum takes 374 instead of 442 ps, with 409 instead of 438 um2 (ABC's
estimate). They are not used with effort ``speed``, whose figures stay reproducible."""

_HAS_CARRIES = re.compile(r"^  cell \$(?:add|sub|neg|alu|lcu|macc\w*|lt|le|ge|gt) ", re.MULTILINE)

LOADS = 1
"""Load at the end of logic during mapping, in NAND gates: mostly a flip-flop. With four, the
multiplexers of sky130hd become a fifth larger without being faster."""

WORKERS = 2
"""Largest number of concurrent mapping processes."""

_NO_WIRES = re.compile(r"\bdefault_wire_load\w*\s*:[^;\n]*;?")
"""Commands that disable OpenSTA's wire estimate, which only some libraries enable."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Memory:
    """A memory of a module, which is not mapped but replaced by a black box.

    Parameters
    ----------
    kind : str
        Name of the black box; equal names are equal memories.
    words, width : int
        Its size [words], [bits].
    pins : dict of str to (way, width)
        Pins of the black box, "input" or "output", width in bits.
    verilog : str
        Module that does what the memory does, under the name of the black box.
    old_data : bool
        Whether all reads take place at clock edges, and return the word before a write at the same
        edge.
    """

    kind: str
    words: int
    width: int
    pins: dict[str, tuple[str, int]]
    verilog: str = ""
    old_data: bool = True

    @property
    def bits(self) -> int:
        """Capacity in bits."""
        return self.words * self.width


@dataclass(frozen=True)
class Mapped:
    """A design mapped to cells.

    Parameters
    ----------
    top : str
        Name of the top module.
    verilog : str
        All modules.
    memories : dict of str to list of Memory
        Memories of each module that has any.
    delays : dict of str to (delay_ps, levels)
        ABC's estimate of the longest path of logic in each module [ps], and the cells on it.
    """

    top: str
    verilog: str
    memories: dict[str, list[Memory]]
    delays: dict[str, tuple[float, int]]


def find_yosys() -> str:
    """Return the version of Yosys; fail if it is not installed.

    Raises
    ------
    InputError
        Yosys is not installed.
    """
    try:
        return version("pyosys")
    except PackageNotFoundError:
        message = "must be installed for synthesis: pip install 'fred-hw[synth]'"
        raise InputError("pyosys", "", message) from None


@dataclass(frozen=True)
class MapOptions:
    """Options of mapping a design.

    Parameters
    ----------
    effort : str
        One of ``EFFORTS``.
    label : str
        Source to be named in errors.
    flat : bool
        Whether to flatten all modules into the top one first.
    progress : Callable
        Called with a description of each finished step.
    """

    effort: str
    label: str
    flat: bool = False
    progress: Progress = lambda text: None


def map_design(
    verilog: str, top: str, libraries: Libraries, work: Path, options: MapOptions
) -> Mapped:
    """Map a design to cells.

    Parameters
    ----------
    verilog : str
        The design.
    top : str
        Name of its top module.
    libraries : Libraries
        The cells.
    work : Path
        Folder for files in between, logs among them.
    options : MapOptions
        How.

    Raises
    ------
    InputError
        Yosys is not installed, or refuses the Verilog or the library.
    """
    check_choice("effort", options.effort, tuple(EFFORTS))
    find_yosys()
    commands, label = _commands(libraries, EFFORTS[options.effort], work), options.label
    if options.effort == "clock":
        dear = (f" -dont_use {name}" for name in libraries.dear_registers)
        commands["flip_flops"] += "".join(dear)
        commands["inverting"] = libraries.inverting_registers
    (work / "design.v").write_text(verilog, encoding="utf-8")
    with running(work / "yosys.log", label, reading(verilog)) as worker:
        found = worker.do("read", verilog="design.v", top=top, flat=options.flat)
    sizes: dict[str, int] = found["sizes"]
    _check_names(sizes, found["boxes"], libraries, label)
    _check_hierarchy(found["inside"], label)
    order = sorted(sizes, key=lambda module: (-sizes[module], module))
    try:
        results = _map_each(order, commands, label, work, options.progress)
    except InputError as error:
        if "liberty file" in error.message:
            raise InputError(libraries.label, "", error.message) from None
        raise
    parts = [(work / f"{module}.v").read_text(encoding="utf-8") for module in sorted(sizes)]
    if not all(part.endswith("endmodule\n") for part in parts):  # Yosys does not report a full disk
        raise OSError(ENOSPC, os.strerror(ENOSPC))
    return Mapped(
        top=top,
        verilog="".join(parts),
        memories={name: _memories(one) for name, one in results.items() if one["memories"]},
        delays={name: (one["delay_ps"], one["levels"]) for name, one in results.items()},
    )


def map_again(
    module: str, libraries: Libraries, work: Path, label: str, *, carries: bool = False
) -> list[tuple[str, tuple[float, int]]]:
    """Map a module of a design with alternative structures.

    Parameters
    ----------
    module : str
        Its name.
    libraries : Libraries
        The cells.
    work : Path
        Folder in which the design was mapped.
    label : str
        Source to be named in errors.
    carries : bool
        Whether to try other carry structures, if the module has carries.

    Returns
    -------
    list of (verilog, (delay_ps, levels))
        For each of ``QUICKER``, and again for the first of them with other carries: the module and
        ABC's estimate of its longest path.
    """
    found: dict[int, tuple[str, tuple[float, int]]] = {}
    text = (work / f"{module}.il").read_text(encoding="utf-8")
    attempts = [(script, "") for script in QUICKER]
    if carries and _HAS_CARRIES.search(text):
        attempts.append((QUICKER[0], CARRIES))
    folders = [work / f"attempt-{number}" for number in range(len(attempts))]
    for folder in folders:  # separate folders, as their files are named after modules
        folder.mkdir(exist_ok=True)
        shutil.copy(work / f"{module}.il", folder)

    def map_one(worker: Worker, number: int) -> None:
        script, found_by = attempts[number]
        commands = _commands(libraries, script, folders[number])
        result = worker.do("map", module=module, carries=found_by, **commands)
        text = (folders[number] / f"{module}.v").read_text(encoding="utf-8")
        if not text.endswith("endmodule\n"):  # Yosys does not report a full disk
            raise OSError(ENOSPC, os.strerror(ENOSPC))
        found[number] = text, (result["delay_ps"], result["levels"])

    _side_by_side([folder / f"{module}.log" for folder in folders], label, map_one)
    return [found[number] for number in range(len(attempts))]


def _check_names(
    modules: Iterable[str], boxes: Iterable[str], libraries: Libraries, label: str
) -> None:
    """Fail if a module has no area or has the name of a cell."""
    for name in boxes:
        if name not in libraries.cells:
            message = "must have contents or be a cell of the library, not be empty"
            raise InputError(label, f"module {name}", message)
    for name in modules:
        if name in libraries.cells:
            message = "must have a name of its own, not that of a cell of the library"
            raise InputError(label, f"module {name}", message)


def _check_hierarchy(inside: dict[str, list[str]], label: str) -> None:
    """Fail if a module contains itself, which Yosys does not check.

    Parameters
    ----------
    inside : dict of str to list of str
        Kinds of instances in each module.
    label : str
        Source to be named in errors.
    """
    try:
        TopologicalSorter(inside).prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1]
        message = f"must not contain itself, as in {' < '.join(cycle)}"
        raise InputError(label, f"module {cycle[0]}", message) from None


def _map_each(
    modules: Sequence[str], commands: dict[str, Any], label: str, work: Path, progress: Progress
) -> dict[str, dict[str, Any]]:
    """Map modules, each in a separate process so that results are independent."""
    results: dict[str, dict[str, Any]] = {}

    def map_one(worker: Worker, number: int) -> None:
        module = modules[number]
        results[module] = worker.do("map", module=module, **commands)
        progress(f"{len(results)} of {len(modules)} modules mapped: {module}")

    logs = [work / f"{module}.log" for module in modules]
    _side_by_side(logs, label, map_one, lambda done: count("modules", done, len(modules)))
    return results


def _side_by_side(
    logs: Sequence[Path],
    label: str,
    do: Callable[[Worker, int], None],
    say: Callable[[int], None] = lambda done: None,
) -> None:
    """Run a job per log in a limited number of workers; if one fails, stop all."""
    alive: set[Worker] = set()
    ended = Event()

    def do_one(number: int) -> None:
        with running(logs[number], label) as worker:
            alive.add(worker)
            if ended.is_set():  # it has started just now, so nobody else stops it
                return
            do(worker, number)
            alive.discard(worker)

    with ThreadPoolExecutor(min(WORKERS, os.cpu_count() or 1)) as pool:
        try:
            runs = [pool.submit(do_one, number) for number in range(len(logs))]
            for done, run in enumerate(as_completed(runs), 1):
                run.result()
                say(done)
        except BaseException:
            ended.set()
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in list(alive):
                worker.kill()
            raise


def _memories(result: dict[str, Any]) -> list[Memory]:
    """Return the memories that a worker replaced in a module."""
    return [
        Memory(
            one["kind"],
            one["words"],
            one["width"],
            {k: tuple(v) for k, v in one["pins"].items()},
            one["verilog"],
            one["old_data"],
        )
        for one in result["memories"]
    ]


def _commands(libraries: Libraries, script: str, work: Path) -> dict[str, Any]:
    """Return the commands for flip-flops and logic, and write the files they name."""
    files, gates_in = [], []
    for number, library in enumerate(libraries.files):
        file = f"cells-{number}.lib"
        (work / file).write_text(_NO_WIRES.sub("", library.text), encoding="utf-8")
        files.append(f"-liberty {file}")
        gates_in.append(sum(cell.is_gate for cell in library.cells.values()))
    # ABC merges libraries into the first one, which must have gates.
    order = sorted(range(len(files)), key=lambda number: -gates_in[number])
    with_gates = [files[number] for number in order if gates_in[number]]
    unusable = [f"-dont_use {name}" for name in libraries.unusable]
    gates = ["abc", *with_gates, *unusable, "-script", f"+{script}"]
    if libraries.driver:
        load = LOADS * max(libraries.nand2.inputs.values())
        (work / "cells.constr").write_text(
            f"set_driving_cell {libraries.driver.name}\nset_load {load}\n", encoding="utf-8"
        )
        gates += ["-constr", "cells.constr"]
    return {"flip_flops": " ".join(["dfflibmap", *files]), "gates": " ".join(gates)}
