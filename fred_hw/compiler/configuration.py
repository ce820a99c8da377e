"""State of every micro-switch of FRED_m(P)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from fred_hw.checks import check_int

from .shape import code_width, configuration_width, shape_name, subswitch_ports

__all__ = ["Configuration"]

Pair = tuple[int, int]


@dataclass(frozen=True)
class Configuration:
    """Configuration of one FRED_m(P) in one phase; frozen and hashable.

    A code is 0 for idle, or c + 1 for middle subswitch c. Two inputs of a micro-switch with one
    destination are reduced; two outputs with one source both receive its data.

    Parameters
    ----------
    ports : int
        Ports P, at least 2.
    middle_switches : int
        Middle subswitches m, at least 2.
    inputs : tuple of (int, int)
        Destination codes of the inputs of each input micro-switch; P // 2 pairs, none if P is 2.
    demux : int or None
        Destination code of the last input if P is odd.
    subswitches : tuple of Configuration
        The m middle subswitches, none if P is 2.
    outputs : tuple of (int, int)
        Source codes of the outputs of each output micro-switch, as many as ``inputs``.
    mux : int or None
        Source code of the last output if P is odd.
    crossing : (int, int) or None
        Only if P is 2: what each output gets; 0 nothing, 1 input 0, 2 input 1, 3 both reduced,
        beside which 1 and 2 give nothing.

    Raises
    ------
    TypeError
        A code is no integer.
    ValueError
        A code is out of range, or parts are missing, too many, or of other ports or middle.
    """

    ports: int
    middle_switches: int
    inputs: tuple[Pair, ...] = ()
    demux: int | None = None
    subswitches: tuple["Configuration", ...] = ()
    outputs: tuple[Pair, ...] = ()
    mux: int | None = None
    crossing: Pair | None = None

    def __post_init__(self) -> None:
        _check_size(self.ports, self.middle_switches)
        crosses, odd = self.ports == 2, self.ports % 2 == 1
        switches = 0 if crosses else self.ports // 2
        self._check_pairs("inputs", self.inputs, switches, self.middle_switches)
        self._check_pairs("outputs", self.outputs, switches, self.middle_switches)
        crossings = () if self.crossing is None else (self.crossing,)
        self._check_pairs("crossing", crossings, int(crosses), 3)
        for name in ("demux", "mux"):
            code = getattr(self, name)
            if odd:
                check_int(f"Configuration {name}", code, minimum=0, maximum=self.middle_switches)
            elif code is not None:
                raise ValueError(f"Configuration {name} must be None for even ports, not {code!r}")
        wanted = (
            []
            if crosses
            else [(subswitch_ports(self.ports), self.middle_switches)] * self.middle_switches
        )
        given = [(part.ports, part.middle_switches) for part in self.subswitches]
        if given != wanted:
            raise ValueError(
                f"Configuration subswitches must have (ports, middle_switches) {wanted}, "
                f"not {given}"
            )

    def __hash__(self) -> int:
        return self._hash

    @staticmethod
    def _check_pairs(name: str, pairs: tuple[Pair, ...], count: int, highest: int) -> None:
        if len(pairs) != count:
            raise ValueError(f"Configuration {name} must have {count} pairs, not {len(pairs)}")
        for pair in pairs:
            if len(pair) != 2:
                raise ValueError(f"Configuration {name} must be pairs of codes, not {pair!r}")
            for code in pair:
                check_int(f"Configuration {name}", code, minimum=0, maximum=highest)

    @staticmethod
    def idle(ports: int, middle_switches: int) -> "Configuration":
        """Return the configuration in which nothing is routed."""
        _check_size(ports, middle_switches)
        return _idle(ports, middle_switches)

    @property
    def shape(self) -> str:
        """Network and its size, as in generated names."""
        return shape_name(self.ports, self.middle_switches)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is routed."""
        return self.pack() == 0

    def pack(self) -> int:
        """Return the word, of ``configuration_width(ports, middle_switches)`` bits."""
        return self._word

    @classmethod
    def unpack(cls, word: int, ports: int, middle_switches: int) -> "Configuration":
        """Return the configuration packed in ``word``.

        Raises
        ------
        ValueError
            The word is out of range, or holds a code above ``middle_switches``.
        """
        _check_size(ports, middle_switches)
        check_int("configuration word", word, minimum=0)
        width = configuration_width(ports, middle_switches)
        if word >> width:
            raise ValueError(f"configuration word must have {width} bits, not {word.bit_length()}")
        return _unpack(word, ports, middle_switches)

    def to_dict(self) -> dict[str, Any]:
        """Return the configuration as JSON values; idle subswitches are None."""
        data: dict[str, Any] = {"ports": self.ports, "middle_switches": self.middle_switches}
        if self.crossing is not None:
            return {**data, "crossing": list(self.crossing)}
        data["inputs"] = [list(pair) for pair in self.inputs]
        if self.demux is not None:
            data["demux"] = self.demux
        data["subswitches"] = [None if s.is_idle else s.to_dict() for s in self.subswitches]
        data["outputs"] = [list(pair) for pair in self.outputs]
        if self.mux is not None:
            data["mux"] = self.mux
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Configuration":
        """Return the configuration from the output of :meth:`to_dict`.

        Raises
        ------
        TypeError
            A value has the wrong type.
        ValueError
            A key is missing or unknown, or a value out of range.
        """
        if not isinstance(data, Mapping):
            raise TypeError(f"Configuration must be a mapping, not {data!r:.60}")
        keys = {"ports", "middle_switches"}
        if not keys <= set(data):
            raise ValueError(
                f"Configuration must have keys middle_switches, ports, not {sorted(data)}"
            )
        ports, middle_switches = data["ports"], data["middle_switches"]
        _check_size(ports, middle_switches)
        keys |= {"crossing"} if ports == 2 else {"inputs", "subswitches", "outputs"}
        keys |= {"demux", "mux"} if ports % 2 else set()
        if set(data) != keys:
            raise ValueError(
                f"Configuration must have keys {', '.join(sorted(keys))}, not {sorted(data)}"
            )
        if ports == 2:
            return cls(ports, middle_switches, crossing=_pair("crossing", data["crossing"]))
        inputs, outputs = (
            tuple(_pair(name, pair) for pair in _list(name, data[name]))
            for name in ("inputs", "outputs")
        )
        subswitches = tuple(
            _idle(subswitch_ports(ports), middle_switches) if part is None else cls.from_dict(part)
            for part in _list("subswitches", data["subswitches"])
        )
        return cls(
            ports, middle_switches, inputs, data.get("demux"), subswitches, outputs, data.get("mux")
        )

    @cached_property
    def _hash(self) -> int:
        return hash((self.ports, self.middle_switches, self.pack()))

    @cached_property
    def _word(self) -> int:
        word = offset = 0
        for value, width in self._parts():
            word |= value << offset
            offset += width
        return word

    def _parts(self) -> Iterator[tuple[int, int]]:
        """Yield value and width of the parts of the word, from bit 0 up."""
        if self.crossing is not None:
            yield self.crossing[0] | self.crossing[1] << 2, 4
            return
        width = code_width(self.middle_switches)
        for pairs, single in ((self.inputs, self.demux), (self.outputs, self.mux)):
            for low, high in pairs:
                yield low | high << width, 2 * width
            if single is not None:
                yield single, width
            if pairs is self.inputs:
                for part in self.subswitches:
                    yield part.pack(), configuration_width(part.ports, part.middle_switches)


def _check_size(ports: object, middle_switches: object) -> None:
    check_int("ports", ports, minimum=2)
    check_int("middle_switches", middle_switches, minimum=2)


@lru_cache(maxsize=1024)
def _idle(ports: int, middle_switches: int) -> Configuration:
    if ports == 2:
        return Configuration(ports, middle_switches, crossing=(0, 0))
    pairs, end = ((0, 0),) * (ports // 2), 0 if ports % 2 else None
    subswitches = (_idle(subswitch_ports(ports), middle_switches),) * middle_switches
    return Configuration(ports, middle_switches, pairs, end, subswitches, pairs, end)


def _unpack(word: int, ports: int, middle_switches: int) -> Configuration:
    if word == 0:
        return _idle(ports, middle_switches)
    if ports == 2:
        return Configuration(ports, middle_switches, crossing=(word & 3, word >> 2))
    width, inner = code_width(middle_switches), subswitch_ports(ports)

    def take(bits: int) -> int:
        nonlocal word
        low, word = word & ((1 << bits) - 1), word >> bits
        return low

    def side() -> tuple[tuple[Pair, ...], int | None]:
        pairs = tuple((take(width), take(width)) for _ in range(ports // 2))
        return pairs, take(width) if ports % 2 else None

    inputs, demux = side()
    inner_width = configuration_width(inner, middle_switches)
    subswitches = tuple(
        _unpack(take(inner_width), inner, middle_switches) for _ in range(middle_switches)
    )
    outputs, mux = side()
    return Configuration(ports, middle_switches, inputs, demux, subswitches, outputs, mux)


def _list(name: str, value: object) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise TypeError(f"Configuration {name} must be a list, not {value!r:.60}")
    return list(value)


def _pair(name: str, value: object) -> Pair:
    pair = tuple(_list(name, value))
    if len(pair) != 2:
        raise ValueError(f"Configuration {name} must be pairs of codes, not {value!r:.60}")
    return pair[0], pair[1]
