"""The minimum: minimumNumber of IEEE 754-2019."""

from .extremum import Extremum
from .operation import OPERATIONS

__all__: list[str] = []

OPERATIONS.add("min", Extremum("min"), rank=3)
