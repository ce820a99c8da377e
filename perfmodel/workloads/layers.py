"""Networks as graphs of layers: operators, parameters and activations per sample."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

__all__ = ["COUNTED", "KINDS", "Kind", "Layer", "Network", "Operator"]

Kind = Literal["matmul", "attention", "convolution", "normalization", "elementwise", "embedding"]

KINDS: tuple[Kind, ...] = get_args(Kind)
"""Kinds of operators for which the roofline has an efficiency."""

COUNTED: tuple[Kind, ...] = ("matmul", "attention", "convolution")
"""Kinds whose operations published totals include."""


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator of a layer.

    Parameters
    ----------
    name : str
        Name for people to read.
    kind : str
        One of ``KINDS``.
    flops : float
        Operations of the forward pass of a sample; a multiply-add counts as two.
    parameters : int
        Trained numbers.
    moved_numbers : float
        Activations that a sample reads from and writes to memory; weights come on top.
    shared : bool
        Whether an expert group shares out its parameters: experts, or embedding tables.
    sparse : bool
        Whether it reads only the parameters that it looks up, which are in ``moved_numbers``.
    """

    name: str
    kind: Kind
    flops: float
    parameters: int
    moved_numbers: float
    shared: bool = False
    sparse: bool = False

    @property
    def read_parameters(self) -> int:
        """Parameters that are read from memory, independent of the number of samples."""
        return 0 if self.sparse else self.parameters


@dataclass(frozen=True)
class Layer:
    """A piece of a network before and after which a pipeline can be cut.

    Parameters
    ----------
    name : str
        Name for readers.
    operators : tuple of Operator
        Its operators, in order.
    output_numbers : int
        Activations of a sample that the next layer receives, including forwarded ones.
    stored_numbers : float
        Activations of a sample that the backward pass needs, if nothing is recomputed.
    mp_reductions : int
        All-reduces along model parallelism in each pass; 0 if a layer is never split.
    mp_reduced_numbers : int
        Numbers of a sample in each of these all-reduces.
    splits : bool
        Whether the NPUs of a model-parallel group can share it.
    all_to_alls : int
        All-to-alls of an expert group in each pass; 2 are one before the experts and one after
        them.
    all_to_all_numbers : int
        Numbers of a sample in each of these all-to-alls, including those that stay in place.
    pieces : int
        Experts that an expert group distributes as a whole; 0 if the layer may be cut anywhere.
    cp_numbers : int
        Keys and values of a sample that context parallelism gathers; 0 if no operator combines
        positions of a sequence.
    """

    name: str
    operators: tuple[Operator, ...]
    output_numbers: int
    stored_numbers: float
    mp_reductions: int = 0
    mp_reduced_numbers: int = 0
    splits: bool = False
    all_to_alls: int = 0
    all_to_all_numbers: int = 0
    pieces: int = 0
    cp_numbers: int = 0

    @cached_property
    def parameters(self) -> int:
        """Number of trainable parameters."""
        return sum(operator.parameters for operator in self.operators)

    @cached_property
    def shared_parameters(self) -> int:
        """Number of parameters that an expert group shards."""
        return sum(operator.parameters for operator in self.operators if operator.shared)

    @cached_property
    def moved_numbers(self) -> float:
        """Activations that a sample reads from and writes to memory, without weights."""
        return sum(operator.moved_numbers for operator in self.operators)

    @cached_property
    def forward_flops(self) -> float:
        """Operations of a sample in matrix products and convolutions, as in published totals."""
        return sum(operator.flops for operator in self.operators if operator.kind in COUNTED)


@dataclass(frozen=True)
class Network:
    """A sequence of layers in the order in which samples pass them.

    Parameters
    ----------
    layers : tuple of Layer
        Equal layers may be one object.
    input_bytes : int
        Bytes that storage sends for each sample [B].
    """

    layers: tuple[Layer, ...]
    input_bytes: int

    @cached_property
    def parameters(self) -> int:
        """Number of trainable parameters."""
        return sum(layer.parameters for layer in self.layers)

    @cached_property
    def forward_flops(self) -> float:
        """Operations of a sample's forward pass, as in published totals."""
        return sum(layer.forward_flops for layer in self.layers)

    @property
    def splits(self) -> bool:
        """Whether model parallelism can split any layer."""
        return any(layer.splits for layer in self.layers)

    @property
    def shares(self) -> bool:
        """Whether an expert group can shard any parameters."""
        return any(layer.all_to_alls for layer in self.layers)

    @property
    def has_sequence(self) -> bool:
        """Whether context parallelism can split the network."""
        return any(layer.cp_numbers for layer in self.layers)
