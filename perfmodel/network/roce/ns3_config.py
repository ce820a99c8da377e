"""Configuration files of the ns-3 simulator, with one ``KEY value ...`` per line."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from fred_hw.choices import did_you_mean
from fred_hw.errors import InputError
from fred_hw.files import validate
from fred_hw.reading import read_text
from perfmodel.topology.ns3 import bits_per_s

from .parameters import SCHEMES, MarkEntry, RoceFile

__all__ = ["CC_MODES", "config_text", "read_config"]

CC_MODES = {"dcqcn": 1, "hpcc": 3, "timely": 7, "dctcp": 8, "hpcc-pint": 10, "pfc": 12}
"""``CC_MODE`` of each scheme; all other numbers stand for ``pfc``."""

_MAX_BYTES = 1 << 16

_NUMBERS: Mapping[str, tuple[str, ...]] = {
    "PACKET_PAYLOAD_SIZE": ("packet_bytes",),
    "ALPHA_RESUME_INTERVAL": ("dcqcn", "alpha_interval_us"),
    "RATE_DECREASE_INTERVAL": ("dcqcn", "decrease_interval_us"),
    "RP_TIMER": ("dcqcn", "increase_timer_us"),
    "EWMA_GAIN": ("dcqcn", "gain"),
    "FAST_RECOVERY_TIMES": ("dcqcn", "fast_recovery_times"),
    "ERROR_RATE_PER_LINK": ("error_rate",),
    "L2_CHUNK_SIZE": ("chunk_bytes",),
    "U_TARGET": ("hpcc", "target"),
    "MI_THRESH": ("hpcc", "max_stage"),
    "PINT_LOG_BASE": ("hpcc", "pint_log_base"),
    "PINT_PROB": ("hpcc", "pint_probability"),
    "BUFFER_SIZE": ("buffer_mib",),
}
_SWITCHES: Mapping[str, tuple[str, ...]] = {
    "USE_DYNAMIC_PFC_THRESHOLD": ("dynamic_threshold",),
    "CLAMP_TARGET_RATE": ("dcqcn", "clamp_target_rate"),
    "L2_BACK_TO_ZERO": ("back_to_zero",),
    "HAS_WIN": ("window",),
    "GLOBAL_T": ("global_window",),
    "VAR_WIN": ("variable_window",),
    "FAST_REACT": ("hpcc", "fast_react"),
    "RATE_BOUND": ("paced",),
}
_RATES: Mapping[str, tuple[str, ...]] = {
    "RATE_AI": ("additive_gbps",),
    "RATE_HAI": ("hyper_gbps",),
    "MIN_RATE": ("min_rate_gbps",),
    "DCTCP_RATE_AI": ("dctcp_additive_gbps",),
}
_MAPS = {"KMIN_MAP": "kmin_kb", "KMAX_MAP": "kmax_kb", "PMAX_MAP": "pmax"}
_OTHERWISE_HELD = (("congestion_control",), ("ecn",), ("train_packets",))
"""Places of parameters that are written, or need no key, besides those of single values."""

_FIXED = {
    "ENABLE_QCN": "1",
    "L2_ACK_INTERVAL": "1",
    "INT_MULTI": "1",
    "MULTI_RATE": "0",
    "SAMPLE_FEEDBACK": "0",
    "LINK_DOWN": "0 0 0",
}
"""Keys of which only one value is supported."""

_IGNORED = (
    *("TOPOLOGY_FILE", "FLOW_FILE", "TRACE_FILE", "TRACE_OUTPUT_FILE", "FCT_OUTPUT_FILE"),
    *("PFC_OUTPUT_FILE", "QLEN_MON_FILE", "QLEN_MON_START", "QLEN_MON_END", "ENABLE_TRACE"),
    *("SIMULATOR_STOP_TIME", "NIC_TOTAL_PAUSE_TIME", "ACK_HIGH_PRIO"),
)
"""Ignored keys: inputs, outputs, tracing, and the priority of acks, which is always high here."""


def read_config(path: Path) -> RoceFile:
    """Return the parameters in a configuration file; missing keys take published values.

    Raises
    ------
    InputError
        The file is unreadable, or has an unknown key or a value that is not allowed.
    """
    source, given = str(path), dict[str, Any]()
    table: dict[float, dict[str, float]] = {}
    for number, line in enumerate(read_text(path, _MAX_BYTES).splitlines(), start=1):
        key, *values = line.split() or [""]
        if not key or key.startswith("#") or key in _IGNORED:
            continue
        field = f"line {number}"
        if key in _MAPS:
            _add_map(source, field, values, table, _MAPS[key])
            continue
        if key in _FIXED:
            if (given_text := " ".join(values)) != _FIXED[key]:
                message = f"must be {key} {_FIXED[key]}, not {given_text or 'nothing':.40}"
                raise InputError(source, field, message)
            continue
        if len(values) != 1:
            raise InputError(source, field, f"must have one value for {key}, not {len(values)}")
        if key == "CC_MODE":
            mode = _number(source, field, values[0])
            schemes = [name for name, one in CC_MODES.items() if one == mode]
            given["congestion_control"] = schemes[0] if schemes else SCHEMES[0]
        else:
            place, read = _place(source, field, key)
            target = given if len(place) == 1 else given.setdefault(place[0], {})
            target[place[-1]] = read(source, field, values[0])
    if table:
        given["ecn"] = [{"gbps": rate * 1e-9, **row} for rate, row in sorted(table.items())]
        for row in given["ecn"]:
            if missing := {"kmin_kb", "kmax_kb"} - row.keys():
                name = next(key for key, one in _MAPS.items() if one in missing)
                raise InputError(source, name, f"must have a value for {row['gbps']:g} Gb/s")
    found = validate(RoceFile, given, source)
    found.check(source)
    return found


def _place(
    source: str, field: str, key: str
) -> tuple[tuple[str, ...], Callable[[str, str, str], Any]]:
    """Return the parameter that a key sets, and the parser of its value."""
    for keys, read in ((_NUMBERS, _number), (_SWITCHES, _switch), (_RATES, _rate)):
        if key in keys:
            return keys[key], read
    known = (*_NUMBERS, *_SWITCHES, *_RATES, *_MAPS, *_FIXED, *_IGNORED, "CC_MODE")
    message = f"must have a key of an ns-3 configuration, not {key!r:.40}"
    raise InputError(source, field, message + (did_you_mean(key, known) or ""))


def _number(source: str, field: str, text: str) -> float | int:
    try:
        value = float(text)
    except ValueError:
        raise InputError(source, field, f"must have a number, not {text!r:.40}") from None
    return int(value) if value == value // 1 and abs(value) < 1e18 else value


def _switch(source: str, field: str, text: str) -> bool:
    if text not in ("0", "1"):
        raise InputError(source, field, f"must be 0 or 1, not {text!r:.40}")
    return text == "1"


def _rate(source: str, field: str, text: str) -> float:
    rate = bits_per_s(text)
    if rate is None:
        raise InputError(source, field, f"must be a rate such as 50Mb/s, not {text!r:.40}")
    return rate / 1e9


def _add_map(
    source: str, field: str, values: list[str], table: dict[float, dict[str, float]], name: str
) -> None:
    numbers = [_number(source, field, one) for one in values]
    if not numbers or len(numbers) != 1 + 2 * numbers[0]:
        message = "must be a count N and N pairs of a rate and a value"
        raise InputError(source, field, f"{message}, not {len(numbers)} numbers")
    for rate, value in zip(numbers[1::2], numbers[2::2], strict=True):
        row = table.setdefault(float(rate), {})
        if name in row:
            raise InputError(source, field, f"must have each rate once, not {rate:g} twice")
        row[name] = value


def config_text(parameters: RoceFile, source: str) -> str:
    """Return parameters as the text of a configuration file.

    Parameters
    ----------
    parameters : RoceFile
        The parameters; ``train_packets`` is left out, as ns-3 simulates each packet.
    source : str
        Source of the parameters, for error messages.

    Raises
    ------
    InputError
        A parameter that the format has no key for is not the default, or a number that the
        simulator reads as an integer is not whole.
    """
    values = _by_place(parameters.model_dump())
    held = {*_NUMBERS.values(), *_SWITCHES.values(), *_RATES.values(), *_OTHERWISE_HELD}
    for place, default in _by_place(RoceFile().model_dump()).items():
        if place not in held and values[place] != default:
            wanted, value = json.dumps(default), json.dumps(values[place])
            message = f"must be {wanted} in an ns-3 configuration, not {value}"
            raise InputError(source, ".".join(place), message)
    _check_whole(parameters, source)
    lines = [f"CC_MODE {CC_MODES[parameters.congestion_control]}"]
    lines += [f"{key} {values[place]:.12g}" for key, place in _NUMBERS.items()]
    lines += [f"{key} {int(values[place])}" for key, place in _SWITCHES.items()]
    lines += [f"{key} {1e3 * values[place]:.12g}Mb/s" for key, place in _RATES.items()]
    lines += [f"{key} {one}" for key, one in _FIXED.items()]
    for key, name in _MAPS.items():
        pairs = [f"{_bits_per_s(row)} {getattr(row, name):.12g}" for row in parameters.ecn]
        lines.append(f"{key} {len(pairs)} {' '.join(pairs)}")
    return "\n".join(lines) + "\n"


def _by_place(values: Mapping[str, Any]) -> dict[tuple[str, ...], Any]:
    """Return parameters keyed by their place: a name, or an entry and a name."""
    found: dict[tuple[str, ...], Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            inner = cast("Mapping[str, Any]", value)
            found |= {(name, *place): one for place, one in _by_place(inner).items()}
        else:
            found[name,] = value
    return found


def _check_whole(parameters: RoceFile, source: str) -> None:
    numbers = {"buffer_mib": parameters.buffer_mib}
    for place, row in enumerate(parameters.ecn):
        numbers |= {f"ecn.{place}.{name}": getattr(row, name) for name in ("kmin_kb", "kmax_kb")}
    for field, number in numbers.items():
        if number % 1:
            message = f"must be a whole number in an ns-3 configuration, not {number:g}"
            raise InputError(source, field, message)


def _bits_per_s(row: MarkEntry) -> int:
    return round(row.gbps * 1e9)
