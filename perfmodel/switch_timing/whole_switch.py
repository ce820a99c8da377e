"""Measurements of a whole switch: link layer, buffers and interconnect."""

from typing import Annotated

from pydantic import Field, model_validator

from fred_hw.files import FileModel

__all__ = ["Cycles", "Recovery", "Share", "SmallShare", "WholeSwitch"]

Cycles = Annotated[int, Field(ge=0, lt=1 << 31)]
# Smaller shares have never been measured, and much smaller ones would give infinite times.
Share = Annotated[float, Field(ge=1e-6, le=1)]
SmallShare = Annotated[float, Field(ge=0, lt=1)]


class Recovery(FileModel):
    """Cost of a data flit lost on a link.

    Parameters
    ----------
    to_switch, from_switch : int
        Cycles from its loss until all packets arrive as without it, at half of the full rate, on a
        link to the switch and on a link from it [cycles].
    """

    to_switch: Cycles
    from_switch: Cycles


class WholeSwitch(FileModel):
    """Co-simulation measurements of a whole switch: link layer, buffers and interconnect.

    Shares are those of links out of the switch while all ports send packets of the largest size.

    Parameters
    ----------
    latency_cycles : int
        A lone flit, port to port [cycles].
    stages : dict
        Part of each stage in it [cycles]; they add up to ``latency_cycles``.
    follow_cycles : int
        A lone flit of a unicast that goes the way of the one before it [cycles].
    data_flits_per_cycle : float
        Share of the cycles in which a data flit crosses, above 0 and at most 1.
    ack_share, control_share : float
        Share of the cycles in which an ack crosses, and in which a flit without data does, acks
        among them, 0 or more and below 1.
    payload_share : float
        Share of the raw link rate that is payload, above 0 and at most 1: ``data_flits_per_cycle``
        times the bits of the data of a flit of ``spec`` over those of the
        flit with its header and CRC.
    reconfiguration_cycles : int
        Cycles without a flit when a phase takes the place of another [cycles].
    preemption_cycles : int
        Time from an urgent packet at the head of its queue to its first flit in the interconnect,
        when a less urgent packet has just begun [cycles].
    recovery_cycles : Recovery
        Cost of a lost flit.
    """

    latency_cycles: Cycles
    stages: Annotated[dict[str, Cycles], Field(min_length=1)]
    follow_cycles: Cycles
    data_flits_per_cycle: Share
    ack_share: SmallShare
    control_share: SmallShare
    payload_share: Share
    reconfiguration_cycles: Cycles
    preemption_cycles: Cycles
    recovery_cycles: Recovery

    @model_validator(mode="after")
    def _follows_sooner(self) -> "WholeSwitch":
        if self.follow_cycles > self.latency_cycles:
            raise ValueError(
                f"follow_cycles must be at most latency_cycles, {self.latency_cycles}, not "
                f"{self.follow_cycles}"
            )
        return self

    @model_validator(mode="after")
    def _stages_add_up(self) -> "WholeSwitch":
        found = sum(self.stages.values())
        if found != self.latency_cycles:
            raise ValueError(
                f"stages must add up to latency_cycles, which are {self.latency_cycles}, "
                f"not to {found}"
            )
        return self
