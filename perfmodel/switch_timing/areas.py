"""Area records: synthesis of switches, routers and endpoints of one configuration."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from fred_hw.files import FileModel

from .measured_record import as_tuple
from .record import RECORDS
from .synthesized import Count, Size, SynthesizedRecord

__all__ = ["SHIPPED_AREAS", "AreaRecord", "UnitArea"]

SHIPPED_AREAS = RECORDS / "areas-int8x1.json"
"""Areas with one INT8 lane, the smallest configuration that all units support."""


class UnitArea(FileModel):
    """Synthesis result of a unit, without memories and wires.

    Parameters
    ----------
    unit : str
        ``switch of 12 ports`` and likewise, ``router`` or ``endpoint``.
    name : str
        Name of its top module.
    area_um2, clock_ns : float
        Area of its cells [um2], and its shortest clock period, register to register [ns].
    flip_flops, memory_bits : int
        Flip-flops in it, and bits of its memories.
    verilog_sha256 : str
        Canonical hash of the mapped Verilog.
    """

    unit: str
    name: str
    area_um2: Size
    clock_ns: Size
    flip_flops: Count
    memory_bits: Count
    verilog_sha256: str


class AreaRecord(SynthesizedRecord):
    """Areas of the units of both fabrics, for one configuration and one library.

    Parameters
    ----------
    schema : str
        ``fred-areas/1``; the field is called ``schema_name`` in Python.
    units : tuple of UnitArea
        Results by unit.
    """

    schema_name: Annotated[Literal["fred-areas/1"], Field(alias="schema")]
    units: Annotated[tuple[UnitArea, ...], BeforeValidator(as_tuple), Field(min_length=1)]

    def unit(self, name: str) -> UnitArea:
        """Return the synthesis result of a unit.

        Raises
        ------
        KeyError
            The record does not contain the unit.
        """
        for one in self.units:
            if one.unit == name:
                return one
        raise KeyError(name)

    def switch(self, ports: int) -> UnitArea:
        """Return the result of the smallest switch with at least a number of ports.

        Raises
        ------
        KeyError
            The record contains no switch of that size or larger.
        """
        found = {int(one.unit.split()[2]): one for one in self.units if "ports" in one.unit}
        enough = [one for one in found if one >= ports]
        if not enough:
            raise KeyError(f"switch of {ports} ports")
        return found[min(enough)]
