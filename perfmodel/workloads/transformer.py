"""Decoder-only transformers, layer by layer."""

from dataclasses import dataclass
from typing import Annotated

from fred_hw.errors import InputError
from fred_hw.files import int_range, one_of

from .file import KINDS, Count, WorkloadFile
from .layers import Layer, Network, Operator

__all__ = ["Form", "TransformerFile", "transformer"]

TOKEN_BYTES = 4


@dataclass(frozen=True, slots=True)
class Form:
    """Options of newer transformers; the defaults are those of GPT.

    Parameters
    ----------
    biases : bool
        Whether products have a bias for each column.
    rms_norm : bool
        Whether norms have h parameters and no bias (Zhang and Sennrich, arXiv 1910.07467), also the
        last one, which the formula of GPT leaves out, instead of 2 h.
    learned_positions : bool
        Whether each position has h parameters, or queries and keys are turned (RoPE, Su et al.,
        arXiv 2104.09864), which the product before them does on its way.
    experts : int or None
        Feed-forwards of a layer beside each other; one for all tokens if None. See `_experts`.
    experts_per_token : int
        Experts that each token goes to.
    causal_half : bool
        Whether attention skips the half of the scores that the causal mask hides.
    """

    biases: bool = True
    rms_norm: bool = False
    learned_positions: bool = True
    experts: int | None = None
    experts_per_token: int = 1
    causal_half: bool = False

    def weights(self, rows: int, columns: int) -> int:
        """Return the number of parameters of a product."""
        return rows * columns + (columns if self.biases else 0)

    def norm(self, h: int) -> int:
        """Return the number of parameters of a norm."""
        return h if self.rms_norm else 2 * h


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
    form: Form | None = None,
) -> Network:
    """Return a GPT-like transformer, with the options of newer models.

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
    form : Form or None
        Biases, norms, positions and experts; those of GPT if None.
    """
    s, h = sequence, hidden
    form = form or Form()
    keys = h * (key_value_heads or heads) // heads
    block = _block(h, keys, heads, feed_forward or 4 * h, s, gated, form)
    embedding, head = _embedding(h, s, vocabulary, form), _head(h, s, vocabulary, tied, form)
    return Network((embedding, *[block] * layers, head), input_bytes=TOKEN_BYTES * sequence)


def _block(h: int, k: int, a: int, f: int, s: int, gated: bool, form: Form) -> Layer:
    """Return a layer of attention and a feed-forward block, or experts."""
    inner = _feed_forward(h, f, s, gated, form)
    stored = _stored(h, k, a, f, s, gated)
    if form.experts:
        inner = _experts(inner, h, s, form)
        stored += (form.experts_per_token - 1) * _stored_between(h, f, s, gated)
    return Layer(
        "layer",
        (*_attention(h, k, s, form), *inner),
        s * h,
        stored,
        2,
        s * h,
        True,
        all_to_alls=2 if form.experts else 0,
        all_to_all_numbers=form.experts_per_token * s * h if form.experts else 0,
        pieces=form.experts or 0,
        cp_numbers=2 * s * k,
    )


def _embedding(h: int, s: int, vocabulary: int, form: Form) -> Layer:
    """Return the embedding of tokens and, if they are learned, positions."""
    words = Operator("words", "embedding", s * h, vocabulary * h, 2 * s * h)
    positions = Operator("positions", "elementwise", s * h, s * h, 3 * s * h)
    first = (words, positions) if form.learned_positions else (words,)
    # Reduced once in the forward pass. The backward pass needs no reduction, but is given one: it
    # represents the gradient of the input of the logits, which Megatron-LM reduces at the head and
    # this model does not.
    return Layer("embedding", first, s * h, s * h, 1, s * h, True)


def _attention(h: int, k: int, s: int, form: Form) -> tuple[Operator, ...]:
    """Return the attention with keys and values of k numbers per token.

    Grouped-query attention (Ainslie et al., arXiv 2305.13245) has g heads for keys and values,
    each for a/g heads of queries: their matrices have k = h g/a columns instead of h, so a layer
    has 2 h (h - k) weights and 4 s h (h - k) operations less, and attention reads and stores 2 s k
    keys and values instead of 2 s h; its products stay, 4 s^2 h, as each query meets all keys.

    These are all s^2 pairs of tokens, also those that a causal mask hides, as in the formulas of
    Megatron-LM (arXiv 2104.04473) and PaLM (Chowdhery et al., arXiv 2204.02311, appendix B). A
    kernel that skips masked pairs computes the s (s + 1) / 2 others alone (FlashAttention-2, Dao,
    arXiv 2307.08691, section 3.1).
    """
    both = h + 2 * k
    pairs = s * (s + 1) // 2 if form.causal_half else s**2
    return (
        Operator("attention norm", "normalization", 5 * s * h, form.norm(h), 2 * s * h),
        Operator(
            "query, key, value",
            "matmul",
            2 * s * h * both,
            form.weights(h, both),
            s * (h + both),
        ),
        # Fused: scores stay in on-chip memory (FlashAttention, Dao et al., arXiv 2205.14135).
        Operator("attention", "attention", 4 * pairs * h, 0, s * (both + h)),
        Operator("attention output", "matmul", 2 * s * h**2, form.weights(h, h), 2 * s * h),
        Operator("attention residual", "elementwise", 2 * s * h, 0, 3 * s * h),
    )


def _feed_forward(h: int, f: int, s: int, gated: bool, form: Form) -> tuple[Operator, ...]:
    """Return a feed-forward block of width f; a gate adds one product per activation.

    A gated feed-forward (GLU variants, Shazeer, arXiv 2002.05202, equation 6) has a second matrix
    of h x f, whose product multiplies the activation: 3 matrices of h f weights and 2 s h f
    operations each instead of 2, and 2 f numbers to be activated instead of f.
    """
    inner = 2 * f if gated else f
    name, flops = ("gated activation", 9 * s * f) if gated else ("GELU", 8 * s * f)
    return (
        Operator("feed-forward norm", "normalization", 5 * s * h, form.norm(h), 2 * s * h),
        Operator(
            "feed-forward in", "matmul", 2 * s * h * inner, form.weights(h, inner), s * (h + inner)
        ),
        Operator(name, "elementwise", flops, 0, s * (inner + f)),
        Operator("feed-forward out", "matmul", 2 * s * h * f, form.weights(f, h), s * (f + h)),
        Operator("feed-forward residual", "elementwise", 2 * s * h, 0, 3 * s * h),
    )


def _experts(inner: tuple[Operator, ...], h: int, s: int, form: Form) -> tuple[Operator, ...]:
    """Return a feed-forward block of several experts, of which each token uses some.

    A router of h x experts chooses (Shazeer et al., arXiv 1701.06538; Mixtral, Jiang et al., arXiv
    2401.04088, section 2.1): the parameters between norm and residual are there so many times, and
    operations and activations as often as a token is computed. Tokens are spread evenly. Between
    NPUs that share the experts out, each token's h numbers go to each of its experts and back in
    two all-to-alls (GShard, Lepikhin et al., arXiv 2006.16668, section 3.2).
    """
    norm, *between, residual = inner
    experts, chosen = form.experts or 1, form.experts_per_token
    router = Operator("router", "matmul", 2 * s * h * experts, h * experts, s * (h + experts))
    shared = (
        Operator(
            one.name,
            one.kind,
            chosen * one.flops,
            experts * one.parameters,
            chosen * one.moved_numbers,
            shared=True,
        )
        for one in between
    )
    return (norm, router, *shared, residual)


def _head(h: int, s: int, vocabulary: int, tied: bool, form: Form) -> Layer:
    """Return the logits layer, with separate weights unless tied to the embedding."""
    scale = h if form.rms_norm else 0
    norm = Operator("final norm", "normalization", 5 * s * h, scale, 2 * s * h)
    weights = 0 if tied else vocabulary * h
    logits = Operator("logits", "matmul", 2 * s * h * vocabulary, weights, s * h + s * vocabulary)
    return Layer("head", (norm, logits), s * vocabulary, 2 * s * h + s * vocabulary, 1, s, True)


def _stored(h: int, k: int, a: int, f: int, s: int, gated: bool) -> float:
    """Return the activations that a layer's backward pass needs, in two-byte numbers.

    Of the 34 s h stored bytes, 4 are for two norms; 11 are s (7 h + 4 k) of attention, where keys
    and values are k wide; and 19 are s (3 h + 4 f) of the feed-forward (section 4.1 of arXiv
    2205.05198). With a gate, both products are kept to compute the activation again: s (3 h + 6 f).
    """
    wide = (6 if gated else 4) * f / h
    return s * h * (14 + 4 * k / h + wide + 5 * a * s / h) / 2


def _stored_between(h: int, f: int, s: int, gated: bool) -> float:
    """Return the activations stored per additional expert of a token, in two-byte numbers.

    These are the input of the expert, its products and the activated values.
    """
    return s * (2 * h + (6 if gated else 4) * f) / 2


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
    biases : bool
        Whether products have biases.
    rms_norm : bool
        Whether norms have one parameter for each number, or two.
    learned_positions : bool
        Whether positions are learned, or queries and keys are turned by them.
    experts : int
        Feed-forwards of a layer beside each other; one for all tokens if it is not given.
    experts_per_token : int
        Experts that each token goes to, at most ``experts``.
    causal : str
        Attention scores that are computed: `full` counts all pairs of tokens, as published formulas
        do; `half` leaves out those that the causal mask hides, as kernels do that skip them.
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
    biases: bool = True
    rms_norm: bool = False
    learned_positions: bool = True
    experts: Annotated[int, int_range(2, 1 << 16)] | None = None
    experts_per_token: Annotated[int, int_range(1, 1 << 16)] = 1
    causal: Annotated[str, one_of("full", "half")] = "full"

    def network(self, source: str) -> Network:
        if self.hidden % self.heads:
            message = f"must be a divisor of hidden, {self.hidden}, not {self.heads}"
            raise InputError(source, "heads", message)
        if self.key_value_heads and self.heads % self.key_value_heads:
            message = f"must be a divisor of heads, {self.heads}, not {self.key_value_heads}"
            raise InputError(source, "key_value_heads", message)
        if self.experts_per_token > (self.experts or 1):
            message = f"must be at most experts, which are {self.experts or 1}, "
            raise InputError(source, "experts_per_token", f"{message}not {self.experts_per_token}")
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
            form=Form(
                self.biases,
                self.rms_norm,
                self.learned_positions,
                self.experts,
                self.experts_per_token,
                self.causal == "half",
            ),
        )


KINDS.add("transformer", TransformerFile)
