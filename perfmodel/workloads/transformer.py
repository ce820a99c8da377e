"""Decoder-only transformers, layer by layer."""

from typing import Annotated

from fred_hw.errors import InputError
from fred_hw.files import int_range, one_of

from .file import KINDS, Count, WorkloadFile
from .layers import Layer, Network, Operator

__all__ = ["TransformerFile", "transformer"]

TOKEN_BYTES = 4


def transformer(layers: int, hidden: int, heads: int, sequence: int, vocabulary: int) -> Network:
    """Return a GPT-like transformer with a feed-forward width of four times the hidden size.

    Parameters and operations add up to those of Narayanan et al., arXiv 2104.04473, section 2.4
    and appendix: 12 l h^2 (1 + 13/(12 h)) + V h + s h parameters, and in the forward pass of a
    sample 24 l s h^2 (1 + s/(6 h)) + 2 s h V operations of matrix products. Model parallelism
    splits each layer by heads and by columns and rows of its matrices, with two all-reduces of
    s h activations per pass (Megatron-LM, Shoeybi et al., arXiv 1909.08053, section 3). Stored
    activations are s h (34 + 5 a s/h) bytes per layer, nothing recomputed (Korthikanti et al.,
    arXiv 2205.05198, equation 2). The embedding is split by words, with one all-reduce; the
    logits share its weights, and their loss is reduced by tokens. Samples come as tokens of four
    bytes.

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
    """
    s, h = sequence, hidden
    words = Operator("words", "embedding", s * h, vocabulary * h, 2 * s * h)
    positions = Operator("positions", "elementwise", s * h, s * h, 3 * s * h)
    # Reduced once forward. Its backward pass needs nothing, but is taken alike: it stands for the
    # gradient of what the logits read, which Megatron-LM reduces at the head and the head here
    # does not.
    embedding = Layer("embedding", (words, positions), s * h, s * h, 1, s * h, True)
    block = _block(hidden, heads, sequence)
    norm = Operator("final norm", "normalization", 5 * s * h, 0, 2 * s * h)
    logits = Operator("logits", "matmul", 2 * s * h * vocabulary, 0, s * h + s * vocabulary)
    head = Layer("head", (norm, logits), s * vocabulary, 2 * s * h + s * vocabulary, 1, s, True)
    return Network((embedding, *[block] * layers, head), input_bytes=TOKEN_BYTES * sequence)


def _block(h: int, a: int, s: int) -> Layer:
    """Return one transformer layer."""
    operators = (
        Operator("attention norm", "normalization", 5 * s * h, 2 * h, 2 * s * h),
        Operator("query, key, value", "matmul", 6 * s * h**2, 3 * h**2 + 3 * h, 4 * s * h),
        # Fused: scores stay on the chip (FlashAttention, Dao et al., arXiv 2205.14135).
        Operator("attention", "attention", 4 * s**2 * h, 0, 4 * s * h),
        Operator("attention output", "matmul", 2 * s * h**2, h**2 + h, 2 * s * h),
        Operator("attention residual", "elementwise", 2 * s * h, 0, 3 * s * h),
        Operator("feed-forward norm", "normalization", 5 * s * h, 2 * h, 2 * s * h),
        Operator("feed-forward in", "matmul", 8 * s * h**2, 4 * h**2 + 4 * h, 5 * s * h),
        Operator("GELU", "elementwise", 32 * s * h, 0, 8 * s * h),
        Operator("feed-forward out", "matmul", 8 * s * h**2, 4 * h**2 + h, 5 * s * h),
        Operator("feed-forward residual", "elementwise", 2 * s * h, 0, 3 * s * h),
    )
    stored = s * h * (34 + 5 * a * s / h) / 2
    return Layer("layer", operators, s * h, stored, 2, s * h, True)


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
    """

    kind: Annotated[str, one_of("transformer")]
    layers: Annotated[int, int_range(1, 10_000)]
    hidden: Count
    heads: Count
    sequence: Count
    vocabulary: Count

    def network(self, source: str) -> Network:
        if self.hidden % self.heads:
            message = f"must divide hidden, not {self.heads} divide {self.hidden}"
            raise InputError(source, "heads", message)
        return transformer(self.layers, self.hidden, self.heads, self.sequence, self.vocabulary)


KINDS.add("transformer", TransformerFile)
