"""Topologies in the text format of the ns-3 simulator of RoCE networks.

The first line has the counts of nodes, switches and links, the second the numbers of the switches,
and each line that follows a link: its ends, its rate, its delay and its error rate.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from fred_hw.errors import InputError
from fred_hw.reading import read_text

from .files import FORMATS
from .links import LinksFile, ethernet_file

__all__ = ["bits_per_s", "host_numbers", "links_text", "read_links"]

_MAX_BYTES = 1 << 22
_MAX_NODES = 8192

_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)([KMGT]?)(?:bps|b/s)")
_DELAY = re.compile(r"([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(ns|us|ms|s)")
_SCALES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def read_links(path: Path) -> LinksFile:
    """Return a topology from text; hosts become NPUs, followed by switches, both in order.

    Raises
    ------
    InputError
        The file is unreadable, a line is malformed, or a link ends at a node that does not exist.
    """
    source, lines = str(path), _lines(path)
    count, hosts, numbers, rows = _head(source, lines)
    names = {one: f"npu_{place}" for place, one in enumerate(hosts)}
    names |= {one: f"switch_{place}" for place, one in enumerate(sorted(numbers))}
    if len(rows) != count:
        message = f"must give the number of links, {len(rows)}, not {count}"
        raise InputError(source, "line 1", message)
    links = [_link(source, number, words, names) for number, words in rows]
    if not links:
        raise InputError(source, "line 1", "must have 1 or more links, not 0")
    return ethernet_file(len(hosts), len(numbers), links, source)


def host_numbers(path: Path) -> Sequence[int]:
    """Return the host number of each NPU in a file; errors as for :func:`read_links`."""
    return _head(str(path), _lines(path))[1]


_Lines = list[tuple[int, list[str]]]


def _lines(path: Path) -> _Lines:
    """Yield the number and the words of each non-empty line."""
    lines = enumerate(read_text(path, _MAX_BYTES).splitlines(), start=1)
    return [(number, line.split()) for number, line in lines if line.strip()]


def _head(source: str, lines: _Lines) -> tuple[int, list[int], list[int], _Lines]:
    """Return the number of links, the hosts and switches, and the remaining lines."""
    if not lines:
        raise InputError(source, "line 1", "must have the counts of nodes, switches and links")
    nodes, switches, count = _integers(source, *lines[0], 3)
    if not 2 <= nodes - switches <= nodes <= _MAX_NODES:
        message = f"must have 2 or more hosts and at most {_MAX_NODES} nodes"
        raise InputError(source, "line 1", f"{message}, not {nodes} nodes, {switches} switches")
    rows = lines[1:]
    numbers: list[int] = []
    if switches:
        if not rows:
            raise InputError(source, "line 2", f"must have the numbers of {switches} switches")
        numbers = _integers(source, *rows.pop(0), switches)
    for one in numbers:
        if not 0 <= one < nodes or numbers.count(one) > 1:
            message = f"must name switches from 0 to {nodes - 1}, each once, not {one}"
            raise InputError(source, "line 2", message)
    taken = set(numbers)
    hosts = [one for one in range(nodes) if one not in taken]
    return count, hosts, numbers, rows


def bits_per_s(text: str) -> float | None:
    """Return the bits per second of a rate in ns-3's form, such as 200Gbps; None if malformed."""
    found = _RATE.fullmatch(text)
    return float(found[1]) * _SCALES[found[2]] if found else None


def _integers(source: str, number: int, words: list[str], count: int) -> list[int]:
    if len(words) != count or not all(re.fullmatch("[0-9]{1,9}", one) for one in words):
        message = f"must be {count} whole number{'s' * (count > 1)}, not {' '.join(words)!r:.40}"
        raise InputError(source, f"line {number}", message)
    return [int(one) for one in words]


def _link(
    source: str, number: int, words: list[str], names: dict[int, str]
) -> tuple[str, str, float, float]:
    """Return the end nodes of a link, its bandwidth [B/s] and its latency [s]."""
    field = f"line {number}"

    def refuse(message: str) -> NoReturn:
        raise InputError(source, field, message)

    if len(words) != 5:
        refuse(f"must have two nodes, a rate, a delay and an error rate, not {len(words)} words")
    for word in words[:2]:
        if not re.fullmatch("[0-9]{1,9}", word) or int(word) not in names:
            refuse(f"must join nodes from 0 to {len(names) - 1}, not {word!r:.40}")
    rate, delay = bits_per_s(words[2]), _DELAY.fullmatch(words[3])
    if rate is None:
        refuse(f"must have a rate such as 200Gbps, not {words[2]!r:.40}")
    if delay is None:
        refuse(f"must have a delay such as 0.005ms, not {words[3]!r:.40}")
    latency_s = float(delay[1]) * _SECONDS[delay[2]]
    if not 1 <= rate / 8 <= 1e24:
        refuse(f"must have a rate from 8bps to 8e24bps, not {words[2]!r:.40}")
    if latency_s > 1e6:
        refuse(f"must have a delay of at most 1e6s, not {words[3]!r:.40}")
    if not re.fullmatch(r"0+(\.0*)?", words[4]):
        refuse(f"must have the error rate 0, not {words[4]!r:.40}; see error_rate")
    return names[int(words[0])], names[int(words[1])], rate / 8, latency_s


def links_text(file: LinksFile) -> str:
    """Return a topology as text in ns-3's format.

    Raises
    ------
    InputError
        A link has one direction only.
    """
    places = {f"npu_{i}": i for i in range(file.npus)}
    places |= {f"switch_{i}": file.npus + i for i in range(file.switches)}
    lines = [f"{len(places)} {file.switches} {len(file.links)}"]
    lines.append(" ".join(str(file.npus + i) for i in range(file.switches)))
    for number, link in enumerate(file.links):
        if link.one_way:
            message = "must be false for the ns-3 format, not true"
            raise InputError("links", f"{number}.one_way", message)
        rate, late = file.rate_and_latency(link)
        here, there = (places[end] for end in link.ends)
        lines.append(f"{here} {there} {rate * 8e-9:.12g}Gbps {late * 1e3:.12g}ms 0")
    return "\n".join(lines) + "\n"


FORMATS.add("ns3", lambda path, _name: read_links(path))
