"""Transformers as matrix products and stored bytes of an NPU of a cluster."""

from collections.abc import Iterator
from dataclasses import dataclass

from fred_hw.errors import InputError
from perfmodel.constants import NUMBER_BYTES
from perfmodel.workloads.transformer import TransformerFile
from perfmodel.workloads.workload import WORKLOADS, load_file

__all__ = ["Product", "Transformer", "load_transformer", "transformer_names"]

WHOLE_BYTES = 10
"""Bytes per token and hidden unit that a layer stores and that only sequence parallelism divides:
inputs of norms and of products, and masks (Korthikanti et al., arXiv 2205.05198, equations 2 and
4)."""

SCORE_BYTES = 5
"""Bytes per attention score: softmax and dropout outputs, and a one-byte mask (ibid., section
4.1)."""


@dataclass(frozen=True, slots=True)
class Product:
    """A number of equal matrix products of M x K by K x N on each NPU."""

    m: float
    k: float
    n: float
    count: float = 1.0


@dataclass(frozen=True, slots=True)
class Transformer:
    """Sizes of a decoder-only transformer.

    Parameters
    ----------
    layers, hidden, sequence, heads, vocabulary : int
        L, h, s, a and V.
    feed_forward : int
        Width of the feed-forward, f.
    keys : int
        Numbers of a token's keys, and of its values: h, and fewer with grouped queries.
    gated : bool
        Whether a second product gates the activation.
    parameters : int
        Trained numbers.
    experts : int
        Feed-forwards of a layer beside each other, 1 without experts.
    experts_per_token : int
        Experts to which each token is sent.
    expert_parameters : int
        Trained numbers of all experts, which EP shares out.
    """

    layers: int
    hidden: int
    sequence: int
    heads: int
    vocabulary: int
    feed_forward: int
    keys: int
    gated: bool
    parameters: int
    experts: int = 1
    experts_per_token: int = 1
    expert_parameters: int = 0

    @property
    def inner(self) -> int:
        """Columns of the first matrix product of the feed-forward block."""
        return 2 * self.feed_forward if self.gated else self.feed_forward

    def products(self, samples: float, mp: int, ep: int = 1) -> Iterator[Product]:
        """Yield the forward products of a layer that have weights (Megatron-LM, arXiv 1909.08053).

        With experts, tokens are spread evenly: of the ``ep`` NPUs that share E experts, each
        computes E/EP of them, each for as many tokens as come from all of these NPUs.
        """
        tokens, h = samples * self.sequence, self.hidden
        yield Product(tokens, h, (h + 2 * self.keys) / mp)
        yield Product(tokens, h / mp, h)
        own = 1.0
        if self.experts > 1:
            yield Product(tokens, h, self.experts / mp)  # router
            own = self.experts / ep
            tokens *= self.experts_per_token / own
        yield Product(tokens, h, self.inner / mp, own)
        yield Product(tokens, self.feed_forward / mp, h, own)

    def attention(self, samples: float, mp: int) -> Iterator[Product]:
        """Yield the attention products per head: scores, and values weighted by the scores."""
        s, width, heads = self.sequence, self.hidden / self.heads, samples * self.heads / mp
        yield Product(s, width, s, heads)
        yield Product(s, s, width, heads)

    def logits(self, samples: float, mp: int) -> Product:
        """Return the matrix product of the logits, split by vocabulary."""
        return Product(samples * self.sequence, self.hidden, self.vocabulary / mp)

    def stored_bytes(self, samples: float, mp: int, *, scores: bool, sequence: bool) -> float:
        """Return the bytes that a layer stores on each NPU for its backward pass [B].

        Parameters
        ----------
        samples : float
            Samples of a microbatch.
        mp : int
            NPUs that share the layer.
        scores : bool
            Whether scores are stored, or recomputed.
        sequence : bool
            Whether MP also divides the activations between the products (sequence parallelism).
        """
        h, k, f = self.hidden, self.keys, self.feed_forward
        # Of the 24 bytes, 8 are for queries, keys, values and the output of attention, and 16 for
        # the feed-forward; see `perfmodel.workloads.transformer`.
        chosen = self.experts_per_token
        divided = 4 + 4 * k / h + chosen * (6 if self.gated else 4) * f / h
        # Each further expert of a token stores its input.
        whole = (WHOLE_BYTES + NUMBER_BYTES * (chosen - 1)) / (mp if sequence else 1)
        shown = SCORE_BYTES * self.heads * self.sequence / h / mp if scores else 0.0
        return samples * self.sequence * h * (whole + divided / mp + shown)

    def input_bytes(self, samples: float) -> float:
        """Return the size of a layer's input for a number of samples [B]."""
        return NUMBER_BYTES * samples * self.sequence * self.hidden

    def exchanged_bytes(self, samples: float, mp: int) -> float:
        """Return the bytes that an NPU sends in an expert all-to-all [B]; MP splits the tokens."""
        return self.experts_per_token * self.input_bytes(samples) / mp

    def moved_bytes(self, samples: float, mp: int, *, sequence: bool) -> float:
        """Return the bytes moved between the products of a layer, forward, without scores [B].

        Two norms read and write, two dropouts with residual sums read two numbers and write one and
        a mask of a byte, and the activation reads its input and writes its output.
        """
        tokens, h = samples * self.sequence, self.hidden
        between = 2 * (2 * NUMBER_BYTES) + 2 * (3 * NUMBER_BYTES + 1)
        activation = NUMBER_BYTES * (self.inner + self.feed_forward) / mp * self.experts_per_token
        return tokens * (between * h / (mp if sequence else 1) + activation)

    def score_bytes(self, samples: float, mp: int) -> float:
        """Return the bytes that softmax and dropout of scores move in a forward pass [B].

        Each reads and writes all scores, the dropout a mask of a byte, too.
        """
        return (4 * NUMBER_BYTES + 1) * samples * self.heads * self.sequence**2 / mp


def transformer_names() -> list[str]:
    """Return the names of built-in workloads that :func:`load_transformer` accepts."""
    return [name for name in WORKLOADS if isinstance(load_file(name)[0], TransformerFile)]


def load_transformer(name_or_path: str) -> Transformer:
    """Return the sizes in a workload file of kind ``transformer``.

    Raises
    ------
    InputError
        There is no such workload, or it is of another kind or invalid.
    """
    file, source = load_file(name_or_path)
    if not isinstance(file, TransformerFile):
        raise InputError(source, "kind", f"must be transformer for a cluster, not {file.kind!r}")
    network = file.network(source)
    return Transformer(
        layers=file.layers,
        hidden=file.hidden,
        sequence=file.sequence,
        heads=file.heads,
        vocabulary=file.vocabulary,
        feed_forward=file.feed_forward or 4 * file.hidden,
        keys=file.hidden * (file.key_value_heads or file.heads) // file.heads,
        gated=file.gated,
        parameters=network.parameters,
        experts=file.experts or 1,
        experts_per_token=file.experts_per_token,
        expert_parameters=sum(
            one.parameters for layer in network.layers for one in layer.operators if one.shared
        ),
    )
