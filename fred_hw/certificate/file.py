"""File of a routing certificate."""

from typing import Annotated

from pydantic import Field

from fred_hw.file_kinds import CERTIFICATE
from fred_hw.files import EachOnce, FileModel, int_range, one_of, text_like

__all__ = [
    "CERTIFICATE_SCHEMA",
    "Certificate",
    "CertifiedFlow",
    "CertifiedSet",
    "CertifiedUnit",
    "Refutation",
]

CERTIFICATE_SCHEMA = "fred-certificate/1"


_End = Annotated[int, int_range(0, 4095)]
_Place = Annotated[str, text_like(r"[a-z][a-z0-9_]*\.[0-9]{1,2}", "unit.port, like l1_0.3")]
_Word = Annotated[str, text_like("0x[0-9a-f]{1,80000}", "a hexadecimal number, like 0x1f")]
_Size = "[1-9][0-9]{0,3}"
_Strategy = Annotated[str, text_like(f"MP{_Size}-DP{_Size}-PP{_Size}", "of the form MP2-DP5-PP2")]
_Literal = Annotated[int, int_range(-(1 << 31), (1 << 31) - 1)]


class CertifiedFlow(FileModel):
    """A flow between endpoints.

    Parameters
    ----------
    inputs, outputs : list of int
        Endpoints whose data is reduced, and endpoints that get the result.
    """

    inputs: Annotated[list[_End], EachOnce()]
    outputs: Annotated[list[_End], EachOnce()]


class CertifiedUnit(FileModel):
    """An interconnect FRED_m(P) of the fabric.

    Parameters
    ----------
    ports : int
        Ports P.
    middle_switches : int
        Middle subswitches m.
    """

    ports: Annotated[int, int_range(2, 64)]
    middle_switches: Annotated[int, int_range(2, 8)]


class CertifiedSet(FileModel):
    """Configurations of units that are active together.

    Parameters
    ----------
    phase : str or null
        Phase that the flows belong to; null for round tokens.
    flows : list of CertifiedFlow
        Flows that are active together.
    words : mapping
        Configuration word of each unit that takes part, in hexadecimal digits.
    """

    phase: str | None
    flows: list[CertifiedFlow]
    words: dict[str, _Word]


class Refutation(FileModel):
    """A proof that flows of a phase cannot be active together on a single switch.

    Parameters
    ----------
    flows : list of CertifiedFlow
        These flows.
    clique : list of int
        Flows, by index, of which each two share a micro-switch of the outermost level.
    proof : list of list of int
        Clauses in the literals of ``fred_hw.certificate.refutation.formula``. Each follows from the
        formula and the earlier ones by unit propagation, and so does the empty clause at the end.
    """

    flows: list[CertifiedFlow]
    clique: list[Annotated[int, int_range(0, 4095)]]
    proof: list[list[_Literal]]


class Certificate(FileModel):
    """Routed configurations of a fabric, with all that a checker needs.

    Parameters
    ----------
    schema_name : str
        ``fred-certificate/1``; the key is ``schema``.
    name : str
        Name of the specification.
    strategy : str or null
        Strategy whose phases are routed; null for flows from a file.
    units : mapping
        Interconnects by name.
    links : list of (str, str)
        Ports that are joined by a link in both directions, as ``unit.port``.
    endpoints : list of str
        Port of each endpoint, as ``unit.port``.
    phases : mapping
        Flows of each phase.
    sets : mapping
        Configurations, by name of the entry.
    refutations : mapping
        Proofs for phases that cannot be routed, by phase.
    """

    file_kind = CERTIFICATE

    schema_name: Annotated[str, one_of(CERTIFICATE_SCHEMA)] = Field(alias="schema")
    name: str
    strategy: _Strategy | None
    units: dict[str, CertifiedUnit]
    links: list[Annotated[list[_Place], Field(min_length=2, max_length=2)]]
    endpoints: list[_Place]
    phases: dict[str, list[CertifiedFlow]]
    sets: dict[str, CertifiedSet]
    refutations: dict[str, Refutation]
