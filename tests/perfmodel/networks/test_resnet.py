"""Tests of perfmodel.networks.resnet."""

import pytest

from perfmodel.networks.resnet import Convolution, ResNet


@pytest.mark.parametrize(
    ("blocks", "parameters", "macs"),
    [
        ((3, 4, 6, 3), 25.56e6, 3.8e9),
        ((3, 4, 23, 3), 44.55e6, 7.6e9),
        ((3, 8, 36, 3), 60.19e6, 11.3e9),
    ],
    ids=["50", "101", "152"],
)
def test_totals_are_the_published(
    blocks: tuple[int, int, int, int], parameters: float, macs: float
) -> None:
    network = ResNet(blocks, image=224, classes=1000)
    assert network.parameters == pytest.approx(parameters, rel=0.001)
    assert network.forward_flops / 2 == pytest.approx(macs, rel=0.02)


def test_depth_counts_weighted_layers() -> None:
    network = ResNet((3, 8, 36, 3), image=224, classes=1000)
    projections = 4
    assert len(list(network.convolutions())) - projections + 1 == 152
    assert network.layers == 50


def test_convolution_worked_by_hand() -> None:
    first = Convolution(channels_in=3, channels_out=64, kernel=7, image=112)
    assert first.parameters == 64 * 147 + 128
    assert first.macs == 64 * 147 * 112 * 112
