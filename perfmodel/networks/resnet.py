"""Residual networks: parameters and operations added up over their convolutions."""

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Convolution", "ResNet"]


@dataclass(frozen=True, slots=True)
class Convolution:
    """A convolution without bias, followed by batch normalization.

    Parameters
    ----------
    channels_in, channels_out : int
        Feature maps.
    kernel : int
        Width and height of the kernel.
    image : int
        Width and height of the output.
    """

    channels_in: int
    channels_out: int
    kernel: int
    image: int

    @property
    def parameters(self) -> int:
        """Weights, and scale and shift of the normalization."""
        return self.channels_out * (self.channels_in * self.kernel**2 + 2)

    @property
    def macs(self) -> int:
        """Multiply-adds of one image; the normalization is left out."""
        return self.channels_out * self.channels_in * self.kernel**2 * self.image**2


@dataclass(frozen=True, slots=True)
class ResNet:
    """A residual network of bottleneck blocks, He et al., arXiv 1512.03385, table 1.

    A 7x7 convolution of stride 2 and a pooling of stride 2, then four stages of 64, 128, 256 and
    512 channels inside a block and four times as many at its end, then a classifier. The first
    block of a stage has a projection beside it and, but for the first stage, stride 2 in its
    first 1x1 convolution, as in the paper.

    Parameters
    ----------
    blocks : tuple of int
        Blocks in each of the four stages.
    image : int
        Width and height of an input image, a multiple of 32.
    classes : int
        Outputs of the classifier.
    """

    blocks: tuple[int, int, int, int]
    image: int
    classes: int

    @property
    def layers(self) -> int:
        """Blocks, between which a pipeline can be cut."""
        return sum(self.blocks)

    @property
    def parameters(self) -> int:
        """Trained numbers."""
        classifier = (4 * 512 + 1) * self.classes
        return sum(layer.parameters for layer in self.convolutions()) + classifier

    @property
    def forward_flops(self) -> int:
        """Operations of a forward pass of one image; a multiply-add counts as two."""
        return 2 * (sum(layer.macs for layer in self.convolutions()) + 4 * 512 * self.classes)

    def convolutions(self) -> Iterator[Convolution]:
        """Yield all convolutions, from the input on."""
        yield Convolution(3, 64, 7, self.image // 2)
        channels = 64
        for stage, count in enumerate(self.blocks):
            inner, image = 64 << stage, self.image // (4 << stage)
            for block in range(count):
                yield Convolution(channels, inner, 1, image)
                yield Convolution(inner, inner, 3, image)
                yield Convolution(inner, 4 * inner, 1, image)
                if block == 0:
                    yield Convolution(channels, 4 * inner, 1, image)
                channels = 4 * inner
