"""Residual networks, layer by layer."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field, WithJsonSchema

from fred_hw.errors import InputError
from fred_hw.files import int_range, one_of

from .file import KINDS, Count, WorkloadFile
from .layers import Layer, Network, Operator

__all__ = ["ResNetFile", "resnet"]

_IMAGE: dict[str, Any] = {"type": "integer", "minimum": 32, "maximum": 1 << 16, "multipleOf": 32}


def resnet(blocks: Sequence[int], image: int, classes: int) -> Network:
    """Return a residual network of bottleneck blocks, He et al., arXiv 1512.03385, table 1.

    A 7x7 convolution of stride 2 and a pooling of stride 2, then four stages of 64, 128, 256 and
    512 channels inside a block and four times as many at its end, then a classifier. The first
    block of a stage has a projection beside it and, but for the first stage, stride 2 in its
    first 1x1 convolution, as in the paper. Layers are the stem, each block, and the classifier;
    none is split by model parallelism. Images come in FP16.

    Parameters
    ----------
    blocks : sequence of int
        Blocks in each of the four stages.
    image : int
        Width and height of an input image, a multiple of 32.
    classes : int
        Outputs of the classifier.
    """
    stem = _convolution("stem", 3, 64, 7, image // 2, 2)
    pooled = 64 * (image // 4) ** 2
    pool = Operator("pooling", "elementwise", 9 * pooled, 0, 5 * pooled)
    layers = [_layer("stem", [*stem, pool], pooled)]
    channels = 64
    for stage, count in enumerate(blocks):
        inner, size = 64 << stage, image // (4 << stage)
        for block in range(count):
            stride = 2 if block == 0 and stage else 1
            operators = [
                *_convolution("reduce", channels, inner, 1, size, stride),
                *_convolution("spatial", inner, inner, 3, size, 1),
                *_convolution("expand", inner, 4 * inner, 1, size, 1),
            ]
            if block == 0:
                operators += _convolution("projection", channels, 4 * inner, 1, size, stride)
            channels = 4 * inner
            output = channels * size**2
            operators.append(Operator("residual", "elementwise", output, 0, 3 * output))
            layers.append(_layer(f"block {stage + 1}.{block + 1}", operators, output))
    last = layers[-1].output_numbers
    pooling = Operator("average", "elementwise", last, 0, last + channels)
    weights = (channels + 1) * classes
    head = Operator("classifier", "matmul", 2 * channels * classes, weights, channels + classes)
    layers.append(_layer("classifier", [pooling, head], classes))
    return Network(tuple(layers), input_bytes=2 * 3 * image**2)


def _layer(name: str, operators: list[Operator], output: int) -> Layer:
    """Return a layer whose backward pass needs the inputs of all operators."""
    stored = sum(operator.moved_numbers for operator in operators) / 2
    return Layer(name, tuple(operators), output, stored)


def _convolution(
    name: str, channels_in: int, channels_out: int, kernel: int, image: int, stride: int
) -> list[Operator]:
    """Return a convolution without bias, followed by batch normalization and ReLU.

    ``image`` is the width and height of the output.
    """
    weights = channels_out * channels_in * kernel**2
    output = channels_out * image**2
    read = channels_in * (image * stride) ** 2
    return [
        Operator(name, "convolution", 2 * weights * image**2, weights, read + output),
        Operator(f"{name} norm", "normalization", 4 * output, 2 * channels_out, 2 * output),
        Operator(f"{name} ReLU", "elementwise", output, 0, 2 * output),
    ]


class ResNetFile(WorkloadFile):
    """``kind: resnet``: a residual network of bottleneck blocks.

    Parameters
    ----------
    blocks : list of int
        Blocks in each of the four stages.
    image : int
        Width and height of an input image [pixels], a multiple of 32.
    classes : int
        Outputs of the classifier.
    """

    kind: Annotated[str, one_of("resnet")]
    blocks: Annotated[list[Annotated[int, int_range(1, 1000)]], Field(min_length=4, max_length=4)]
    image: Annotated[int, int_range(32, 1 << 16), WithJsonSchema(_IMAGE)]
    classes: Count

    def network(self, source: str) -> Network:
        if self.image % 32:
            raise InputError(source, "image", f"must be a multiple of 32, not {self.image}")
        return resnet(self.blocks, self.image, self.classes)


KINDS.add("resnet", ResNetFile)
