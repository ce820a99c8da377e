# amaranth: UnusedElaboratable=no
"""Tables of ports, from the generated tops, the declarations of units and docstrings."""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fred_hw.ace.npu_endpoint import NpuEndpoint
from fred_hw.endpoint.endpoint import Endpoint
from fred_hw.load import load_spec
from fred_hw.member import declared
from fred_hw.mesh.load import load_mesh
from fred_hw.mesh.plan import DIRECTIONS
from fred_hw.mesh.router import MeshRouter
from fred_hw.switch.switch import Switch
from fred_hw.unit import Unit
from fred_hw.wafer.load import load_wafer
from fred_hw.wafer.plane import Plane
from gen.mesh_top import mesh_ports
from gen.ports import Port, module_ports
from gen.wafer_top import modules_of, wafer_ports

from .parts import with_part

__all__ = ["REFERENCE", "TABLES", "Table", "port_rows", "ports_page"]

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs/reference"
HEAD = ["| port | in [bits] | out [bits] | meaning |", "| --- | --- | --- | --- |"]
SHARED = {"clk": "Clock of all ports.", "rst": "Synchronous reset, active high."}
"""Ports of every module, with their meaning."""


@dataclass(frozen=True)
class Table:
    """A table of ports on a page.

    Parameters
    ----------
    page : str
        File name of the page, in ``docs/reference``.
    name : str
        Name of the marks of the table.
    top : callable
        Returns what describes the ports, a unit or a function whose docstring has a section Ports,
        and the ports of a generated top.
    """

    page: str
    name: str
    top: Callable[[], tuple[object, Sequence[Port]]]


def _of(unit: Unit) -> tuple[Unit, list[Port]]:
    return unit, module_ports(unit)


def _switch() -> tuple[Unit, list[Port]]:
    return _of(Switch(spec=load_spec("l1-12")))


def _collective_endpoint() -> tuple[Unit, list[Port]]:
    return _of(NpuEndpoint(spec=load_spec("l1-12", {"endpoint.read_ports": 2})))


def _link_endpoint() -> tuple[Unit, list[Port]]:
    return _of(Endpoint(spec=load_spec("l1-12")))


def _mesh() -> tuple[object, list[Port]]:
    return mesh_ports, mesh_ports(load_mesh(str(ROOT / "examples/mesh-5x4.yaml")))


def _router() -> tuple[Unit, list[Port]]:
    mesh = load_mesh(str(ROOT / "examples/mesh-5x4.yaml"))
    return _of(MeshRouter(mesh=mesh, directions=DIRECTIONS))


def _wafer() -> tuple[object, list[Port]]:
    """Return the ports of planes whose controllers are outside, and have endpoints inside."""
    found: dict[Port, None] = {}
    for name in ("wafer-20", "wafer-20-controllers"):
        wafer = load_wafer(str(ROOT / f"examples/{name}.yaml"))
        found |= dict.fromkeys(wafer_ports(Plane(wafer), modules_of(wafer)))
    return wafer_ports, list(found)


TABLES = (
    Table("switch.md", "ports", _switch),
    Table("endpoint.md", "ports", _collective_endpoint),
    Table("link.md", "ports", _link_endpoint),
    Table("mesh.md", "ports", _mesh),
    Table("mesh.md", "router ports", _router),
    Table("wafer.md", "ports", _wafer),
)


def port_rows(described: object, ports: Sequence[Port]) -> Iterator[str]:
    """Yield the rows of a table, one for each declaration, or entry of a docstring.

    Raises
    ------
    ValueError
        A port has no entry, an entry has no port, or ports of one entry differ.
    """
    left = {name: (direction, bits) for name, direction, bits in ports}
    for names, meaning in _entries(described):
        labels = _labels(names, left)
        if not labels:
            raise ValueError(f"there must be a port {names[0]}, which is described")
        wires: dict[str, tuple[str, int]] = {}
        for port, label in labels.items():
            wire = left.pop(port)
            if "*" not in label and wires.setdefault(label, wire) != wire:
                raise ValueError(f"{port} must have {wires[label]} like others, not {wire}")
        yield _row(wires or dict.fromkeys(names), meaning)
    if left:
        raise ValueError(f"declarations must describe the ports {', '.join(left)}")


def _entries(described: object) -> Iterator[tuple[list[str], str]]:
    """Yield the names and the meaning of each declaration of a unit, or entry of a docstring.

    The streams of a declaration have an entry each.
    """
    entries: list[tuple[list[str], str]] = [([name], text) for name, text in SHARED.items()]
    if isinstance(described, Unit):
        for one in declared(type(described)).values():
            streams: dict[str, list[str]] = {}
            for name in one.found(described):
                name = re.sub(r"^([sm])\d+_", r"\1<k>_", name)
                own = streams.setdefault(name.rpartition("_t")[0] if "_axis_" in name else "", [])
                own.extend([] if name in own else [name])
            entries += [(names, one.description) for names in streams.values()]
    else:
        section = re.search(
            r"^Ports\n-+\n(.*?)(?=^\w+\n-+\n|\Z)",
            inspect.getdoc(described) or "",
            re.MULTILINE | re.DOTALL,
        )
        entries += [
            (head.split(", "), " ".join(lines.split()))
            for head, lines in re.findall(
                r"^(\S.*)\n((?:    .*\n?)+)", section[1] if section else "", re.MULTILINE
            )
        ]
    for names, meaning in entries:
        yield names, re.sub(r"``|(docs/\S+\.md)", _markdown, meaning)


def _markdown(found: re.Match[str]) -> str:
    """Return a backtick, or the link to a page, for what docstrings have."""
    if not found[1]:
        return "`"
    path = Path(found[1])
    title = (ROOT / path).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
    folder = "" if path.parent.name == "reference" else f"../{path.parent.name}/"
    return f"[{title}]({folder}{path.name})"


def _labels(names: Sequence[str], ports: Iterable[str]) -> dict[str, str]:
    """Return the ports that an entry names, each with its name there.

    A name after the first may lack the beginning of the first, as in ``m_axis_tdata, tvalid``.
    Three dots stand for all names that begin like the first. Two underscores precede the signals of
    an interface, and the number of one in an array.
    """
    begins = _begins(names[0])
    found: dict[str, str] = {}
    for name in names:
        for begin in begins:
            whole = f"{begins[-1]}*" if name.startswith("...") else begin + name
            pattern = whole.replace("<chiplet>", r"\w+?").replace("*", r"\w+")
            pattern = re.sub(r"<\w+>", r"\\d+", pattern)
            own = [port for port in ports if re.fullmatch(rf"{pattern}(__\w+)?", port)]
            for port in own:
                behind = re.sub(r"^\w+?(?=__)|__\d+(?=__)", r"", port) if "__" in port else ""
                array = "__<c>" if re.search(r"__\d+__", port) else ""
                label = port if name.startswith("...") else whole + array + behind
                found.setdefault(port, label)
            if own:
                break
    return found


def _begins(name: str) -> list[str]:
    """Return the beginnings of a name that end behind an underscore, the empty one first."""
    return ["", *(name[: cut.end()] for cut in re.finditer("_", name))]


def _row(wires: Mapping[str, tuple[str, int] | None], meaning: str) -> str:
    """Return a row; names of several ports, or of a stream, lack their common beginning."""
    names = list(wires)
    alone = len(names) == 1 and "_axis_" not in names[0]
    common = [one for one in _begins(names[0]) if all(name.startswith(one) for name in names)]
    begin = "" if alone else common[-1]
    cells = [f"`{begin}*`" if begin else ", ".join(f"`{one}`" for one in names)]
    for side in ("input", "output"):
        own = {name: wire[1] for name, wire in wires.items() if wire and wire[0] == side}
        cells.append(
            ", ".join(
                f"{bits}" if alone else f"`{name.removeprefix(begin)}` {bits}"
                for name, bits in own.items()
            )
        )
    return f"| {' | '.join([*cells, meaning])} |"


def ports_page(page: str) -> str:
    """Return a page of the reference with its tables of ports."""
    path = REFERENCE / page
    text = path.read_text(encoding="utf-8")
    for table in (one for one in TABLES if one.page == page):
        rows = port_rows(*table.top())
        text = with_part(path, text, table.name, [*HEAD, *rows])
    return text
