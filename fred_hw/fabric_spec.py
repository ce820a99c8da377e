"""Base of specifications of meshes and wafers: link endpoints."""

from abc import abstractmethod
from typing import Any, Self

from pydantic import model_validator

from .endpoint_spec import EndpointSpec
from .files import FileModel, refused
from .protocol import ProtocolSpec
from .spec import FormatName, Lanes, OperationName, OverflowName, SwitchSpec, check_link
from .virtual_channels import DEFAULT_CLASSES

__all__ = ["FabricSpec"]


class FabricSpec(FileModel):
    """Sizes of all link endpoints of a fabric; subclasses define the fabric itself.

    Parameters
    ----------
    format : str
        Number format of a lane, one of ``FORMATS``.
    operation : str
        Operation that reduces two operands, one of ``OPERATIONS``.
    overflow : str
        Result of integer sums beyond the range: saturate or wrap.
    lanes : int
        Numbers in a flit, 1 to 256.
    protocol : ProtocolSpec
        Link layer, buffers and phases of all units without a protocol of their own.
    endpoint : EndpointSpec
        Collective engine at each port of an NPU.

    Raises
    ------
    pydantic.ValidationError
        As for a switch.
    """

    format: FormatName = "fp16"
    operation: OperationName = "sum"
    overflow: OverflowName = "saturate"
    lanes: Lanes = 4
    protocol: ProtocolSpec = ProtocolSpec()
    endpoint: EndpointSpec = EndpointSpec()

    def model_post_init(self, context: Any, /) -> None:
        """Resolve automatic sizes, assuming acks from the unit with the most ports."""
        object.__setattr__(self, "protocol", self.protocol.for_ports(self._most_ports))

    @model_validator(mode="after")
    def _has_links(self) -> Self:
        check_link(self)
        classes = self.protocol.urgency_classes
        if classes < DEFAULT_CLASSES:
            raise refused(
                f"protocol.urgency_classes: must be {DEFAULT_CLASSES} or more for programs of MP, "
                f"PP and DP, not {classes}"
            )
        return self

    @property
    @abstractmethod
    def _most_ports(self) -> int:
        """Ports of the largest unit that sends acks; 0 if none does."""

    def _unit(self, ports: int, **others: object) -> SwitchSpec:
        """Return the sizes of a unit with a number of ports."""
        said: dict[str, Any] = {name: getattr(self, name) for name in FabricSpec.model_fields}
        return SwitchSpec(**{**said, "ports": ports, **others})
