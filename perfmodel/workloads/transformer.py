"""Decoder-only transformers, layer by layer."""

from typing import Annotated

from fred_hw.errors import InputError
from fred_hw.files import int_range, one_of

from .file import KINDS, Count, WorkloadFile
from .layers import Layer, Network, Operator

__all__ = ["TransformerFile", "transformer"]

TOKEN_BYTES = 4


def transformer(
    layers: int,
    hidden: int,
    heads: int,
    sequence: int,
    vocabulary: int,
    *,
    key_value_heads: int | None = None,
    feed_forward: int | None = None,
    gated: bool = False,
    tied: bool = True,
) -> Network:
    """Return a GPT-like transformer, with what newer models changed of it.

    With a feed-forward width f of 4 h, as many heads for keys and values as for queries, and tied
    embeddings, parameters and operations add up to those of Narayanan et al., arXiv 2104.04473,
    section 2.4 and appendix: 12 l h^2 (1 + 13/(12 h)) + V h + s h parameters, and in the forward
    pass of a sample 24 l s h^2 (1 + s/(6 h)) + 2 s h V operations of matrix products. Model
    parallelism splits each layer by heads and by columns and rows of its matrices, with two
    all-reduces of s h activations per pass (Megatron-LM, Shoeybi et al., arXiv 1909.08053, section
    3). Stored activations are s h (34 + 5 a s/h) bytes per layer then, nothing recomputed
    (Korthikanti et al., arXiv 2205.05198, equation 2). The embedding is split by words, with one
    all-reduce; the logits share its weights, and their loss is reduced by tokens. Samples come as
    tokens of four bytes.

    Parameters
    ----------
    layers : int
        Transformer layers l.
    hidden : int
        Hidden size h.
    heads : int
        Attention heads a.
    sequence : int
        Tokens in a sample s.
    vocabulary : int
        Tokens known V.
    key_value_heads : int or None
        Heads g for keys and values, which divide the heads; as many if None. See `_attention`.
    feed_forward : int or None
        Width f of the feed-forward; 4 h if None.
    gated : bool
        Whether a second product gates the activation. See `_feed_forward`.
    tied : bool
        Whether the logits share the weights of the embedding, or have V h of their own.
    """
    s, h = sequence, hidden
    words = Operator("words", "embedding", s * h, vocabulary * h, 2 * s * h)
    positions = Operator("positions", "elementwise", s * h, s * h, 3 * s * h)
    # Reduced once forward. Its backward pass needs nothing, but is taken alike: it stands for the
    # gradient of what the logits read, which Megatron-LM reduces at the head and the head here
    # does not.
    embedding = Layer("embedding", (words, positions), s * h, s * h, 1, s * h, True)
    keys = h * (key_value_heads or heads) // heads
    width = feed_forward or 4 * h
    stored = _stored(h, keys, heads, width, s, gated)
    operators = (*_attention(h, keys, s), *_feed_forward(h, width, s, gated))
    block = Layer("layer", operators, s * h, stored, 2, s * h, True)
    head = _head(h, s, vocabulary, tied)
    return Network((embedding, *[block] * layers, head), input_bytes=TOKEN_BYTES * sequence)


def _attention(h: int, k: int, s: int) -> tuple[Operator, ...]:
    """Return attention with keys and values of k numbers per token.

    Grouped-query attention (Ainslie et al., arXiv 2305.13245) has g heads for keys and values,
    each for a/g heads of queries: their matrices have k = h g/a columns instead of h, so a layer
    has 2 h (h - k) weights and 4 s h (h - k) operations less, and attention reads and stores 2 s k
    keys and values instead of 2 s h; its products stay, 4 s^2 h, as each query meets all keys.
    """
    both = h + 2 * k
    return (
        Operator("attention norm", "normalization", 5 * s * h, 2 * h, 2 * s * h),
        Operator("query, key, value", "matmul", 2 * s * h * both, both * h + both, s * (h + both)),
        # Fused: scores stay on the chip (FlashAttention, Dao et al., arXiv 2205.14135).
        Operator("attention", "attention", 4 * s**2 * h, 0, s * (both + h)),
        Operator("attention output", "matmul", 2 * s * h**2, h**2 + h, 2 * s * h),
        Operator("attention residual", "elementwise", 2 * s * h, 0, 3 * s * h),
    )


def _feed_forward(h: int, f: int, s: int, gated: bool) -> tuple[Operator, ...]:
    """Return a feed-forward of width f; a gate is a product more for each activation.

    A gated feed-forward (GLU variants, Shazeer, arXiv 2002.05202, equation 6) has a second matrix
    of h x f, whose product multiplies the activation: 3 matrices of h f weights and 2 s h f
    operations each instead of 2, and 2 f numbers to be activated instead of f. Biases stay as in
    GPT, one number per column.
    """
    inner = 2 * f if gated else f
    name, flops = ("gated activation", 9 * s * f) if gated else ("GELU", 8 * s * f)
    return (
        Operator("feed-forward norm", "normalization", 5 * s * h, 2 * h, 2 * s * h),
        Operator(
            "feed-forward in", "matmul", 2 * s * h * inner, h * inner + inner, s * (h + inner)
        ),
        Operator(name, "elementwise", flops, 0, s * (inner + f)),
        Operator("feed-forward out", "matmul", 2 * s * h * f, h * f + h, s * (f + h)),
        Operator("feed-forward residual", "elementwise", 2 * s * h, 0, 3 * s * h),
    )


def _head(h: int, s: int, vocabulary: int, tied: bool) -> Layer:
    """Return the logits, with weights of their own unless they are tied to the embedding."""
    norm = Operator("final norm", "normalization", 5 * s * h, 0, 2 * s * h)
    weights = 0 if tied else vocabulary * h
    logits = Operator("logits", "matmul", 2 * s * h * vocabulary, weights, s * h + s * vocabulary)
    return Layer("head", (norm, logits), s * vocabulary, 2 * s * h + s * vocabulary, 1, s, True)


def _stored(h: int, k: int, a: int, f: int, s: int, gated: bool) -> float:
    """Return the activations that the backward pass of a layer needs, in numbers of two bytes.

    Of the 34 s h stored bytes, 4 are of two norms; 11 are s (7 h + 4 k) of attention, where keys
    and values are k wide; and 19 are s (3 h + 4 f) of the feed-forward (section 4.1 of
    arXiv 2205.05198). Gated, both products are kept to activate them again: s (3 h + 6 f).
    """
    wide = (6 if gated else 4) * f / h
    return s * h * (14 + 4 * k / h + wide + 5 * a * s / h) / 2


class TransformerFile(WorkloadFile):
    """``kind: transformer``: a decoder-only transformer.

    Parameters
    ----------
    layers : int
        Transformer layers.
    hidden : int
        Hidden size.
    heads : int
        Attention heads; divides ``hidden``.
    sequence : int
        Tokens in a sample.
    vocabulary : int
        Tokens known.
    key_value_heads : int
        Heads for keys and values, fewer than ``heads`` with grouped queries; divides ``heads``. As
        many as ``heads`` if it is not given.
    feed_forward : int
        Width of the feed-forward; four times ``hidden`` if it is not given.
    gated : bool
        Whether a second product gates the activation, as in SwiGLU.
    tied : bool
        Whether the logits share the weights of the embedding.
    """

    kind: Annotated[str, one_of("transformer")]
    layers: Annotated[int, int_range(1, 10_000)]
    hidden: Count
    heads: Count
    sequence: Count
    vocabulary: Count
    key_value_heads: Count | None = None
    feed_forward: Count | None = None
    gated: bool = False
    tied: bool = True

    def network(self, source: str) -> Network:
        if self.hidden % self.heads:
            message = f"must divide hidden, not {self.heads} divide {self.hidden}"
            raise InputError(source, "heads", message)
        if self.key_value_heads and self.heads % self.key_value_heads:
            message = f"must divide heads, not {self.key_value_heads} divide {self.heads}"
            raise InputError(source, "key_value_heads", message)
        return transformer(
            self.layers,
            self.hidden,
            self.heads,
            self.sequence,
            self.vocabulary,
            key_value_heads=self.key_value_heads,
            feed_forward=self.feed_forward,
            gated=self.gated,
            tied=self.tied,
        )


KINDS.add("transformer", TransformerFile)
