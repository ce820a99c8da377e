"""File kind: energy of units of work."""

from perfmodel.training.energy import EnergyTable, load_energy

from .file_kind import FILES, FileKind, of_model

__all__: list[str] = []

FILES.add(
    "energy",
    FileKind(
        summary="Energy of operations, memory and links: --energy FILE of `fred estimate`.",
        schema=lambda: of_model("EnergyTable", EnergyTable),
        read=load_energy,
    ),
    rank=6,
)
