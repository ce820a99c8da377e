"""Text of the top module of a fabric: instances of its units, and the wires between them.

It is text, since it is wires alone: Amaranth takes modules of up to 65,536 bits of inputs, which
sixteen links of 4,096 bits exceed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from fred_hw.fabric_plan import FabricPlan
from fred_hw.link.axis import AXIS_BACK, AXIS_FORTH

from .contract import comment, source
from .layout import laid_out
from .ports import SHARED, Port, bit_range, head_of_top, instance, link_ports

__all__ = ["LINK_WIRES", "FabricTop", "Module"]

LINK_WIRES = (*AXIS_FORTH, AXIS_BACK)
"""Wires of one direction of a link."""

_BEHIND = "behind_"


class Module(NamedTuple):
    """A module that the top instantiates: its name and its ports, in the order of its pins."""

    name: str
    ports: Sequence[Port]


class _Link(NamedTuple):
    """One direction of a link: prefixes of its wires and of its ``tready``.

    It takes a flit every ``pace`` cycles; 0 if the link leaves the top.
    """

    forth: str
    back: str
    pace: int = 1

    @property
    def behind(self) -> "_Link":
        """The wires behind the module in the link."""
        return self._replace(forth=self.forth + _BEHIND, back=self.back + _BEHIND)

    def pins(self, begin: str) -> dict[str, str]:
        """Return the wires at the pins of a stream, whose names begin with ``begin``."""
        pins = {begin + wire: self.forth + wire for wire in AXIS_FORTH}
        return pins | {begin + AXIS_BACK: self.back + AXIS_BACK}


@dataclass(frozen=True)
class _Instance:
    """An instance: name of the unit, module, constant inputs, and links.

    Links are keyed by the beginning of the stream's pins. Nothing is at ``spare`` streams.
    """

    unit: str
    module: Module
    constants: Mapping[str, int]
    sends: Mapping[str, _Link]
    takes: Mapping[str, _Link]
    spare: Sequence[str] = ()

    @property
    def state(self) -> Iterator[Port]:
        """Ports that are neither shared, nor constant, nor of links."""
        streams = (*self.sends, *self.takes, *self.spare)
        links = {begin + wire for begin in streams for wire in LINK_WIRES}
        for port in self.module.ports:
            if port[0] not in (*SHARED, *self.constants) and port[0] not in links:
                yield port

    @property
    def tied(self) -> Iterator[tuple[str, str, int]]:
        """Pin, value and width at spare streams: idle, always ready.

        Linters accept wires named as unused.
        """
        names = {begin + wire for begin in self.spare for wire in LINK_WIRES}
        for name, direction, bits in self.module.ports:
            if name in names:
                value = f"{bits}'d{int(name.endswith(AXIS_BACK))}"
                unused = f"{self.unit}_unused_{name}"
                yield name, value if direction == "input" else unused, bits

    def pins(self, behind: bool) -> dict[str, str]:
        """Return the wires at all pins; received flits come from behind the links' modules."""
        widths = {name: bits for name, _, bits in self.module.ports}
        pins = {name: name for name in SHARED}
        pins |= {name: f"{widths[name]}'d{value}" for name, value in self.constants.items()}
        pins |= {name: f"{self.unit}_{name}" for name, _, _ in self.state}
        pins |= {name: value for name, value, _ in self.tied}
        for begin, link in self.sends.items():
            pins |= link.pins(begin)
        for begin, link in self.takes.items():
            pins |= (link.behind if behind and link.pace else link).pins(begin)
        return pins


@dataclass(frozen=True, kw_only=True)
class FabricTop:
    """The instances and wires of a plan.

    Parameters
    ----------
    plan : FabricPlan
        The fabric.
    modules : sequence of Module
        Module of each unit.
    widths : mapping of str to int
        Width of each of ``LINK_WIRES``, in the order of ports of links that leave the top.
    endpoint : Module, optional
        Module of endpoints. Without it the links of all addresses leave the top.
    instance, external : str
        Name of an instance, with ``{}`` for the unit. Prefix of the ports of a link that leaves the
        top, with its ``{address}`` and the ``{letter}`` "s" or "m".
    inside : tuple of str
        Outputs of units that are wires of the top; other ports of units are ports of the top.
    receiver_names_ready : bool
        Whether ``tready`` of a link has the name of the receiver's port, or that of the sender's.
    """

    plan: FabricPlan[Any]
    modules: Sequence[Module]
    widths: Mapping[str, int]
    endpoint: Module | None = None
    instance: str = "u_{}"
    external: str
    inside: tuple[str, ...] = ()
    receiver_names_ready: bool = False

    @property
    def leaving(self) -> range:
        """Addresses whose links leave the top."""
        return range(self.plan.endpoints if self.endpoint else 0, self.plan.addresses)

    def external_ports(self) -> list[Port]:
        """Return the ports of the links that leave the top."""
        return [
            port
            for address in self.leaving
            for port in link_ports(self.external.format(address=address, letter="{}"), self.widths)
        ]

    def state_ports(self) -> list[Port]:
        """Return the other ports of all instances, with the unit's name as prefix."""
        return [
            (f"{one.unit}_{name}", direction, bits)
            for one in self._instances
            for name, direction, bits in one.state
            if name not in self.inside
        ]

    def text(
        self,
        name: str,
        ports: list[Port],
        tail: Sequence[str] = (),
        *,
        line: str | None = None,
    ) -> str:
        """Return the Verilog.

        Parameters
        ----------
        name : str
            Name of the top.
        ports : list of Port
            Its ports.
        tail : sequence of str
            Lines behind the instances.
        line : str, optional
            Module that stands in each link between units: ``clk``, ``s_axis_*`` and ``m_axis_*``,
            with the width of ``tdata``, a number and the cycles from flit to flit as parameters
            ``BITS``, ``NUMBER`` and ``PACE``.
        """
        lines = head_of_top(name, ports)
        for one in self._instances:
            lines += list(self._wires(one, bool(line)))
        for one in self._instances:
            lines += [f"  wire {bit_range(n)}{wire};" for _, wire, n in one.tied if "'" not in wire]
            pins = one.pins(bool(line))
            own = {port: pins[port] for port, _, _ in one.module.ports}
            lines += instance(one.module.name, self.instance.format(one.unit), own)
        links = [link for one in self._instances for link in one.sends.values() if link.pace]
        for number, link in enumerate(links if line else ()):
            bits = self.widths["tdata"]
            module = f"{line} #(.BITS({bits}), .NUMBER({number}), .PACE({link.pace}))"
            pins = {"clk": "clk", **link.pins("s_axis_"), **link.behind.pins("m_axis_")}
            lines += instance(module, f"u_{link.forth}line", pins)
        return laid_out("\n".join([*self._about(name), *lines, *tail, "endmodule"]) + "\n")

    def _about(self, name: str) -> list[str]:
        """Return the comment at the beginning of the module."""
        plan = type(self.plan)
        units = f"{len(self._instances)} units and the wires between them."
        return [
            *comment(f"{name}: {units}"),
            *comment(source(plan)),
            *comment("Latency, Throughput, Paths and Reset: those of the units."),
        ]

    @cached_property
    def _instances(self) -> list[_Instance]:
        """Endpoints, then units."""
        plan, found = self.plan, list[_Instance]()
        for address in range(self.leaving.start):
            assert self.endpoint is not None
            name, its = plan.end_name(address), self._port(*plan.homes[address])
            sends, takes = self._link(f"{name}_up_", its), self._link(its, f"{name}_up_")
            found.append(_Instance(name, self.endpoint, {}, {"m_axis_": sends}, {"s_axis_": takes}))
        for unit, (one, module) in enumerate(zip(plan.units, self.modules, strict=True)):
            sends, takes, spare = dict[str, _Link](), dict[str, _Link](), list[str]()
            for port, (number, end) in enumerate(zip(one.numbers, one.ends, strict=True)):
                into, out = f"s{number}_axis_", f"m{number}_axis_"
                if end.kind == "nothing":
                    spare += [out, into]
                elif end.kind == "unit" or end.number not in self.leaving:
                    mine, its = self._port(unit, port), f"{plan.end_name(end.number)}_up_"
                    its = self._port(end.number, end.port) if end.kind == "unit" else its
                    sends[out] = self._link(mine, its, plan.flit_cycles(unit, port))
                    takes[into] = self._link(its, mine)
                else:
                    s, m = (self.external.format(address=end.number, letter=one) for one in "sm")
                    sends[out], takes[into] = _Link(m, m, 0), _Link(s, s, 0)
            found.append(_Instance(one.name, module, one.pins, sends, takes, spare))
        return found

    def _port(self, unit: int, port: int) -> str:
        """Return the prefix of the wires at a port of a unit."""
        one = self.plan.units[unit]
        return f"{one.name}_{one.ports[port]}_"

    def _link(self, sender: str, receiver: str, pace: int = 1) -> _Link:
        return _Link(sender, receiver if self.receiver_names_ready else sender, pace)

    def _wires(self, one: _Instance, behind: bool) -> Iterator[str]:
        """Yield the output wires of an instance."""
        for name, _, bits in one.state:
            if name in self.inside:
                yield f"  wire {bit_range(bits)}{one.unit}_{name};"
        for link in one.sends.values():
            for part in ("", _BEHIND) if behind else ("",):
                for wire in LINK_WIRES if link.pace else ():
                    yield f"  wire {bit_range(self.widths[wire])}{link.forth}{part}{wire};"
