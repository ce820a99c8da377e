"""File kind: endpoints."""

from perfmodel.endpoint.file import EndpointFile, load_endpoint

from .file_kind import FILES, FileKind, of_model

__all__: list[str] = []

FILES.add(
    "endpoint",
    FileKind(
        summary="What communication may take of an NPU: `--endpoint core-driven:FILE`, or `ace`.",
        schema=lambda: of_model("EndpointFile", EndpointFile),
        read=load_endpoint,
    ),
    rank=6.5,
)
