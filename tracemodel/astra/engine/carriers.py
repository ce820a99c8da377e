"""Selection of the transport for messages and collectives by network model."""

from perfmodel.clock import Clock
from tracemodel.astra.fluid.network import as_fluid
from tracemodel.astra.network import Network
from tracemodel.astra.transport import Aware

from .carrying import Alone, ByMessage, Carrying, Fluid
from .setup import Setup

__all__ = ["carrying"]


def carrying(
    model: str, setup: Setup, clock: Clock[int], several: bool, *, symmetry: bool
) -> Carrying:
    """Return the transport class of a network model.

    Parameters
    ----------
    model : str
        Network model, one of ``transport.NETWORK_MODELS``, or ``roce``.
    setup : Setup
        Built-in fabrics work with ``fluid`` and ``roce`` only.
    clock : Clock
        Queue of events.
    several : bool
        Whether there are several jobs.
    symmetry : bool
        Whether identical work of NPUs is simulated once.
    """
    network = setup.network
    if model == "roce":
        from .ethernet import Ethernet  # imports numpy and compiles with numba

        return Ethernet(setup, clock)
    if model == "fluid":
        return Fluid(setup, as_fluid(network), clock, several, symmetry)
    assert isinstance(network, Network)
    if model == "unaware":
        return Alone(setup, network, clock)
    return ByMessage(setup, Aware(network, clock))
