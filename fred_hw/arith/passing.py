"""Registers of a lane for operands that are not reduced."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value

__all__ = ["Passing", "Places", "held"]

Places = Mapping[str, Sequence[int | None]]
"""Which bit of what passes each bit of a signal is, by its name; None is none of them."""


@dataclass(frozen=True)
class Passing:
    """Both operands in pipeline registers, without reduction.

    Parameters
    ----------
    bits : Value
        Their bits, wherever they are.
    reduce : Value
        Whether they are reduced instead, so that ``bits`` mean nothing.
    """

    bits: Value
    reduce: Value


def held(
    m: Module, name: str, signals: Any, places: Places, passing: Passing
) -> tuple[Any, Places, Value]:
    """Put registers behind a step; return its signals, and where what passes is in them.

    Parameters
    ----------
    m : Module
        Where the registers are.
    name : str
        Of the step, and of the registers.
    signals : dataclass or Value
        Of the step.
    places : dict of str to sequence of int or None
        Which bits of what passes the step leaves in its signals by itself.
    passing : Passing
        What passes. Bits that the step leaves nowhere are chosen in front of registers that have
        no use while they pass, and those that find no space there get registers of their own.
    """
    leaves = list(_leaves(signals))
    free = {path: [None] * len(value) for path, value in leaves}
    left = {path: list(places.get(path, free[path])) for path in free}
    known = {index for one in left.values() for index in one}
    missing = iter([index for index in range(len(passing.bits)) if index not in known])
    registers: dict[int | None, Value] = {}
    behind: dict[str, list[int | None]] = {}
    values: list[Value] = []

    def register(path: str, value: Value, indices: Sequence[int | None]) -> Value:
        label = f"{name}_q_{path}" if path else f"{name}_q"
        one = Signal(len(value), name=label, reset_less=True)
        m.d.sync += one.eq(value)
        for bit, index in enumerate(indices):
            registers[index] = one[bit]
        return one

    for path, value in leaves:
        chosen = [next(missing, None) if index is None else None for index in left[path]]
        behind[path] = [a if b is None else b for a, b in zip(left[path], chosen, strict=True)]
        values.append(register(path, _chosen(value, chosen, passing), behind[path]))
    if own := list(missing):
        register("own", Cat(passing.bits[index] for index in own), own)
    bits = Cat(registers[index] for index in range(len(passing.bits)))
    return _replaced(signals, iter(values)), behind, bits


def _chosen(value: Value, indices: Sequence[int | None], passing: Passing) -> Value:
    """Return ``value``, but while operands pass the bits of them that ``indices`` names."""
    if all(index is None for index in indices):
        return value
    others = [value[bit] if k is None else passing.bits[k] for bit, k in enumerate(indices)]
    return Mux(passing.reduce, value, Cat(others))


def _leaves(signals: Any, path: str = "") -> Iterator[tuple[str, Value]]:
    """Give each signal of a dataclass with its name, or a signal alone."""
    if not is_dataclass(signals):
        yield path, signals
        return
    for field in fields(signals):
        inner = f"{path}_{field.name}" if path else field.name
        yield from _leaves(getattr(signals, field.name), inner)


def _replaced(signals: Any, values: Iterator[Value]) -> Any:
    """Return a dataclass, or a signal alone, with other signals in the same order."""
    if not is_dataclass(signals) or isinstance(signals, type):
        return next(values)
    inner = {one.name: _replaced(getattr(signals, one.name), values) for one in fields(signals)}
    return replace(signals, **inner)
