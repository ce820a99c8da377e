"""Dispatch to the controller of a flow; the controller's state is a row of an array."""

from typing import Any

from perfmodel.network.roce.compiled import compiled

from . import dcqcn, dctcp, hpcc, timely
from .control import Ack, Control

__all__ = [
    "DCQCN",
    "DCTCP",
    "FIELDS",
    "HPCC",
    "PFC",
    "PINT",
    "TIMELY",
    "acknowledged",
    "begin",
    "rate_at",
]

PFC, DCQCN, DCTCP, TIMELY, HPCC, PINT = range(6)
"""Numbers of the controllers; ``PFC`` is none, so every flow keeps line rate."""

FIELDS = 10
"""Number of floats that hold the state of any controller."""

_dcqcn_start, _dcqcn_notified, _dcqcn_timer = dcqcn.start, dcqcn.on_notification, dcqcn.on_timer
_dctcp_start, _dctcp_ack = dctcp.start, dctcp.on_ack
_timely_start, _timely_ack = timely.start, timely.on_ack
_hpcc_start, _hpcc_ack = hpcc.start, hpcc.on_ack
_DcqcnState, _DctcpState = dcqcn.State, dctcp.State
_TimelyState, _HpccState = timely.State, hpcc.State


@compiled
def _store(row: Any, state: Any) -> None:
    for i, value in enumerate(state):
        row[i] = value


@compiled
def begin(row: Any, scheme: int, rate: float) -> None:
    """Write the state of a new flow, which starts at line rate [B/ns], to its row."""
    row[0] = rate
    if scheme == DCQCN:
        _store(row, _dcqcn_start(rate))
    elif scheme == DCTCP:
        _store(row, _dctcp_start(rate))
    elif scheme == TIMELY:
        _store(row, _timely_start(rate))
    elif scheme >= HPCC:
        _store(row, _hpcc_start(rate))


@compiled
def _dcqcn(r: Any) -> Any:
    return _DcqcnState(r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9])


@compiled
def rate_at(row: Any, scheme: int, now: float, line_rate: float, p: Control) -> float:
    """Return the current rate of a flow, after expired timers have been applied [B/ns]."""
    if scheme == DCQCN and min(row[7], row[8], row[9]) <= now:
        _store(row, _dcqcn_timer(_dcqcn(row), now, line_rate, p))
    return row[0]


@compiled
def acknowledged(
    row: Any, scheme: int, ack: Ack, utilization: float, line_rate: float, p: Control
) -> None:
    """Update the state of a flow after an ack.

    Parameters
    ----------
    row : array
        State of the controller, ``FIELDS`` floats.
    scheme : int
        Number of the controller.
    ack : Ack
        The ack.
    utilization : float
        Utilization of the busiest hop, for HPCC.
    line_rate : float
        Highest rate [B/ns].
    p : Control
        Parameters.
    """
    if scheme == DCQCN:
        if ack.marks > 0:
            state = _dcqcn_timer(_dcqcn(row), ack.now, line_rate, p)
            _store(row, _dcqcn_notified(state, ack.now, p))
    elif scheme == DCTCP:
        before = _DctcpState(row[0], row[1], row[2], row[3], row[4], row[5])
        _store(row, _dctcp_ack(before, ack, line_rate, p))
    elif scheme == TIMELY:
        was = _TimelyState(row[0], row[1], row[2], row[3], row[4])
        _store(row, _timely_ack(was, ack, line_rate, p))
    elif scheme >= HPCC:
        old = _HpccState(row[0], row[1], row[2], row[3], row[4])
        _store(row, _hpcc_ack(old, ack, utilization, line_rate, p))
