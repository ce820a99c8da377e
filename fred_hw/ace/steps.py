"""Register accesses of software: initialization and queued descriptors."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fred_hw.spec import SwitchSpec
from fred_hw.virtual_channels import class_number

from .endpoint_map import endpoint_map
from .operations import Buffer, Descriptor

__all__ = ["EndpointProgram", "Step", "buffers_of", "circuit_of"]

_CIRCUITS = {"mp": "mp", "sp": "mp", "pp": "pp"}
_CIRCUITS |= dict.fromkeys(("dp", "cp", "ep", "load", "store", "input", "expert"), "dp")
"""Circuit of a phase, by how its name begins."""

_UP, _PREPARING, _FULL = 1, 2, 12  # of STATUS: bits, and where those of circuits begin


def circuit_of(phase: str) -> str:
    """Return the virtual channel of a strategy's phase, by the phase's name."""
    return _CIRCUITS[phase.split("_")[0]]


@dataclass(frozen=True)
class Step:
    """A write to an AXI4-Lite register, or repeated reads until bits have given values.

    Parameters
    ----------
    address : int
        Address of a word [bytes].
    value : int
        Value to write, or to wait for.
    mask : int
        Bits to wait for; 0 for a write.
    """

    address: int
    value: int
    mask: int = 0

    def to_dict(self) -> dict[str, int]:
        """Return the step as JSON values."""
        if self.mask:
            return {"until": self.address, "mask": self.mask, "value": self.value}
        return {"write": self.address, "value": self.value}


def buffers_of(number: int, size: int) -> tuple[Buffer, Buffer]:
    """Return the send and receive buffers of an endpoint in the phase with a number."""
    first = 2 * number * size
    return Buffer(first, size), Buffer(first + size, size)


class EndpointProgram(ABC):
    """Software steps for a fabric of collective endpoints; NPU n has address n.

    Endpoints of I/O controllers, if there are any, have the addresses behind those of NPUs.

    ``size`` is that of each buffer [bytes]; each of ``phases`` has a name and a number.
    """

    size: int
    phases: Any

    @property
    @abstractmethod
    def link(self) -> SwitchSpec:
        """Specification of the link endpoints."""

    @property
    @abstractmethod
    def npus(self) -> int:
        """Number of NPUs, each of which has an endpoint."""

    @property
    def endpoints(self) -> int:
        """Number of endpoints of NPUs and of I/O controllers."""
        return self.npus

    @property
    def numbers(self) -> int:
        """Number of phase numbers, from 0; each has two buffers."""
        return max((one.number + 1 for one in self.phases), default=0)

    def phase(self, name: str) -> Any:
        """Return the phase with a given name."""
        return next(one for one in self.phases if one.name == name)

    @abstractmethod
    def alone(self, name: str) -> "EndpointProgram":
        """Return a program of one phase."""

    def buffers(self, phase: Any) -> tuple[Buffer, Buffer]:
        """Return the send and receive buffers of an NPU in a phase."""
        return buffers_of(phase.number, self.size)

    @abstractmethod
    def descriptors(self, npu: int, phase: Any) -> Sequence[Descriptor]:
        """Return the descriptors of an endpoint's part of a phase; empty if it takes no part."""

    @abstractmethod
    def unit_steps(self) -> Sequence[Sequence[Step]]:
        """Return the register writes of each other unit that has registers."""

    def begin_steps(self, npu: int) -> list[Step]:
        """Return the initial register writes of an endpoint."""
        registers = endpoint_map(self.link)
        status = registers.register("STATUS").address
        return [Step(registers.register("ADDRESS").address, npu), Step(status, _UP, _UP)]

    def descriptor_steps(self, descriptor: Descriptor) -> list[Step]:
        """Return the steps that queue a descriptor once the queue has space."""
        registers = endpoint_map(self.link)
        status = registers.register("STATUS").address
        full = 1 << _FULL + class_number(descriptor.circuit)
        steps = [Step(status, 0, full | _PREPARING)]
        for register, word, value in descriptor.writes(self.link.data_width // 8):
            steps.append(Step(registers.register(register).address + 4 * word, value))
        return [*steps, Step(status, 0, _PREPARING)]

    def completed(self, circuit: str) -> int:
        """Return the address of COMPLETED for a virtual channel."""
        registers = endpoint_map(self.link)
        return registers.register("COMPLETED").address + 4 * class_number(circuit)
