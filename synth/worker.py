"""Yosys worker process: ``python -m synth.worker LOG CPU_S BYTES`` takes jobs on stdin.

Each line is a job in JSON, each answer a line of JSON on standard output. What Yosys and ABC print
goes to the file LOG; after an error, which ends the process, that is its last line. The system ends
the process after CPU_S seconds of processor time, and gives it no more than BYTES of memory and as
much for each file.
"""

import json
import os
import re
import resource
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyosys import libyosys as yosys  # pyright: ignore[reportAttributeAccessIssue]

__all__ = ["main"]

_COARSE = (
    "tribuf",  # otherwise a tri-state driver of a bus would always drive
    "opt_expr",
    "opt_clean",
    "opt -nodffe -nosdff",
    "fsm",
    "opt",
    "wreduce",
    "peepopt",
    "opt_clean",
    "alumacc",
    "opt",
    "memory -nomap",
    "opt_clean",
)
"""Passes of ``synth`` up to memories, without the search for shareable operators."""

_FINE = ("opt -fast -full", "memory_map", "opt -full")
"""Passes of ``synth`` from memories to gates, which ``techmap`` creates."""

_PRIVATE = re.compile(r"(?<=\s)\$\S*\$\S*")
"""Pattern of Yosys's own names, whose counters depend on earlier work and affect cell order."""

_SOURCE = re.compile(r"^\s*attribute \\src .*\n", re.MULTILINE)

_DELAY = re.compile(r"Delay =\s*([\d.]+) ps")
_LEVEL = re.compile(r"Path\s+\d+ --")
_PLAIN = re.compile(r"\\([A-Za-z_][\w$]*)", re.ASCII)

_RAM = re.compile(r"(.*)\.\d+\.\d+")
"""Pattern of the names of the RAM cells of a memory."""

_PINS = {
    "RD_ADDR": "RADDR",
    "RD_DATA": "RDATA",
    "WR_ADDR": "WADDR",
    "WR_DATA": "WDATA",
}
"""Ports of Yosys' memories, and the pins of their black boxes."""

_SAID = ("$print", "$check", "$assert", "$assume", "$cover", "$live", "$fair")
"""Cells that only simulators and provers use."""


def main() -> None:
    """Run the jobs on standard input, one by one."""
    answers = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    log, (cpu_s, memory_bytes) = Path(sys.argv[1]), map(int, sys.argv[2:])
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_FSIZE, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    session = _Session(log.stem + ".abc")
    for line in sys.stdin:
        job = json.loads(line)
        answers.write(json.dumps(getattr(session, job.pop("do"))(**job)) + "\n")


def _id(name: str) -> Any:
    return yosys.IdString("\\" + name)


@contextmanager
def _files(most: int) -> Iterator[None]:
    """Limit the number of open files of this process.

    Verilog may name any file, even by parameters, in ``include`` and ``$readmemh``. Descriptors
    are given in ascending order, so the limit is the first free one and those that may follow.
    """
    free = os.dup(0)
    os.close(free)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


class _Session:
    """A design in Yosys, and the jobs on it."""

    def __init__(self, abc_log: str) -> None:
        self.design = yosys.Design()
        self.abc_log = abc_log

    def _run(self, *commands: str) -> None:
        for command in commands:
            yosys.run_pass(command, self.design)

    def read(self, verilog: str, top: str, flat: bool) -> dict[str, Any]:
        """Read Verilog, and write each module to a file.

        Yosys opens the file and no other one, and calls no functions of C.
        Return a measure of their sizes, the kinds of instances in each, and the modules in use
        that have no contents.
        """
        with _files(1):
            self._run(f"read_verilog -sv -nodpi {verilog}")
        with _files(0):
            self._run(f"hierarchy -check -top {top}", "proc")
            if flat:
                self._run("flatten", f"hierarchy -top {top}")
        modules = list(self.design.modules_.values())
        self._rename(modules)
        sizes: dict[str, int] = {}
        inside: dict[str, list[str]] = {}
        used = {f"\\{top}"}
        for module in modules:
            if module.get_blackbox_attribute():
                continue
            for cell in list(module.cells_.values()):
                if cell.type.str() in _SAID:
                    module.remove(cell)
                else:
                    used.add(cell.type.str())
            name = module.name.str()[1:]
            kinds = {cell.type.str() for cell in module.cells_.values()}
            inside[name] = sorted(kind[1:] for kind in kinds if kind.startswith("\\"))
            Path(f"{name}.il").write_text(self._alone(module), encoding="utf-8")
            cells = module.cells_.values()
            sizes[name] = sum(_size(cell) for cell in cells if cell.type.begins_with("$"))
        boxes = {one.name.str() for one in modules if one.get_blackbox_attribute()}
        return {
            "sizes": sizes,
            "inside": inside,
            "boxes": sorted(name[1:] for name in boxes & used),
        }

    def _rename(self, modules: list[Any]) -> None:
        """Give modules plain names for commands and files, without parameters."""
        names: dict[str, str] = {}
        for number, module in enumerate(modules):
            name = module.name.str()
            if not _PLAIN.fullmatch(name):
                found = _PLAIN.search(name)
                plain = f"{found[1] if found else 'module'}_{number}"
                while self.design.module(_id(plain)) is not None:
                    plain += "x"
                names[name] = plain
                self.design.rename(module, _id(plain))
        for module in modules:
            for cell in module.cells_.values():
                if cell.type.str() in names:
                    cell.type = _id(names[cell.type.str()])

    def _alone(self, module: Any) -> str:
        """Return a module with submodules as black boxes, worded independently of the design."""
        inside = dict.fromkeys(cell.type.str() for cell in module.cells_.values())
        boxes = [
            _box(found) for name in inside if (found := self.design.module(yosys.IdString(name)))
        ]
        names: dict[str, str] = {}
        text = _PRIVATE.sub(
            lambda found: names.setdefault(found[0], f"$private${len(names)}"),
            _SOURCE.sub("", module.to_rtlil_str()),
        )
        return "\n".join([*boxes, text])

    def map(
        self,
        module: str,
        flip_flops: str,
        gates: str,
        inverting: Mapping[str, Sequence[str]] | None = None,
        carries: str = "",
    ) -> dict[str, Any]:
        """Map a module that ``read`` wrote to cells, and write the Verilog.

        Carries are found by the Yosys option of this name, if there is one. Flip-flops in
        ``inverting``, names with the pins of data and output, hold the inverse of their data, which
        logic mostly provides at a lower cost. Return its memories, and ABC's estimate of its
        longest path.
        """
        self._run(f"read_rtlil {module}.il", *(f"{command} {module}" for command in _COARSE))
        memories = self._put_memories_aside(module)
        maps = f" -map +/choices/{carries}.v -map +/techmap.v" if carries else ""
        fine = (*_FINE, f"techmap{maps}", "opt -fast")
        self._run(*(f"{command} {module}" for command in fine))
        self._name_registers(module)
        # Library cells have no defined power-up state.
        self._run(f"setattr -unset init {module}/w:*", f"{flip_flops} {module}")
        self._invert(module, inverting or {})
        self._run(f"opt {module}")
        self._run(f"tee -o {self.abc_log} {gates} {module}")
        self._run(f"setundef -zero {module}", f"opt_clean -purge {module}")
        self._check(module)
        self._run(f"write_verilog -noattr -noexpr -nohex -nodec -simple-lhs {module}.v")
        said = Path(self.abc_log).read_text(encoding="utf-8", errors="replace")
        delays = [float(delay) for delay in _DELAY.findall(said)]
        return {
            "memories": memories,
            "delay_ps": delays[-1] if delays else 0.0,
            "levels": len(_LEVEL.findall(said)),
        }

    def _invert(self, name: str, inverting: Mapping[str, Sequence[str]]) -> None:
        """Move inverters behind flip-flops to their inputs, where logic may absorb them."""
        module = self.design.module(_id(name))
        cells = list(module.cells_.values())
        gates = [one for one in cells if one.type.begins_with("$_")]
        logic = {_net(gate, "Y") for gate in gates}
        after = {_net(gate, "A"): gate for gate in gates if gate.type.str() == "$_NOT_"}
        for cell in cells:
            data, output = inverting.get(cell.type.str()[1:], ("", ""))
            if not data or _net(cell, data) not in logic or _net(cell, output) not in after:
                continue
            label = cell.name.str()[1:]
            wire = yosys.SigSpec(module.addWire(_id(f"{label}_inverted"), 1))
            before = module.addCell(_id(f"{label}_inverter"), yosys.IdString("$_NOT_"))
            before.setPort(_id("A"), cell.getPort(_id(data)))
            before.setPort(_id("Y"), wire)
            cell.setPort(_id(data), wire)
            after[_net(cell, output)].type = yosys.IdString("$_BUF_")

    def gates(self) -> str:
        """Map the design that ``read`` has read to Yosys' own gates, except for its memories.

        Return Verilog that has a gate as an expression.
        """
        self._run(*_COARSE, _FINE[0], "techmap", "opt -fast", "opt_clean -purge")
        self._run("write_verilog -noattr gates.v")
        return Path("gates.v").read_text(encoding="utf-8")

    def memories(self) -> list[str]:
        """Return Verilog of all memories in the design that ``read`` has read."""
        self._run(*_COARSE)
        names = [module.name.str()[1:] for module in self.design.modules_.values()]
        return [one["verilog"] for name in names for one in self._put_memories_aside(name)]

    def fpga(self, top: str, command: str, memories: str) -> dict[str, Any]:
        """Map the design that ``read`` has read to the cells of an FPGA; write it to fpga.json.

        ``memories`` is the step of the command that maps memories to RAM. Return the number of each
        cell, and the memories that are written, with the number of each RAM cell that they take;
        memories without such cells become flip-flops.
        """
        self._run(f"{command} -top {top} -run :{memories}")
        found = [_written(cell) for cell in self._cells(top) if _is_written(cell)]
        self._run(f"{command} -top {top} -run {memories}:", "write_json fpga.json")
        # Yosys names a RAM cell by its memory and two indices. Late steps remove unused RAM cells.
        owners: dict[str, Counter[str]] = {}
        for cell in self._cells(top):
            memory = _RAM.fullmatch(cell.name.str()[1:])
            if memory and not cell.type.begins_with("$"):
                owners.setdefault(memory[1], Counter())[cell.type.str()[1:]] += 1
        kinds = Counter(cell.type.str()[1:] for cell in self._cells(top))
        cells = {kind: count for kind, count in sorted(kinds.items()) if kind != "scopeinfo"}
        ram = [{**one, "cells": dict(owners.get(one["name"], {}))} for one in found]
        return {"cells": cells, "memories": ram}

    def _cells(self, name: str) -> list[Any]:
        """Return the cells of a module, which some passes of Yosys replace by a new object."""
        return list(self.design.module(_id(name)).cells_.values())

    def models(self, libraries: Sequence[str], cells: Sequence[str]) -> str:
        """Return Verilog that does what these cells of Liberty files do.

        A flip-flop has one register for an output and its inverse, and a clock net of its own.
        Icarus searches all events on a net for each event that it removes, so its time grows with
        the square of the flip-flops on a net.
        """
        self._run(*(f"read_liberty -ignore_miss_func {file}" for file in libraries))
        self._run("select -none", *(f"select -add {cell}" for cell in cells))
        self._run("opt_merge", "opt_clean -purge")
        for module in self.design.selected_modules():
            _buffer_clocks(module)
        self._run("write_verilog -noattr -selected models.v")
        return Path("models.v").read_text(encoding="utf-8")

    def _check(self, name: str) -> None:
        """Fail if a module contains cells that no library has, which would count as nothing."""
        kinds = {cell.type.str() for cell in self.design.module(_id(name)).cells_.values()}
        if left := sorted(kind for kind in kinds if kind.startswith("$")):
            raise SystemExit(f"ERROR: Module `{name}' has what no cell does: {', '.join(left)}")

    def _put_memories_aside(self, name: str) -> list[dict[str, Any]]:
        """Replace each writable memory by a black box without contents."""
        module = self.design.module(_id(name))
        found = []
        for cell in list(module.cells_.values()):
            if cell.type.str() != "$mem_v2":
                continue
            sizes = {
                key: cell.getParam(_id(key)).as_int()
                for key in ("SIZE", "WIDTH", "RD_PORTS", "WR_PORTS")
            }
            if not sizes["WR_PORTS"]:
                continue  # a table of constants becomes logic
            enables = yosys.SigSpec()
            for bit in dict.fromkeys(_bits(cell, "WR_EN")):  # one enable for each group of bits
                enables.append(bit)
            pins = {
                "CLK": ("input", cell.getPort(_id("WR_CLK")).extract(0, 1)),
                "RADDR": ("input", cell.getPort(_id("RD_ADDR"))),
                "REN": ("input", cell.getPort(_id("RD_EN"))),
                "RDATA": ("output", cell.getPort(_id("RD_DATA"))),
                "WADDR": ("input", cell.getPort(_id("WR_ADDR"))),
                "WDATA": ("input", cell.getPort(_id("WR_DATA"))),
                "WEN": ("input", enables),
            }
            pins = {pin: pair for pin, pair in pins.items() if pair[1].size()}
            kind = "fred_memory_{SIZE}x{WIDTH}_r{RD_PORTS}_w{WR_PORTS}".format(**sizes)
            clocked = cell.getParam(_id("RD_CLK_ENABLE")).is_fully_ones()
            # Memories that differ in how they are read must not share a name.
            kind += f"_e{enables.size()}" + ("" if clocked else "_async")
            old_data = cell.getParam(_id("RD_TRANSPARENCY_MASK")).is_fully_zero()
            kind += "" if old_data else "_new"
            self._declare(kind, pins)
            label = cell.name.str()
            # Workers that map other modules share the folder.
            model = self._model(f"{name}-memory.v", kind, pins, cell)
            module.remove(cell)
            box = module.addCell(yosys.IdString(label), _id(kind))
            for pin, (_, signal) in pins.items():
                box.setPort(_id(pin), signal)
            found.append(
                {
                    "kind": kind,
                    "words": sizes["SIZE"],
                    "width": sizes["WIDTH"],
                    "verilog": model,
                    "old_data": clocked and old_data,
                    "pins": {
                        pin: (direction, signal.size()) for pin, (direction, signal) in pins.items()
                    },
                }
            )
        return found

    def _declare(self, kind: str, pins: dict[str, tuple[str, Any]]) -> None:
        """Add the black box of a memory, unless it exists."""
        if self.design.module(_id(kind)) is not None:
            return
        box = self.design.addModule(_id(kind))
        for pin, (direction, signal) in pins.items():
            wire = box.addWire(_id(pin), signal.size())
            wire.port_input, wire.port_output = direction == "input", direction == "output"
        box.fixup_ports()
        box.set_bool_attribute(_id("blackbox"), True)

    def _model(self, file: str, kind: str, pins: dict[str, tuple[str, Any]], memory: Any) -> str:
        """Return Verilog that does what a memory does, under the name of its black box."""
        design = yosys.Design()
        model = design.addModule(_id(kind))
        wires: dict[str, Any] = {}
        for pin, (direction, signal) in pins.items():
            wires[pin] = wire = model.addWire(_id(pin), signal.size())
            wire.port_input, wire.port_output = direction == "input", direction == "output"
        model.fixup_ports()
        clock, reading, enables = (yosys.SigSpec(wires[pin]) for pin in ("CLK", "REN", "WEN"))
        clocked = memory.getParam(_id("RD_CLK_ENABLE")).as_int()
        bits = _bits(memory, "WR_EN")
        groups = list(dict.fromkeys(bits))
        ports = {name: yosys.SigSpec() for name in ("RD_CLK", "RD_EN", "WR_CLK", "WR_EN")}
        for number in range(memory.getParam(_id("RD_PORTS")).as_int()):
            edge = clocked >> number & 1
            ports["RD_CLK"].append(clock if edge else yosys.SigSpec(0, 1))
            ports["RD_EN"].append(reading.extract(number, 1) if edge else yosys.SigSpec(1, 1))
        for _ in range(memory.getParam(_id("WR_PORTS")).as_int()):
            ports["WR_CLK"].append(clock)
        for bit in bits:
            ports["WR_EN"].append(enables.extract(groups.index(bit), 1))
        ports |= {port: yosys.SigSpec(wires[pin]) for port, pin in _PINS.items()}
        copy = model.addCell(_id("memory"), memory)
        copy.setParam(_id("MEMID"), yosys.Const("\\words"))
        for port, signal in ports.items():
            copy.setPort(_id(port), signal)
        yosys.run_pass("check -assert", design)
        yosys.run_pass(f"write_verilog -noattr {file}", design)
        return Path(file).read_text(encoding="utf-8")

    def _name_registers(self, name: str) -> None:
        """Name each flip-flop ``<signal>_reg_<bit>`` after the signal that it drives."""
        module = self.design.module(_id(name))
        cells = [cell for cell in module.cells_.values() if cell.is_builtin_ff()]
        taken: set[str] = set()
        for cell in cells:
            bit = _bits(cell, "Q")[0]
            signal = re.sub(r"\W+", "_", bit.wire.name.str()).strip("_") or "_"
            label = f"{signal}_reg_{bit.offset}" if bit.wire.width > 1 else f"{signal}_reg"
            while label in taken or module.cell(_id(label)) or module.wire(_id(label)):
                label += "x"
            taken.add(label)
            module.rename(cell, _id(label))


def _buffer_clocks(module: Any) -> None:
    """Insert a buffer before the clock of each flip-flop."""
    for number, cell in enumerate(list(module.cells_.values())):
        if not cell.is_builtin_ff() or not cell.hasPort(_id("C")):
            continue
        clock = yosys.SigSpec(module.addWire(yosys.IdString(f"$clock_{number}"), 1))
        buffer = module.addCell(yosys.IdString(f"$buffer_{number}"), yosys.IdString("$_BUF_"))
        buffer.setPort(_id("A"), cell.getPort(_id("C")))
        buffer.setPort(_id("Y"), clock)
        cell.setPort(_id("C"), clock)


def _is_written(cell: Any) -> bool:
    return cell.type.str() == "$mem_v2" and cell.getParam(_id("WR_PORTS")).as_int() > 0


def _written(cell: Any) -> dict[str, Any]:
    """Return name, sizes and kind of reads of a memory."""
    reads = cell.getParam(_id("RD_PORTS")).as_int()
    return {
        "name": cell.getParam(_id("MEMID")).decode_string().removeprefix("\\"),
        "words": cell.getParam(_id("SIZE")).as_int(),
        "width": cell.getParam(_id("WIDTH")).as_int(),
        "clocked": not reads or cell.getParam(_id("RD_CLK_ENABLE")).is_fully_ones(),
    }


def _box(module: Any) -> str:
    """Return a module without its contents."""
    wires = [wire for wire in module.wires_.values() if wire.port_id]
    ports = [
        f"  wire width {wire.width} {'input' if wire.port_input else 'output'} {wire.port_id} "
        f"{wire.name.str()}"
        for wire in sorted(wires, key=lambda wire: wire.port_id)
    ]
    return "\n".join(["attribute \\blackbox 1", f"module {module.name.str()}", *ports, "end"])


def _size(cell: Any) -> int:
    """Return the approximate effort of mapping a cell that is not a submodule."""
    return max((signal.size() for signal in cell.connections_.values()), default=0)


def _net(cell: Any, port: str) -> tuple[str, int]:
    """Return the net of a one-bit port."""
    bit = _bits(cell, port)[0]
    return (bit.wire.name.str(), bit.offset) if bit.wire else ("", 0)


def _bits(cell: Any, port: str) -> list[Any]:
    return list(cell.getPort(_id(port)).to_sigbit_vector())


if __name__ == "__main__":
    main()
