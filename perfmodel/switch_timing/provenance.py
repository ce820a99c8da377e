"""Provenance of a result: timing records and assumptions."""

from dataclasses import dataclass

__all__ = ["Provenance", "RecordUse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordUse:
    """A timing record, and the values taken from it.

    Parameters
    ----------
    switches : str
        Switches of the topology that it describes, such as ``l1_0 to l1_2``.
    record : str
        Name under which the record was loaded.
    name : str
        Name of the characterized switch.
    measured : str
        The part that was used: ``whole switch``, ``interconnect alone`` or ``router``.
    interpolated_ports : int or None
        Ports of the switches, if more than those of the record, in which case the latency is
        interpolated; else None.
    latency_cycles : int or None
        Measured latency [cycles]; None if only the efficiency was used.
    latency_s : float or None
        The same latency at the clock of the record [s].
    efficiency : float
        Share of the link rate that is left for payload, above 0 and at most 1.
    clock : str
        Clock frequency and its source.
    measured_by : str
        Simulators with versions, seed and source revision.
    not_measured : tuple of str
        Fields of the record that are null; the model takes them to cost nothing.
    """

    switches: str
    record: str
    name: str
    measured: str
    interpolated_ports: int | None = None
    latency_cycles: int | None
    latency_s: float | None
    efficiency: float
    clock: str
    measured_by: str
    not_measured: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Provenance:
    """Timing records and assumptions behind a result, in order of use."""

    records: tuple[RecordUse, ...] = ()
    assumptions: tuple[str, ...] = ()

    @property
    def said_records(self) -> tuple[str, ...]:
        """A short text for each record: the switches it describes, and what was measured."""
        return tuple(
            f"{use.switches}: record {use.record} of the {use.measured}" for use in self.records
        )

    def plus(self, *assumptions: str) -> "Provenance":
        """Return the provenance with additional assumptions, without duplicates."""
        new = tuple(text for text in assumptions if text not in self.assumptions)
        return Provenance(self.records, self.assumptions + new)
