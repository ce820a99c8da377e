"""Specification of a switch, the single description that all packages use."""

import re
from collections.abc import Mapping
from math import ceil
from typing import Annotated, Any, ClassVar, Protocol, Self
from zlib import crc32

from pydantic import (
    Field,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from .adder_delays import adder_delays
from .compiler.configuration import Configuration
from .endpoint_spec import EndpointSpec
from .file_kinds import SWITCH
from .files import AUTO, AutoOrInt, Check, FileModel, int_range, name_in, number_range, refused
from .formats.number_format import (
    FORMATS,
    OVERFLOWS,
    WIDE_FORMATS,
    IntFormat,
    NumberFormat,
    wider_formats,
)
from .networks.network import NETWORKS
from .operations.operation import OPERATIONS, fitting
from .protocol import HEADER_FIELDS, PROTOCOL_VERSION, SHARED_SIZES, ProtocolSpec
from .virtual_channels import DEFAULT_CHANNELS

__all__ = [
    "FormatName",
    "Lanes",
    "NetworkName",
    "OperationName",
    "OverflowName",
    "SwitchSpec",
    "WideFormatName",
    "check_accumulation",
    "check_link",
    "check_spec",
    "sized_name",
]

FormatName = Annotated[str, name_in(FORMATS)]
WideFormatName = Annotated[str, name_in(WIDE_FORMATS)]
OperationName = Annotated[str, name_in(OPERATIONS)]
NetworkName = Annotated[str, name_in(NETWORKS)]
OverflowName = Annotated[str, name_in(OVERFLOWS)]
Lanes = Annotated[int, int_range(1, 256)]


_WORD = "^0x[0-9a-f]{1,80000}$"


def _named_words(value: object) -> object:
    """Return the pairs of a mapping from names to configuration words."""
    if isinstance(value, tuple):
        return value
    if not isinstance(value, Mapping) or not value:
        raise refused(f"must be a mapping of names to configuration words, not {value!r:.60}")
    for name, word in value.items():
        if not isinstance(name, str):
            raise refused(f"must have texts as names, not {name!r:.60}")
        if not isinstance(word, str) or not re.fullmatch(_WORD, word):
            raise refused(f"must have words like 0x1f, not {word!r:.60} of {name}")
        if int(word, 16) == 0:
            raise refused(f"must have words that route something, not {word} of {name}")
    return tuple(value.items())


NamedWords = Annotated[
    tuple[tuple[str, str], ...],
    Check(
        _named_words,
        schema=lambda: {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {"type": "string", "pattern": _WORD},
        },
    ),
    PlainSerializer(dict),
]


class _Linked(Protocol):
    """Link fields shared by specifications of switches, meshes and wafers."""

    @property
    def operation(self) -> str: ...
    @property
    def format(self) -> str: ...
    @property
    def protocol(self) -> ProtocolSpec: ...
    @property
    def endpoint(self) -> EndpointSpec: ...


def check_link(spec: _Linked) -> None:
    """Fail if a link of a switch, a mesh or a wafer cannot have these fields."""
    _check_operation(spec.operation, spec.format)
    most, given = spec.protocol.window_packets, spec.endpoint.replay_packets
    if given > most:
        raise refused(
            f"endpoint.replay_packets: must be 0 or at most window_packets {most}, not {given}"
        )


def check_accumulation(wide: str | None, narrow: str) -> None:
    """Fail if numbers of a format cannot be added in another."""
    wider = wider_formats(FORMATS[narrow])
    if wide is not None and wide not in wider:
        allowed = f"one of {', '.join(wider)}" if wider else "left out"
        raise refused(f"accumulation: must be {allowed} with format {narrow}, not {wide!r}")


def _check_operation(operation: str, format: str) -> None:
    """Fail if an operation does not support a format."""
    number_format = FORMATS[format]
    if not OPERATIONS[operation].takes(number_format):
        names = ", ".join(fitting(number_format))
        raise refused(f"operation: must be one of {names} with format {format}, not {operation!r}")


class SwitchSpec(FileModel):
    """A FRED_m(P) interconnect; frozen and hashable.

    Parameters
    ----------
    ports : int
        Ports P, 2 to 64; each is an input and an output.
    middle_switches : int
        Middle-stage subswitches m at each level of the recursion, 2 to 8; 3 as published.
    network : str
        Network between the ports of a whole switch, one of ``NETWORKS``; docs/reference/names.md
        describes each.
    format : str
        Number format of a lane, one of ``FORMATS``; docs/reference/names.md lists them.
    operation : str
        Operation of a micro-switch on the two operands that it reduces, one of ``OPERATIONS``;
        docs/reference/names.md describes each.
    overflow : str
        Result of integer sums beyond the range: saturate or wrap. Saturating sums depend on the
        order of addition, which the routing fixes; wrapping sums do not. Floating point ignores
        this key.
    accumulation : str, optional
        A wider floating-point format of the lanes between the micro-switches: numbers are widened
        at the inputs of the interconnect, and results rounded at its outputs. Links carry
        ``format``. docs/reference/names.md lists the choices for each format.
    lanes : int
        Numbers in a flit, 1 to 256.
    stage_registers : int
        Pipeline registers at the crossing of each micro-switch stage, 1 to 4.
    adder_registers : int
        Pipeline registers inside each reduction unit, 0 to 8. "auto" stands for the fewest that
        reach ``clock_ns``, or without it for ``Operation.registers`` of the format, that of
        ``accumulation`` if given; the specification then holds this number. Reduction units of
        endpoints have as many.
    clock_ns : float, optional
        Period [ns] that it is to run with, as a 45 nm library without wires has it, 0.01 to 1000:
        0.853 is that of the published links. ``adder_registers: auto`` follows it by what was
        measured of adders, and so do the timing constraints; nothing else does.
    only : mapping of str to str, optional
        The only configurations that the interconnect must support: words like 0x1f by name. It
        contains nothing that they do not use. `--only` of `fred gen` computes them.
    protocol : ProtocolSpec
        Link layer, buffers and phases of the whole switch around the interconnect.
    endpoint : EndpointSpec
        Collective engine of an NPU at a port; no matter for the switch.

    Raises
    ------
    pydantic.ValidationError
        A key is unknown, a value has the wrong type or is out of range, the operation does not
        take the format, or no depth of adders reaches the clock; a ``ValueError``.
    """

    file_kind = SWITCH
    old_names: ClassVar[Mapping[str, str]] = {"middle": "middle_switches"}

    ports: Annotated[int, int_range(2, 64)]
    middle_switches: Annotated[int, int_range(2, 8)] = 3
    network: NetworkName = "fred"
    format: FormatName = "fp16"
    operation: OperationName = "sum"
    overflow: OverflowName = "saturate"
    accumulation: Annotated[WideFormatName | None, Field(examples=["fp32"])] = None
    lanes: Lanes = 4
    stage_registers: Annotated[int, int_range(1, 4)] = 1
    adder_registers: Annotated[int, AutoOrInt(0, 8)] = Field(default=AUTO)
    clock_ns: Annotated[float | None, number_range(0.01, 1000), Field(examples=[0.853])] = None
    only: NamedWords | None = None
    protocol: ProtocolSpec = ProtocolSpec()
    endpoint: EndpointSpec = EndpointSpec()

    @model_serializer(mode="wrap")
    def _without_what_was_not_said(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Omit what was not specified, as records describe switches."""
        said = handler(self)
        if self.network == type(self).model_fields["network"].default:
            said.pop("network", None)
        if self.endpoint == EndpointSpec():
            said.pop("endpoint", None)
        for name in ("accumulation", "clock_ns", "only"):
            if getattr(self, name) is None:
                said.pop(name, None)
        return said

    @model_validator(mode="after")
    def _fits(self) -> Self:
        check_link(self)
        check_accumulation(self.accumulation, self.format)
        if self.only is not None and not NETWORKS[self.network].prunes:
            raise refused(f"only: must be left out with network {self.network}")
        for name, word in self.only or ():
            try:
                Configuration.unpack(int(word, 16), self.ports, self.middle_switches)
            except ValueError as error:
                raise refused(f"only.{name}: {error}") from None
        return self

    def model_post_init(self, context: Any, /) -> None:
        """Resolve automatic fields and drop ineffective ones: equal hardware has equal specs."""
        if self.adder_registers == AUTO:
            registers = self._auto_registers if self.clock_ns is None else self._registers_of_clock
            object.__setattr__(self, "adder_registers", registers)
        object.__setattr__(self, "protocol", self.protocol.for_ports(self.ports))
        if not NETWORKS[self.network].middle_switches(self):
            usual = type(self).model_fields["middle_switches"].default
            object.__setattr__(self, "middle_switches", usual)
        if self.overflow == "wrap" and not self.overflow_matters:
            object.__setattr__(self, "overflow", "saturate")

    @property
    def overflow_matters(self) -> bool:
        """Whether ``overflow`` changes the hardware, which only integer sums do."""
        return isinstance(self.number_format, IntFormat) and OPERATIONS[self.operation].overflows

    @property
    def number_format(self) -> NumberFormat:
        """Format of a lane."""
        return FORMATS[self.format]

    @property
    def inside(self) -> Self:
        """Specification of the interconnect between its conversions; itself if it has none."""
        if self.accumulation is None:
            return self
        return self.with_changes(format=self.accumulation, accumulation=None)

    @property
    def drop_cycles(self) -> int:
        """Cycles without traffic of a phase after which only input queues can hold its packets.

        Source: docs/reference/protocol.md, "Generation".
        """
        return self.protocol.timeout_cycles + 128 * self.ports

    @property
    def _auto_registers(self) -> int:
        return OPERATIONS[self.operation].registers(FORMATS[self._added])

    @property
    def _added(self) -> str:
        """Name of the format of the sums inside the interconnect."""
        return self.accumulation or self.format

    @property
    def _registers_of_clock(self) -> int:
        """Return the least depth that reaches the clock; more registers are never slower."""
        _check_operation(self.operation, self._added)
        assert self.clock_ns is not None
        clocks = adder_delays().clocks_ns(self.operation, self._added)
        for registers, shortest in enumerate(clocks):
            if shortest <= self.clock_ns:
                return registers
        allowed = f"{ceil(min(clocks) * 1000) / 1000:g} or more" if clocks else "left out"
        what = f"with auto registers in {self.operation} of {self._added}"
        raise refused(f"clock_ns: must be {allowed} {what}, not {self.clock_ns:g}")

    @property
    def shape(self) -> str:
        """Part of generated names for the network and its size."""
        return NETWORKS[self.network].shape(self)

    @property
    def configuration_width(self) -> int:
        """Bits of the configuration word of the network."""
        return NETWORKS[self.network].configuration_width(self)

    @property
    def data_width(self) -> int:
        """Bits of a flit."""
        return self.lanes * self.number_format.storage_bits

    @property
    def digest(self) -> int:
        """Digest of the sizes on which both sides of a link agree (docs/reference/protocol.md)."""
        numbers = (self.data_width, self.format, self.operation, self.overflow)
        sizes = [getattr(self.protocol, name) for name in SHARED_SIZES]
        routes = [] if self.protocol.routes is None else [self.protocol.routes.shape_name]
        given, usual = self.protocol.channels, DEFAULT_CHANNELS
        channels = [] if given.each == usual.each else [given.each]
        channels += [] if given.names == usual.names else [given.names]
        said = repr((PROTOCOL_VERSION, *numbers, *sizes, *routes, *channels)).encode()
        return crc32(said) % (1 << HEADER_FIELDS["digest"].bits)

    def suffix(self, *, reduces: bool = True, crosses: bool = True) -> str:
        """Return the part of a generated name for lanes and pipeline, without defaults.

        Parameters
        ----------
        reduces : bool
            Whether the named hardware reduces, so that operation and adders matter to it.
        crosses : bool
            Whether it has the registers at a crossing.
        """
        parts = [f"{self.format}x{self.lanes}"]
        if reduces:
            parts += [self.operation] if self.operation != "sum" else []
            parts += [self.overflow] if self.overflow != "saturate" else []
            registers = self.adder_registers
            parts += [f"a{registers}"] if registers != self._auto_registers else []
        if crosses:
            parts += [f"in_{self.accumulation}"] if self.accumulation else []
            parts += [f"s{self.stage_registers}"] if self.stage_registers != 1 else []
        return "_".join(parts)

    @property
    def needed(self) -> frozenset[int] | None:
        """The only configuration words to support; None if all are."""
        return None if self.only is None else frozenset(int(word, 16) for _, word in self.only)

    @property
    def name(self) -> str:
        """Stable short name, such as ``fred_m3_p8_fp16x4``; also of the generated top module.

        The number at the end of a name like ``fred_m3_p8_fp16x4_only_3f2a91c0`` identifies the only
        configurations.
        """
        name = f"fred_{self.shape}_{self.suffix()}"
        if self.needed is None:
            return name
        return f"{name}_only_{crc32(repr(sorted(self.needed)).encode()):08x}"


def check_spec(unit: str, spec: object) -> SwitchSpec:
    """Return ``spec`` if ``unit`` can be generated for it; fail otherwise.

    Raises
    ------
    TypeError
        ``spec`` is no specification.
    """
    if not isinstance(spec, SwitchSpec):
        raise TypeError(f"{unit} spec must be a SwitchSpec, not {spec!r}")
    return spec


def sized_name(name: str, spec: SwitchSpec) -> str:
    """Return the name of a unit whose hardware depends on flits, ports and protocol."""
    return f"{name}_w{spec.data_width}_p{spec.ports}_{spec.protocol.suffix}"
