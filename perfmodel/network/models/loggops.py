"""Network model ``loggops``: schedules without a topology; see ``chakra.loggops``."""

from typing import NoReturn

from perfmodel.collectives.schedule import Schedule
from perfmodel.network.model import NETWORK_MODELS, CannotTimeError, Conditions, NetworkModel
from perfmodel.topology.graph import Topology

__all__: list[str] = []


def _refuse(_topology: Topology, _schedule: Schedule, _conditions: Conditions) -> NoReturn:
    *names, last = (name for name, one in NETWORK_MODELS.items() if one.prepare is not _refuse)
    able = f"{', '.join(names)} or {last}"
    message = f"must be {able} for a topology, not loggops, which takes GOAL schedules and traces"
    raise CannotTimeError("network_model", "", message)


NETWORK_MODELS.add(
    "loggops",
    NetworkModel(
        "LogGOPS parameters, for GOAL schedules and traces",
        _refuse,
        chunk_bytes=lambda _, size_bytes: size_bytes,
        in_network=False,
        instead="which takes GOAL schedules and traces (fred estimate)",
    ),
    rank=4,
)
