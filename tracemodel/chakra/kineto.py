"""Kineto traces of PyTorch: times of host operators and of device work."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from fred_hw.errors import InputError
from fred_hw.progress import track

from .json_files import mapping_of

__all__ = ["Event", "Kineto", "Wait", "is_nccl"]

_ON_HOST, _ON_DEVICE = ("cpu_op", "user_annotation"), ("kernel", "gpu_memcpy", "gpu_memset")
_CALLS = ("cuda_runtime", "cuda_driver")
_NCCL = re.compile(r"nccl(Dev)?Kernel")
_MOST_US = 1 << 52
"""Largest time [us]; exceeds any clock that counts from 1970."""


@dataclass(eq=False)
class Event:
    """A host operator, a runtime call, or a device operation.

    Parameters
    ----------
    name : str
        Name in Kineto.
    begin, duration : float
        Start and duration [us].
    thread : int or str
        Thread on the host.
    args : mapping
        Other data from Kineto.
    exclusive : float
        Duration without the events that it called [us].
    caller : Event or None
        The operator that was running in the same thread.
    """

    name: str
    begin: float
    duration: float
    thread: int | str
    args: Mapping[str, Any]
    exclusive: float = 0.0
    caller: "Event | None" = None

    @property
    def end(self) -> float:
        """End of the event [us]."""
        return self.begin + self.duration

    def integer(self, key: str) -> int | None:
        """Return an argument if it is an integer, otherwise None."""
        value = self.args.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else None


@dataclass(frozen=True)
class Wait:
    """A wait of one stream for another.

    Parameters
    ----------
    begin : float
        When it was made to [us].
    stream, other : int or None
        The stream, and the one that it waits for.
    until : float
        It waits for what the other was given until then [us].
    """

    begin: float
    stream: int | None
    other: int | None
    until: float


def is_nccl(event: Event) -> bool:
    """Return whether a device operation is a communication kernel of NCCL."""
    return _NCCL.match(event.name) is not None


class Kineto:
    """Events of a Kineto trace.

    Parameters
    ----------
    said : mapping
        The object that the file holds.
    source : str
        The file, for errors.

    Attributes
    ----------
    operators : dict of int to Event
        Operators of the host by their ``Record function id``.

    Raises
    ------
    InputError
        The file is not a Kineto trace, or an event has no time.
    """

    def __init__(self, said: Mapping[str, Any], source: str) -> None:
        events = said.get("traceEvents")
        if not isinstance(events, list):
            message = "must be a Kineto trace, with a list traceEvents"
            raise InputError(source, "", message)
        self._source = source
        self.operators: dict[int, Event] = {}
        self._threads: dict[int | str, list[Event]] = {}
        self._calls: dict[int, Event] = {}
        self._device: list[Event] = []
        self._waits: list[Event] = []
        for place, value in enumerate(track(cast("list[object]", events), "events")):
            self._add(mapping_of(value), f"traceEvents.{place}")
        for thread in self._threads.values():
            _nest(thread)
        self._begins = {
            thread: [event.begin for event in events] for thread, events in self._threads.items()
        }

    def _add(self, said: Mapping[str, Any], where: str) -> None:
        category, name = said.get("cat"), str(said.get("name", ""))
        on_host = category in _ON_HOST and "ProfilerStep" not in name
        is_wait = category == "cuda_sync" and name == "Stream Wait Event"
        if not (on_host or is_wait or category in (*_ON_DEVICE, *_CALLS)):
            return
        begin, duration = (self._time(said.get(key, 0), f"{where}.{key}") for key in ("ts", "dur"))
        thread = said.get("tid", 0)
        thread = thread if isinstance(thread, int) else str(thread)
        event = Event(name, begin, duration, thread, mapping_of(said.get("args")), duration)
        if on_host:
            self._threads.setdefault(thread, []).append(event)
            number = event.integer("Record function id")
            if number:
                self.operators[number] = event
        elif is_wait:
            self._waits.append(event)
        elif category in _CALLS:
            correlation = event.integer("correlation")
            if correlation is not None:
                self._calls[correlation] = event
        else:
            self._device.append(event)

    def _time(self, value: Any, field: str) -> float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 <= value <= _MOST_US:
            raise InputError(self._source, field, f"must be a time in us, not {value!r:.60}")
        return value

    @property
    def operations(self) -> int:
        """Number of operations on the device."""
        return len(self._device)

    def launches(self, known: Collection[Event]) -> Iterator[tuple[float, Event, Event]]:
        """Yield each device operation with its launch time and the operator that launched it.

        Parameters
        ----------
        known : collection of Event
            Operators that may have launched something.
        """
        for event in self._device:
            call = self._call(event, "correlation")
            operator = self._launcher(event, call, known) if call else None
            if call and operator:
                yield call.begin, operator, event

    def _launcher(self, event: Event, call: Event, known: Collection[Event]) -> Event | None:
        """Return the innermost operator running at a call, or else the last one before it."""
        events = self._threads.get(call.thread, [])
        place = bisect_right(self._begins.get(call.thread, []), call.begin)

        def may_be(operator: Event) -> bool:
            is_wrapper = is_nccl(event) and operator.name == "nccl:coalesced"
            return operator in known and not is_wrapper

        operator = events[place - 1] if place else None
        while operator and not (operator.end >= call.begin and may_be(operator)):
            operator = operator.caller
        before = (events[number] for number in range(place - 1, -1, -1))
        return operator or next(filter(may_be, before), None)

    def waits(self) -> list[Wait]:
        """Return the waits between streams, in the order of the calls."""
        found: list[Wait] = []
        for one in self._waits:
            call = self._call(one, "correlation")
            record = self._call(one, "wait_on_cuda_event_record_corr_id")
            if call and record:
                streams = one.integer("stream"), one.integer("wait_on_stream")
                found.append(Wait(call.begin, *streams, record.begin))
        return sorted(found, key=lambda wait: wait.begin)

    def _call(self, event: Event, key: str) -> Event | None:
        """Return the runtime call that an event refers to."""
        number = event.integer(key)
        return None if number is None else self._calls.get(number)

    def last_elsewhere(self, thread: int | str, begin: float) -> Event | None:
        """Return the last operator that another thread started before a time."""
        last = None
        for other, begins in self._begins.items():
            place = bisect_left(begins, begin) if other != thread else 0
            if place and (last is None or begins[place - 1] > last.begin):
                last = self._threads[other][place - 1]
        return last


def _nest(events: list[Event]) -> None:
    """Sort a thread's operators, and determine their callers and exclusive times."""
    events.sort(key=lambda event: (event.begin, -event.duration))
    under_way: list[Event] = []
    for event in events:
        while under_way and under_way[-1].end <= event.begin:
            under_way.pop()
        if under_way:
            event.caller = under_way[-1]
            called = min(event.caller.end, event.end) - event.begin
            event.caller.exclusive = max(0.0, event.caller.exclusive - called)
        under_way.append(event)
