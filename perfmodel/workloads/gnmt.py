"""Translation models of recurrent layers: an encoder, attention and a decoder."""

from typing import Annotated

from fred_hw.files import int_range, one_of

from .file import KINDS, Count, WorkloadFile
from .layers import Layer, Network, Operator

__all__ = ["GnmtFile", "gnmt"]

TOKEN_BYTES = 4


def gnmt(
    encoder: int, decoder: int, units: int, vocabulary: int, source: int, target: int
) -> Network:
    """Return a translation model, Wu et al., arXiv 1609.08144, section 3.

    The encoder's first layer runs in both directions, so the second one has inputs of twice the
    width. Attention is a perceptron with one hidden layer. Its result is an input of each layer of
    the decoder, as is the output of the layer below. Source and target have separate embeddings,
    and the logits have weights of their own. Model parallelism splits nothing.

    The weights of a recurrent layer are read from memory once in a pass: cores are assumed to keep
    them from token to token (persistent kernels, Diamos et al., ICML 2016).

    Parameters
    ----------
    encoder, decoder : int
        Recurrent layers of each; the first one of the encoder counts once.
    units : int
        Width of all layers and embeddings.
    vocabulary : int
        Words of either language.
    source, target : int
        Tokens of a sample in either language.

    Returns
    -------
    Network
        Layers for one sample, from the embedding of the source to the logits.
    """
    first = [
        *_lstm("forwards", units, units, source),
        *_lstm("backwards", units, units, source),
    ]
    layers = [
        _embedding("source", units, vocabulary, source),
        _layer("encoder 1", first, 2 * units * source),
    ]
    for number in range(2, encoder + 1):
        below = 2 * units if number == 2 else units
        layers.append(_recurrent(f"encoder {number}", below, units, source))
    last = 2 * units if encoder == 1 else units
    layers += [
        _embedding("target", units, vocabulary, target),
        _attention(last, units, source, target),
    ]
    for number in range(1, decoder + 1):
        layers.append(_recurrent(f"decoder {number}", units + last, units, target))
    weights = (units + 1) * vocabulary
    flops, moved = 2 * units * vocabulary * target, (units + vocabulary) * target
    logits = Operator("logits", "matmul", flops, weights, moved)
    layers.append(_layer("logits", [logits], vocabulary * target))
    return Network(tuple(layers), input_bytes=TOKEN_BYTES * (source + target))


def _embedding(name: str, units: int, vocabulary: int, tokens: int) -> Layer:
    read = units * tokens
    look_up = Operator(name, "embedding", 0, vocabulary * units, 2 * read, sparse=True)
    return Layer(f"{name} embedding", (look_up,), read, 0)


def _lstm(name: str, inputs: int, units: int, tokens: int) -> list[Operator]:
    """Return the operators of one direction of a recurrent layer: four gates per unit."""
    gates = 4 * units
    products = [
        (f"{name} inputs", inputs, (inputs + 1) * gates),
        (f"{name} state", units, units * gates),
    ]
    found = [
        Operator(what, "matmul", 2 * width * gates * tokens, weights, (width + gates) * tokens)
        for what, width, weights in products
    ]
    # Sums, four functions, two products and a sum for the cell, then a function and a product.
    gated = Operator(f"{name} gates", "elementwise", 14 * units * tokens, 0, 11 * units * tokens)
    return [*found, gated]


def _recurrent(name: str, inputs: int, units: int, tokens: int) -> Layer:
    """Return a layer of the encoder or the decoder, with a residual where the widths are equal."""
    output = units * tokens
    operators = _lstm(name, inputs, units, tokens)
    if inputs == units:
        operators.append(Operator("residual", "elementwise", output, 0, 3 * output))
    return _layer(name, operators, output)


def _attention(inputs: int, units: int, source: int, target: int) -> Layer:
    """Return the attention of each target token to all source tokens."""
    pairs = source * target
    keys = Operator(
        "keys", "matmul", 2 * inputs * units * source, inputs * units, (inputs + units) * source
    )
    queries = Operator("queries", "matmul", 2 * units**2 * target, units**2, 2 * units * target)
    scores = Operator("scores", "elementwise", 4 * units * pairs, units, units * (pairs + target))
    mix = Operator("mix", "matmul", 2 * inputs * pairs, 0, inputs * (source + target) + pairs)
    return _layer("attention", [keys, queries, scores, mix], (inputs + units) * target)


def _layer(name: str, operators: list[Operator], output: int) -> Layer:
    """Return a layer whose backward pass needs the inputs of all operators."""
    stored = sum(operator.moved_numbers for operator in operators) / 2
    return Layer(name, tuple(operators), output, stored)


class GnmtFile(WorkloadFile):
    """``kind: gnmt``: a translation model of recurrent layers.

    Parameters
    ----------
    encoder_layers : int
        Recurrent layers of the encoder; the first runs in both directions.
    decoder_layers : int
        Recurrent layers of the decoder.
    units : int
        Width of all layers and embeddings.
    vocabulary : int
        Words of either language.
    source_tokens : int
        Tokens of a sample in the source language.
    target_tokens : int
        Tokens of a sample in the target language.
    """

    kind: Annotated[str, one_of("gnmt")]
    encoder_layers: Annotated[int, int_range(1, 1000)]
    decoder_layers: Annotated[int, int_range(1, 1000)]
    units: Annotated[int, int_range(1, 1 << 20)]
    vocabulary: Count
    source_tokens: Annotated[int, int_range(1, 1 << 20)]
    target_tokens: Annotated[int, int_range(1, 1 << 20)]

    def network(self, source: str) -> Network:
        return gnmt(
            self.encoder_layers,
            self.decoder_layers,
            self.units,
            self.vocabulary,
            self.source_tokens,
            self.target_tokens,
        )


KINDS.add("gnmt", GnmtFile)
