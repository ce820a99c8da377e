"""Names that options and completion show; importing them is fast."""

from .astra.transport import NETWORK_MODELS
from .chakra.loggops import PARAMETERS

__all__ = ["NETWORK_MODELS", "PARAMETERS"]
