"""State of the simulation as arrays of records, so that the event core can be compiled."""

from typing import Any, NamedTuple

import numpy as np

from .controllers.control import Control

__all__ = ["FLOW", "LINK", "MESSAGE", "NODE", "PATH", "SETTING", "TOTALS", "TRAIN", "Kind", "State"]

_I, _F = np.int64, np.float64


class Kind:
    """Kinds of events, in the low three bits of ``State.heap_what``; the rest is an index."""

    START, ARRIVE, KICK, ACK, PAUSE, RESUME, TIMEOUT = range(7)
    """A message begins; a train is at the end of a link; a link may send; an ack is at the sender;
    a link must stop, or may go on; a sender has waited too long for an ack."""


def _record(integers: str, floats: str) -> "np.dtype[Any]":
    # No field is called as an attribute of numpy's own, such as size, which interpreted code reads.
    names = [(name, _I) for name in integers.split()] + [(name, _F) for name in floats.split()]
    return np.dtype(names, align=True)


MESSAGE = _record("path length waits first followers watched", "begin end")
"""Path, bytes, messages that it waits for, its place and count in ``State.followers``, whether the
event loop returns when it arrives, and when it began and when it arrived [ns]; -1 before."""

PATH = _record("first hops train", "rtt back window rate")
"""Place and count in ``State.path_links``; packets of a train; base round trip and what an ack
takes [ns]; bytes in flight at most; rate of the first link [B/ns]."""

FLOW = _record("message next before listed sent acked received nacked", "last wire deadline timer")
"""Its message; its neighbours in the list of its first link, if it is ``listed``; bytes sent,
acknowledged and received; whether a nack is under way; when it last sent, how many bytes on the
wire, when it sends again without an ack, and when that is looked at next [ns]."""

TRAIN = _record("flow message next hop link seq length packets marks nack", "wire sent pint")
"""Flow and its message; next one of a queue; place in the path; link that it came by; first byte,
bytes and packets; marked packets; whether its ack is a nack; bytes on the wire; when it was sent
[ns]; and utilization for PINT."""

LINK = _record(
    "source target paused head tail flows turn shift pausing pauses",
    "rate delay free kick queue sent low high most ingress spare headroom since stopped carried "
    "longest pint pint_size pint_at",
)
"""Nodes at its ends; whether it is paused; queue; flows that begin here; whose turn it is; shift
of its threshold; whether a pause was sent for it, and how often; rate [B/ns] and delay [ns]; when
it is free and when it is looked at again; bytes queued and sent; thresholds and probability of
marks; bytes that came by it and are in the buffer, of those the ones in its headroom, and its
headroom; since when it is paused and how long it was; bytes carried for messages; longest queue;
and estimates for PINT."""

NODE = _record("", "pool shared")
"""Buffer space shared by all ports of a switch, and what is used of it [B]."""

TOTALS = _record(
    "events order free_flow free_flows free_train free_trains left done marks drops resent random "
    "arrived arrived_message timers fruitless",
    "now next_sample",
)
"""Events in the heap, and so far; free records; messages left; events handled; packets marked,
dropped and sent again; state of the random numbers; packets that arrived; message that arrived and
for which the event loop returns, or -1; timeouts in the heap, and those since any other event; time
[ns]."""

SETTING = _record(
    "scheme packet header lossless lossy chunk back_to_zero windows variable paced "
    "dynamic margin samples",
    "reserve resume static error timeout longest_rtt pint_base pint_share sample bin",
)
"""Parameters of ``parameters.RoceFile`` in bytes and ns, and sizes of the arrays."""


class State(NamedTuple):
    """All arrays of a simulation.

    Parameters
    ----------
    messages, paths, flows, trains, links, nodes, totals, setting : array
        Records of the types above; the last two have one.
    followers, path_links : array
        Messages that wait for others, and links of paths.
    rates : array
        State of the controller of each flow.
    last_telemetry, telemetry : array
        Telemetry of HPCC as flow x hop x 3 and train x hop x 3: time [ns], bytes sent [B] and queue
        [B] of each hop, from the last ack of a flow and as a train collects them.
    heap_time, heap_order, heap_what : array
        Events, a binary heap by time and then by order.
    queues : array
        Packets by the length of the queue that they came to, in bins.
    samples : array
        Time [ns], longest queue [B], bytes in buffers, links that are paused, and mean rate of the
        flows that are sending [B/ns].
    control : Control
        Parameters of controllers.
    """

    messages: Any
    paths: Any
    flows: Any
    trains: Any
    links: Any
    nodes: Any
    totals: Any
    setting: Any
    followers: Any
    path_links: Any
    rates: Any
    last_telemetry: Any
    telemetry: Any
    heap_time: Any
    heap_order: Any
    heap_what: Any
    queues: Any
    samples: Any
    control: Control
