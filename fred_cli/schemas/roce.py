"""File kind: parameters of RoCE."""

from perfmodel.network.roce.files import load_parameters
from perfmodel.network.roce.parameters import RoceFile

from .file_kind import FILES, FileKind, of_model

__all__: list[str] = []

FILES.add(
    "roce",
    FileKind(
        summary="Parameters of network model roce: `--roce` of `fred collective` and others.",
        schema=lambda: of_model("RoceFile", RoceFile),
        read=load_parameters,
    ),
    rank=7,
)
