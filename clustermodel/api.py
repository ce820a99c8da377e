"""All that other packages and users may import from here: clusters in closed form."""

from .file import ClusterFile, load_cluster
from .footprint import Training, footprint
from .hardware import Cluster, Npu
from .iteration_time import times
from .model import Transformer, load_transformer, transformer_names
from .network import Level
from .sweep import Point, best, design_space, sweep
from .tiers import MemoryTier

__all__ = [
    "Cluster",
    "ClusterFile",
    "Level",
    "MemoryTier",
    "Npu",
    "Point",
    "Training",
    "Transformer",
    "best",
    "design_space",
    "footprint",
    "load_cluster",
    "load_transformer",
    "sweep",
    "times",
    "transformer_names",
]
