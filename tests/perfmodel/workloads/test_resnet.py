"""Tests of perfmodel.workloads.resnet."""

import pytest

from perfmodel.workloads.resnet import resnet

R152 = (3, 8, 36, 3)


@pytest.mark.parametrize(
    ("blocks", "parameters", "macs"),
    [((3, 4, 6, 3), 25.56e6, 3.8e9), ((3, 4, 23, 3), 44.55e6, 7.6e9), (R152, 60.19e6, 11.3e9)],
    ids=["50", "101", "152"],
)
def test_totals_are_the_published(blocks: tuple[int, ...], parameters: float, macs: float) -> None:
    network = resnet(blocks, image=224, classes=1000)
    assert network.parameters == pytest.approx(parameters, rel=0.001)
    assert network.forward_flops / 2 == pytest.approx(macs, rel=0.02)


def test_depth_counts_weighted_layers() -> None:
    network = resnet(R152, image=224, classes=1000)
    operators = [one for layer in network.layers for one in layer.operators]
    convolutions = [one for one in operators if one.kind == "convolution"]
    projections = sum(one.name == "projection" for one in convolutions)
    assert projections == 4
    assert len(convolutions) - projections + 1 == 152
    assert len(network.layers) == 1 + 50 + 1
    assert not network.splits


def test_stem_worked_by_hand() -> None:
    stem = resnet(R152, image=224, classes=1000).layers[0]
    convolution = stem.operators[0]
    assert stem.parameters == 64 * 147 + 128
    assert convolution.flops == 2 * 64 * 147 * 112 * 112
    assert convolution.moved_numbers == 3 * 224**2 + 64 * 112**2
    assert stem.output_numbers == 64 * 56**2


def test_images_come_in_two_bytes_a_number() -> None:
    assert resnet(R152, image=224, classes=1000).input_bytes == 2 * 3 * 224**2


@pytest.mark.parametrize("image", [64, 224, 448])
def test_average_reads_what_the_last_block_hands_on(image: int) -> None:
    block, classifier = resnet(R152, image=image, classes=10).layers[-2:]
    average = classifier.operators[0]
    assert block.output_numbers == 2048 * (image // 32) ** 2
    assert average.flops == block.output_numbers
    assert average.moved_numbers == block.output_numbers + 2048
