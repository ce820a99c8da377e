"""File kind: clusters."""

from clustermodel.api import ClusterFile, load_cluster

from .file_kind import FILES, FileKind, of_model

__all__: list[str] = []

FILES.add(
    "cluster",
    FileKind(
        summary="NPUs, memories and networks of a cluster: FILE of `fred cluster`.",
        schema=lambda: of_model("ClusterFile", ClusterFile),
        read=load_cluster,
    ),
    rank=5,
)
