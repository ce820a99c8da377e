"""Units of the link take a specification and sizes that they can be made for, and no other."""

from collections.abc import Callable

import pytest

from fred_hw.endpoint.endpoint import Endpoint
from fred_hw.endpoint.flow_receiver import FlowReceiver
from fred_hw.endpoint.flow_sender import FlowSender
from fred_hw.endpoint.ledger import Ledger
from fred_hw.endpoint.transmitter import Transmitter
from fred_hw.link.circuit_credits import CircuitCredits
from fred_hw.link.deframer import Deframer
from fred_hw.link.flit_check import FlitCheck
from fred_hw.link.framer import Framer
from fred_hw.link.sender import Sender
from fred_hw.spec import SwitchSpec
from fred_hw.switch.ports.circuit_queue import CircuitQueue
from fred_hw.switch.ports.input_port import InputPort
from fred_hw.switch.ports.output_port import OutputPort
from fred_hw.unit import Unit
from tests.fred_hw.specs import LINK

UNITS: dict[str, Callable[[SwitchSpec], Unit]] = {
    "CircuitCredits": lambda spec: CircuitCredits(spec=spec),
    "CircuitQueue": lambda spec: CircuitQueue(spec=spec),
    "Deframer": lambda spec: Deframer(spec=spec),
    "Endpoint": lambda spec: Endpoint(spec=spec),
    "FlitCheck": lambda spec: FlitCheck(spec=spec),
    "FlowReceiver": lambda spec: FlowReceiver(spec=spec),
    "FlowSender": lambda spec: FlowSender(spec=spec),
    "Framer": lambda spec: Framer(spec=spec),
    "InputPort": lambda spec: InputPort(spec=spec),
    "Ledger": lambda spec: Ledger(spec=spec),
    "OutputPort": lambda spec: OutputPort(spec=spec, latency=1),
    "Sender": lambda spec: Sender(spec=spec, depth=8),
    "Transmitter": lambda spec: Transmitter(spec=spec),
}


@pytest.mark.parametrize("name", UNITS)
def test_what_is_no_specification_is_refused(name: str) -> None:
    nothing: SwitchSpec = 3  # pyright: ignore[reportAssignmentType]
    with pytest.raises(TypeError, match=rf"^{name} spec must be a SwitchSpec, not 3$"):
        UNITS[name](nothing)


@pytest.mark.parametrize("depth", [1, 0])
def test_a_queue_that_cannot_be_is_refused(depth: int) -> None:
    with pytest.raises(ValueError, match=rf"^Sender depth must be 2 or more, not {depth}$"):
        Sender(spec=LINK, depth=depth)


def test_an_interconnect_without_latency_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^OutputPort latency must be 1 or more, not 0$"):
        OutputPort(spec=LINK, latency=0)
