"""Decoder-only transformers: parameters and operations in closed form."""

from dataclasses import dataclass

__all__ = ["Transformer"]


@dataclass(frozen=True, slots=True)
class Transformer:
    """A GPT-like transformer with a feed-forward width of four times the hidden size.

    Formulas: Narayanan et al., arXiv 2104.04473, section 2.4 and appendix. One multiply-add counts
    as two operations; softmax, normalization and activation functions are left out, as there.

    Parameters
    ----------
    layers : int
        Transformer layers l.
    hidden : int
        Hidden size h.
    heads : int
        Attention heads.
    sequence : int
        Tokens in a sample s.
    vocabulary : int
        Tokens known V.
    """

    layers: int
    hidden: int
    heads: int
    sequence: int
    vocabulary: int

    @property
    def parameters(self) -> int:
        """Trained numbers: 12 l h^2 (1 + 13/(12 h)) + V h + s h.

        That is in each layer 4 h^2 of attention and 8 h^2 of feed-forward weights and 13 h of
        biases and normalization, and the embeddings of words and of positions.
        """
        per_layer = 12 * self.hidden**2 + 13 * self.hidden
        return self.layers * per_layer + (self.vocabulary + self.sequence) * self.hidden

    @property
    def forward_flops(self) -> int:
        """Operations of a forward pass of one sample: 24 l s h^2 (1 + s/(6 h)) + 2 s h V."""
        s, h = self.sequence, self.hidden
        return self.layers * (24 * s * h**2 + 4 * s**2 * h) + 2 * s * h * self.vocabulary
