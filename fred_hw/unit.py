"""Base of hardware units: one named module, however often it is used."""

from typing import Protocol, TypeVar, runtime_checkable

from amaranth.hdl import Module, Shape, Value
from amaranth.lib import wiring

from .member import members_of

__all__ = ["Emitter", "Unit", "check_shape", "place"]


@runtime_checkable
class Emitter(Protocol):
    """Platform of the generator: emits each distinct unit once, and returns an instance."""

    def instantiate(self, unit: "Unit") -> object:
        """Return an instance of the module emitted for ``unit``, connected to its ports."""
        ...


class Unit(wiring.Component):
    """Define a component that the generator emits once, as a module of its own.

    Subclasses declare their ports in the class body, see :func:`fred_hw.member.member`. They set
    ``unit_name`` and the sizes of their ports before they call ``super().__init__``, and implement
    ``build`` in place of ``elaborate``. Under the generator a unit becomes an
    instance of its module; under any other platform, a simulator's for one, it is built in place.

    Attributes
    ----------
    unit_name : str
        Name of the generated module; equal names mean equal hardware.
    clocked, resettable : bool
        Whether the module has the ports ``clk`` and ``rst``; one without registers has neither,
        and one whose registers all hold data needs no reset.
    """

    unit_name: str
    clocked: bool = True
    resettable: bool = True

    def __init__(self) -> None:
        super().__init__(members_of(type(self), self))

    def build(self, m: Module) -> None:
        """Add the hardware of the unit to ``m``; inner units are submodules as usual.

        Raises
        ------
        NotImplementedError
            The subclass does not define ``build``.
        """
        raise NotImplementedError

    def elaborate(self, platform: object) -> object:
        if isinstance(platform, Emitter):
            return platform.instantiate(self)
        return self.built()

    def built(self) -> Module:
        """Return the hardware of the unit."""
        m = Module()
        self.build(m)
        return m


U = TypeVar("U", bound=Unit)


def place(m: Module, name: str, unit: U) -> U:
    """Make ``unit`` a submodule, and name the wires at its ports after it."""
    m.submodules[name] = unit
    for path, _, signal in unit.signature.flatten(unit):
        Value.cast(signal).name = "_".join([name, *(str(part) for part in path)])
    return unit


def check_shape(unit: str, shape: object) -> Shape:
    """Return ``shape`` in Amaranth's form.

    Raises
    ------
    TypeError
        ``shape`` is not an Amaranth shape.
    """
    try:
        if not isinstance(shape, bool):  # a bool is an integer to Amaranth
            return Shape.cast(shape)
    except TypeError:
        pass
    raise TypeError(f"{unit} shape must be a shape of Amaranth, not {shape!r}")
