"""Timing records of switches, the only source of switch timing."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import model_validator

from fred_hw.compiler.shape import split_count
from fred_hw.errors import InputError
from fred_hw.files import load_model
from fred_hw.protocol import CRC_BITS, HEADER_BITS
from fred_hw.spec import SwitchSpec

from .measured_record import Clock, MeasuredRecord
from .provenance import RecordUse
from .whole_switch import Cycles, Share, WholeSwitch

__all__ = [
    "IDEAL_PROTOCOL",
    "PROTOCOL_MODELS",
    "RECORDS",
    "ROUNDING",
    "SHIPPED",
    "ProtocolModel",
    "SwitchTiming",
    "TimingRecord",
    "check_payload_share",
    "load_record",
    "record_path",
]

RECORDS = Path(__file__).parent / "records"

SHIPPED = ("l1-11", "l1-12", "l2-10")
"""Built-in switch records: the chiplets of the published wafer."""

ProtocolModel = Literal["measured", "ideal"]

PROTOCOL_MODELS: tuple[ProtocolModel, ...] = ("measured", "ideal")
"""Cost of headers, CRC, acks and the link layer of switches: as measured, or zero."""

IDEAL_PROTOCOL = "protocol ideal: headers, CRC, acks and link layer take neither time nor link rate"
"""Assumption behind every figure with the ideal protocol."""

ROUNDING = 1e-3
"""Largest relative rounding error of the shares in a record."""


class TimingRecord(MeasuredRecord[Literal["fred-timing/2"], SwitchSpec]):
    """Co-simulation measurements of one switch.

    Parameters
    ----------
    latency_cycles : int
        Latency of the interconnect without ports, first flit in to first flit out [cycles].
    throughput_flits_per_cycle : float
        Sustained rate of a port of the interconnect [flits/cycle], above 0 and at most 1.
    reconfiguration_cycles : int
        Cycles lost when the interconnect changes its configuration [cycles].
    switch : WholeSwitch or None
        The same and more for the whole switch; None if only the interconnect was measured.
    clock : Clock
        Clock frequency [Hz] and its source.
    """

    latency_cycles: Cycles
    throughput_flits_per_cycle: Share
    reconfiguration_cycles: Cycles
    switch: WholeSwitch | None
    clock: Clock

    @model_validator(mode="after")
    def _check_share(self) -> "TimingRecord":
        if self.switch:
            # The measured width: a header is a larger share of a flit with fewer lanes.
            rate, share = self.switch.data_flits_per_cycle, self.switch.payload_share
            check_payload_share("switch", rate, share, self.spec.data_width)
        return self

    @property
    def not_measured(self) -> tuple[str, ...]:
        """Fields that are null since they were not measured."""
        return () if self.switch else ("switch",)


def check_payload_share(of: str, rate: float, payload_share: float, width: int) -> None:
    """Fail if a payload share does not follow from data flits per cycle and their data bits."""
    share = rate * width / (width + HEADER_BITS + CRC_BITS)
    if abs(payload_share / share - 1) > ROUNDING:
        raise ValueError(
            f"{of}.payload_share must be {share:.6g}, which follows from "
            f"{of}.data_flits_per_cycle and flits of {width} bits, not {payload_share:.6g}"
        )


class SwitchTiming:
    """Timing of a switch in SI units, derived only from its record.

    Parameters
    ----------
    record : TimingRecord
        Record of the measurements.
    loaded_as : str
        Name under which the record was loaded.
    protocol : str
        One of ``PROTOCOL_MODELS``: ``measured`` uses the whole switch if the record has it,
        ``ideal`` only the interconnect, as if the link layer took neither time nor link rate.
    ports : int or None
        Ports of the switch, if more than in the record: its latency is then interpolated. The
        interconnect has ``stage_registers`` in each of two more stages, and ``adder_registers`` in
        one of them, for each additional level of micro-switches; everything else is as measured, as
        the other stages do not depend on the number of ports.
    """

    def __init__(
        self,
        record: TimingRecord,
        loaded_as: str,
        protocol: ProtocolModel = "measured",
        ports: int | None = None,
    ) -> None:
        self.record = record
        self.loaded_as = loaded_as
        self.protocol: ProtocolModel = protocol
        self.switch = record.switch if protocol == "measured" else None
        """Measurements of the whole switch; None if only the interconnect's are used."""
        taken = self.switch or record
        spec = record.spec
        self.ports = max(spec.ports, ports or 0)
        """Number of ports of each chiplet."""
        levels = split_count(self.ports) - split_count(spec.ports)
        more = levels * (2 * spec.stage_registers + spec.adder_registers)
        self.latency_cycles = taken.latency_cycles + more
        """Latency from first flit in to first flit out [cycles]."""
        self.latency_s = self.latency_cycles / record.clock.hz
        """Latency from first flit in to first flit out [s]."""
        sooner = self.switch.latency_cycles - self.switch.follow_cycles if self.switch else 0
        self.sooner_s = sooner / record.clock.hz
        """Latency that a unicast saves if it follows another on the same path [s]."""
        self.reconfiguration_cycles = taken.reconfiguration_cycles
        """Cycles without flits when the configuration or the phase changes [cycles]."""
        cycles = self.switch.preemption_cycles if self.switch else 0
        self.preemption_s = cycles / record.clock.hz
        """Delay of an urgent packet until it preempts others [s]."""
        self.efficiency = (
            self.switch.payload_share if self.switch else record.throughput_flits_per_cycle
        )
        """Fraction of the link rate available for payload, above 0 and at most 1."""
        self.link_share = self.switch.payload_share if self.switch else 1.0
        """The same fraction of links that carry the switch's flits but are not attached to it."""

    def with_ports(self, ports: int) -> "SwitchTiming":
        """Return the interpolated timing of the same switch with more ports."""
        return SwitchTiming(self.record, self.loaded_as, self.protocol, ports)

    def use(self, switches: str, *, latency: bool = True) -> RecordUse:
        """Return the provenance of the switches called ``switches``.

        Parameters
        ----------
        switches : str
            Name of the described switches.
        latency : bool
            Whether the latency was used too, and not only the efficiency.
        """
        record = self.record
        return RecordUse(
            switches=switches,
            record=self.loaded_as,
            name=record.name,
            measured="whole switch" if self.switch else "interconnect alone",
            interpolated_ports=None if self.ports == record.spec.ports else self.ports,
            latency_cycles=self.latency_cycles if latency else None,
            latency_s=self.latency_s if latency else None,
            efficiency=self.efficiency,
            clock=f"{record.clock.hz / 1e9:.6f} GHz, {record.clock.source}",
            measured_by=record.measured_by,
            not_measured=record.not_measured,
        )


def load_record(
    name_or_path: str,
    base: Path | None = None,
    protocol: ProtocolModel = "measured",
    *,
    source: str = "timing record",
    field: str = "",
) -> SwitchTiming:
    """Return the timing of a switch from a built-in record or a file.

    Parameters
    ----------
    name_or_path : str
        Name of a shipped record, such as ``l1-12``, or path of a JSON file, recognised by its
        suffix.
    base : Path or None
        Folder that a relative path starts from; None is the working directory.
    protocol : str
        One of ``PROTOCOL_MODELS``.
    source, field : str
        Position of the name in the input, for error messages.

    Raises
    ------
    InputError
        There is no such record, or it is invalid; names the field.
    """
    path = record_path(name_or_path, base, SHIPPED, source, field)
    return SwitchTiming(load_model(TimingRecord, path), name_or_path, protocol)


def record_path(
    name_or_path: str, base: Path | None, names: Sequence[str], source: str, field: str
) -> Path:
    """Return the path of a built-in record or of a given file; see `load_record`.

    Parameters
    ----------
    names : sequence of str
        Shipped records that will do.

    Raises
    ------
    InputError
        The text is neither the name of a record nor a path.
    """
    # A path contains no NUL.
    if name_or_path.endswith(".json") and "\0" not in name_or_path:
        return (base or Path()) / name_or_path
    if name_or_path not in names:
        known = ", ".join(names)
        message = f"must be {known} or a path ending in .json, not {name_or_path!r}"
        raise InputError(source, field, message)
    return RECORDS / f"{name_or_path}.json"
