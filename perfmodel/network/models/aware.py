"""Network model ``aware``: ASTRA-sim's analytical model with congestion."""

from perfmodel.network.analytical.messages import Aware
from perfmodel.network.model import NETWORK_MODELS, NetworkModel

__all__: list[str] = []

NETWORK_MODELS.add(
    "aware",
    NetworkModel(
        "links that carry one message at a time, stored and forwarded, as in ASTRA-sim",
        Aware,
        chunk_bytes=lambda _, size_bytes: size_bytes,
        lockstep=False,
        in_network=False,
        instead="which simulates all messages of traces together (fred estimate --network)",
    ),
    rank=3,
)
