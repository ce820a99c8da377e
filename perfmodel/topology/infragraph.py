"""InfraGraph: devices of components, instances of devices, and the links between them.

A connection is a text of names and numbers: ``component.0.link.component.1`` within a device, and
``instance.0.component.0.link.instance.1.component.0`` between instances. Components of type ``xpu``
become NPUs, all others switches. An instance whose device the file does not define is one node:
a switch if its device is called a switch or a router, else an NPU.
"""

from collections.abc import Collection, Mapping
from typing import Any, cast

import yaml

from fred_hw.errors import InputError

from .files import FORMATS
from .links import LinksFile, ethernet_file

__all__ = ["infragraph_text", "read_infragraph"]

_UNLIMITED = 1e13
"""Rate of a link whose description states none [B/s]."""

_BYTES_PER_S = {"bits": 0.125e9, "bytes": 1e9, "transfers": 0.125e9 * 16}
"""B/s per unit of a link rate; a PCI Express transfer moves one bit in each of 16 lanes."""

_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_MOST_BYTES_PER_S, _MOST_SECONDS = 1e24, 1e6
"""Limits of a link's rate and latency, as in files of kind links."""

_MAX_NODES = 4096

Edge = tuple[str, str, str]
"""Node numbers at the ends of a connection, with its link."""


def _mapping(source: str, field: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(source, field, f"must be a mapping, not {value!r:.60}")
    return cast("dict[str, Any]", value)


def _list(source: str, field: str, value: object) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise InputError(source, field, f"must be a list, not {value!r:.60}")
    return cast("list[Any]", value)


class _Reader:
    """Reader of the nodes and connections of a description."""

    def __init__(self, source: str, data: Mapping[str, Any]) -> None:
        self.source = source
        top = data.get("infrastructure", data)
        self.top = _mapping(source, "infrastructure", top)
        self.path = "infrastructure." if "infrastructure" in data else ""
        self.kinds: dict[str, str] = {}
        """Kind of each node, ``npu`` or ``switch``, in order."""
        self.rates: dict[str, tuple[float, float]] = {}
        """Rate and latency of each link; links of devices are named ``device/link``."""
        devices = _list(source, f"{self.path}devices", self.top.get("devices"))
        self.devices: dict[str, dict[str, Any]] = {}
        for place, one in enumerate(devices):
            name = self.name(f"{self.path}devices.{place}", one, taken=self.devices)
            self.devices[name] = one
        self.instances: dict[str, tuple[str, int | None]] = {}
        self.edges: list[Edge] = []

    def name(
        self, field: str, value: object, key: str = "name", taken: Collection[str] = ()
    ) -> str:
        """Return the name of an entry; fail if an earlier entry has the same name."""
        entry = _mapping(self.source, field, value)
        if not isinstance(entry.get(key), str) or not entry[key]:
            raise InputError(
                self.source, f"{field}.{key}", f"must be text, not {entry.get(key)!r:.60}"
            )
        if entry[key] in taken:
            message = f"must be a name that is not taken, not {entry[key]!r:.60}"
            raise InputError(self.source, f"{field}.{key}", message)
        return entry[key]

    def count(self, field: str, entry: Mapping[str, Any]) -> int | None:
        value = entry.get("count")
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MAX_NODES:
            message = f"must be an integer from 1 to {_MAX_NODES}, not {value!r:.60}"
            raise InputError(self.source, f"{field}.count", message)
        return value

    def links(self, field: str, values: object, prefix: str) -> None:
        """Read the rates of links."""
        taken: set[str] = set()
        for place, value in enumerate(_list(self.source, field, values)):
            here = f"{field}.{place}"
            name = self.name(here, value, taken=taken)
            taken.add(name)
            entry = _mapping(self.source, here, value)
            physical = _mapping(self.source, f"{here}.physical", entry.get("physical", entry))
            rate = self._chosen(f"{here}.bandwidth", physical.get("bandwidth"))
            late = self._chosen(f"{here}.latency", physical.get("latency"))
            self.rates[prefix + name] = (
                _UNLIMITED if rate is None else self._rate(f"{here}.bandwidth", *rate),
                0.0 if late is None else self._late(f"{here}.latency", *late),
            )

    def _chosen(self, field: str, value: object) -> tuple[str, float] | None:
        """Return the unit and the value of a quantity."""
        if value is None:
            return None
        entry = _mapping(self.source, field, value)
        units = [entry["choice"]] if "choice" in entry else list(entry)
        unit = units[0] if units else None
        number = entry.get(unit) if isinstance(unit, str) else None
        if (
            isinstance(number, bool)
            or not isinstance(number, int | float)
            or not 0 <= number < 1e15
        ):
            raise InputError(
                self.source, field, f"must have a number for the chosen unit, not {number!r:.60}"
            )
        return str(unit), float(number)

    def _rate(self, field: str, unit: str, number: float) -> float:
        kind = unit.replace("_", "").removeprefix("giga").removesuffix("persecond")
        if not unit.startswith("giga") or kind not in _BYTES_PER_S:
            allowed = "gigabits, gigabytes or gigatransfers per second"
            raise InputError(self.source, field, f"must be in {allowed}, not {unit!r:.60}")
        rate = number * _BYTES_PER_S[kind]
        if not 1 <= rate <= _MOST_BYTES_PER_S:
            message = f"must be from 1 to {_MOST_BYTES_PER_S:g} bytes per second, not {rate:g}"
            raise InputError(self.source, field, message)
        return rate

    def _late(self, field: str, unit: str, number: float) -> float:
        if unit not in _SECONDS:
            raise InputError(self.source, field, f"must be in s, ms, us or ns, not {unit!r:.60}")
        late = number * _SECONDS[unit]
        if late > _MOST_SECONDS:
            raise InputError(
                self.source, field, f"must be at most {_MOST_SECONDS:g} s, not {late:g}"
            )
        return late

    def rate(self, field: str, name: str, prefix: str) -> tuple[float, float]:
        if prefix + name not in self.rates:
            known = ", ".join(
                one.removeprefix(prefix)
                for one in self.rates
                if one.rpartition("/")[0] == prefix.rstrip("/")
            )
            message = f"must name one of the links {known or '(none)'}, not {name!r:.60}"
            raise InputError(self.source, field, message)
        return self.rates[prefix + name]

    def read(self) -> None:
        """Read links, instances and connections."""
        self.links(f"{self.path}links", self.top.get("links"), "")
        field = f"{self.path}instances"
        for place, value in enumerate(_list(self.source, field, self.top.get("instances"))):
            entry = _mapping(self.source, f"{field}.{place}", value)
            device = self.name(f"{field}.{place}", entry, "device")
            count = self.count(f"{field}.{place}", entry)
            name = self.name(f"{field}.{place}", entry, taken=self.instances)
            self.instances[name] = device, count
        connections = _list(self.source, f"{self.path}connections", self.top.get("connections"))
        parsed = [self._between(place, one) for place, one in enumerate(connections)]
        used: dict[str, int] = {}
        for ends, _ in parsed:
            for name, number, _component in ends:
                used[name] = max(used.get(name, 1), number + 1)
        for device in {device: None for device, _ in self.instances.values()}:
            if device in self.devices:
                self.links(
                    f"devices.{device}.links", self.devices[device].get("links"), f"{device}/"
                )
        for name, (device, count) in self.instances.items():
            for number in range(used.get(name, 1) if count is None else count):
                self._instance(name, number, device)
        for place, (ends, link) in enumerate(parsed):
            field = f"{self.path}connections.{place}"
            here, there = (self._node(field, *end) for end in ends)
            self.rate(field, link, "")
            self.edges.append((here, there, link))

    def _between(
        self, place: int, value: object
    ) -> tuple[list[tuple[str, int, tuple[str, int]]], str]:
        """Return the ends of a connection between instances, with its link."""
        words = value.split(".") if isinstance(value, str) else []
        field = f"{self.path}connections.{place}"
        numbers = [words[i] for i in (1, 3, 6, 8)] if len(words) == 9 else [""]
        if not all(one.isascii() and one.isdigit() and len(one) < 6 for one in numbers):
            form = "INSTANCE.0.COMPONENT.0.LINK.INSTANCE.0.COMPONENT.0"
            raise InputError(self.source, field, f"must have the form {form}, not {value!r:.60}")
        for name in (words[0], words[5]):
            if name not in self.instances:
                known = ", ".join(self.instances) or "(none)"
                message = f"must join instances of {known}, not {name!r:.60}"
                raise InputError(self.source, field, message[:300])
        ends = [(words[i], int(words[i + 1]), (words[i + 2], int(words[i + 3]))) for i in (0, 5)]
        return ends, words[4]

    def _instance(self, name: str, number: int, device: str) -> None:
        """Add the nodes and the connections of an instance."""
        here = f"{name}.{number}"
        if device not in self.devices:
            switch = any(word in device.lower() for word in ("switch", "router"))
            self._add(here, "switch" if switch else "npu")
            return
        entry, field = self.devices[device], f"devices.{device}"
        for place, value in enumerate(
            _list(self.source, f"{field}.components", entry.get("components"))
        ):
            at = f"{field}.components.{place}"
            component = _mapping(self.source, at, value)
            used = self._used(entry, self.name(at, value))
            count = self.count(at, component) or used
            kind = "npu" if component.get("type") == "xpu" else "switch"
            for one in range(count):
                self._add(f"{here}.{self.name(at, value)}.{one}", kind)
        prefix = f"{device}/"
        connections = _list(self.source, f"{field}.connections", entry.get("connections"))
        for place, value in enumerate(connections):
            words = value.split(".") if isinstance(value, str) else []
            at = f"{field}.connections.{place}"
            if len(words) != 5:
                form = "COMPONENT.0.LINK.COMPONENT.0"
                raise InputError(self.source, at, f"must have the form {form}, not {value!r:.60}")
            ends = [f"{here}.{words[0]}.{words[1]}", f"{here}.{words[3]}.{words[4]}"]
            for end in ends:
                if end not in self.kinds:
                    name = end.removeprefix(f"{here}.")
                    raise InputError(
                        self.source, at, f"must join components of {device}, not {name!r:.60}"
                    )
            self.rate(at, words[2], prefix)
            self.edges.append((ends[0], ends[1], prefix + words[2]))

    def _used(self, device: Mapping[str, Any], component: str) -> int:
        """Return the number of a component's units that a device's connections use."""
        most = 1
        for value in cast("list[object]", device.get("connections") or []):
            words = str(value).split(".")
            for name, number in ((words[0], words[1:2]), (words[3:4], words[4:5])):
                if name in (component, [component]) and number and number[0].isdecimal():
                    most = max(most, min(int(number[0]), _MAX_NODES) + 1)
        return most

    def _add(self, node: str, kind: str) -> None:
        self.kinds[node] = kind
        if len(self.kinds) > 2 * _MAX_NODES:
            message = f"must have at most {2 * _MAX_NODES} nodes, not more"
            raise InputError(self.source, f"{self.path}instances", message)

    def _node(self, field: str, name: str, number: int, component: tuple[str, int]) -> str:
        """Return the node at an end of a connection."""
        whole, part = f"{name}.{number}", f"{name}.{number}.{component[0]}.{component[1]}"
        for node in (whole, part):
            if node in self.kinds:
                return node
        raise InputError(self.source, field, f"must join components that exist, not {part!r:.60}")


def read_infragraph(data: Mapping[str, Any], source: str) -> LinksFile:
    """Return the topology of an InfraGraph description.

    Connections between the same two nodes are one link with the sum of their rates. Nodes that no
    connection leads to are left out.

    Raises
    ------
    InputError
        A connection ends at a component that does not exist, or an entry is malformed.
    """
    reader = _Reader(source, data)
    reader.read()
    joined: dict[tuple[str, str], tuple[float, float]] = {}
    for here, there, link in reader.edges:
        if here == there:
            raise InputError(source, "connections", f"must join two nodes, not {here!r:.60} twice")
        rate, late = reader.rates[link]
        key = (here, there) if (there, here) not in joined else (there, here)
        before = joined.get(key, (0.0, late))
        joined[key] = before[0] + rate, max(late, before[1])
    linked = {end for ends in joined for end in ends}
    kinds = {node: kind for node, kind in reader.kinds.items() if node in linked}
    names: dict[str, str] = {}
    for kind in ("npu", "switch"):
        of_kind = [node for node, one in kinds.items() if one == kind]
        names |= {node: f"{kind}_{place}" for place, node in enumerate(of_kind)}
    npus = sum(kind == "npu" for kind in kinds.values())
    if npus < 2:
        raise InputError(source, "instances", f"must have 2 or more linked NPUs, not {npus}")
    links = [
        (names[here], names[there], rate, late) for (here, there), (rate, late) in joined.items()
    ]
    return ethernet_file(npus, len(kinds) - npus, links, source)


def infragraph_text(file: LinksFile, name: str) -> str:
    """Return a topology as an InfraGraph description with one-NPU hosts and switches."""
    rates: dict[tuple[float, float], str] = {}
    connections: list[str] = []
    ports: dict[str, int] = {}
    for link in file.links:
        rate, late = file.rate_and_latency(link)
        kind = rates.setdefault((rate, late), f"link_{len(rates)}")
        ends: list[str] = []
        for end in link.ends:
            which, number = end.split("_")
            port = ports[end] = ports.get(end, -1) + 1
            component = "nic" if which == "npu" else "port"
            instance = "host" if which == "npu" else "switch"
            ends.append(f"{instance}.{number}.{component}.{port}")
        connections.append(f"{ends[0]}.{kind}.{ends[1]}")
    described = [
        {
            "name": kind,
            "physical": {
                "bandwidth": {
                    "choice": "gigabits_per_second",
                    "gigabits_per_second": float(f"{rate * 8e-9:.12g}"),
                },
                "latency": {"choice": "us", "us": float(f"{late * 1e6:.12g}")},
            },
        }
        for (rate, late), kind in rates.items()
    ]
    return yaml.safe_dump(
        {
            "infrastructure": {
                "name": name,
                "instances": [
                    {"name": "host", "device": "server", "count": file.npus},
                    *(
                        [{"name": "switch", "device": "switch", "count": file.switches}]
                        * bool(file.switches)
                    ),
                ],
                "links": described,
                "connections": connections,
            }
        },
        sort_keys=False,
    )


FORMATS.add("infragraph", read_infragraph)
