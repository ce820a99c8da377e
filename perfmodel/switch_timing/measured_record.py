"""Common fields of co-simulation records: subject, tools and inputs of the measurement."""

from typing import Annotated, ClassVar, Generic, TypeVar

from pydantic import BeforeValidator, Field, model_validator

from fred_hw.files import FileModel
from fred_hw.mesh.spec import MeshSpec
from fred_hw.spec import SwitchSpec
from fred_hw.wafer.spec import WaferSpec

__all__ = ["Clock", "Measured", "MeasuredRecord", "Simulator", "Source", "as_tuple"]

Schema = TypeVar("Schema", bound=str)
Spec = TypeVar("Spec", SwitchSpec, MeshSpec, WaferSpec)


def as_tuple(value: object) -> object:
    """Return a list as a tuple, as JSON and YAML have no tuples and strict fields reject lists."""
    return tuple(value) if isinstance(value, list) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


class Simulator(FileModel):
    """A simulator used in the measurement."""

    name: str
    version: str


class Source(FileModel):
    """Revision of the generator and canonical hashes of the Verilog simulated.

    Parameters
    ----------
    git_commit : str or None
        Revision of the generator.
    verilog_sha256, switch_verilog_sha256 : str
        Hashes of ``gen.canonical``; of a switch the first is that of its interconnect alone.
    """

    git_commit: str | None
    verilog_sha256: str
    switch_verilog_sha256: str | None = None


class Clock(FileModel):
    """Clock frequency [Hz] and where it comes from."""

    hz: Annotated[float, Field(ge=1, le=1e15)]
    source: str


class Measured(FileModel, Generic[Schema]):
    """Base of all records of co-simulation measurements.

    Parameters
    ----------
    schema : str
        Format with its version; the field is called ``schema_name`` in Python.
    name : str
        Name of the hardware.
    simulators, seed, source : tuple of Simulator, int, Source
        Simulators, random seed, and measured Verilog.
    date, minutes : str, float
        Day of the measurement, and its processor time [min]; None if unknown.
    """

    schema_name: Annotated[Schema, Field(alias="schema")]
    name: str
    simulators: Annotated[tuple[Simulator, ...], BeforeValidator(as_tuple), Field(min_length=1)]
    seed: int
    source: Source
    date: str | None = None
    minutes: Annotated[float, Field(ge=0)] | None = None

    @property
    def measured_by(self) -> str:
        """Tools and inputs of the measurement as text."""
        names = ", ".join(f"{one.name} {one.version}" for one in self.simulators)
        source = self.source.git_commit or f"Verilog {self.source.verilog_sha256[:12]}"
        return f"{names}; seed {self.seed}; {source}"


class MeasuredRecord(Measured[Schema], Generic[Schema, Spec]):
    """Base of records of hardware with a named specification.

    Parameters
    ----------
    spec, measured_spec : Spec
        Represented specification, and simulated one, which is smaller as given in ``SMALLER``:
        lanes are parallel and equal, so timing in cycles does not depend on them.
    flits_checked : int
        Flits compared with the golden model while measuring.
    """

    SMALLER: ClassVar[dict[str, tuple[str, ...]]] = {"lanes": ("lanes",)}
    """Specification keys in which the two may differ, by the word for each set of keys."""

    spec: Spec
    measured_spec: Spec
    flits_checked: Annotated[int, Field(ge=1)]

    @model_validator(mode="after")
    def _check_specs(self) -> "MeasuredRecord[Schema, Spec]":
        spec = self.spec
        if self.name != spec.name:
            raise ValueError(f"name must be {spec.name}, the name of spec, not {self.name}")
        own = {key: getattr(spec, key) for keys in self.SMALLER.values() for key in keys}
        if self.measured_spec.with_changes(**own) != spec:
            words = " and ".join(self.SMALLER)
            raise ValueError(f"measured_spec must differ from spec in {words} only")
        return self
