"""The maximum: maximumNumber of IEEE 754-2019."""

from .extremum import Extremum
from .operation import OPERATIONS

__all__: list[str] = []

OPERATIONS.add("max", Extremum("max"), rank=2)
