"""Network model ``unaware``: ASTRA-sim's analytical model without congestion."""

from perfmodel.network.analytical.messages import Unaware
from perfmodel.network.model import NETWORK_MODELS, NetworkModel

__all__: list[str] = []

NETWORK_MODELS.add(
    "unaware",
    NetworkModel(
        "each message as if it were alone, as in ASTRA-sim",
        Unaware,
        chunk_bytes=lambda _, size_bytes: size_bytes,
        lockstep=False,
        in_network=False,
        instead="which simulates all messages of traces together (fred estimate --network)",
        never_faster_than_links=False,
    ),
    rank=2,
)
