"""Tests of fred_hw.virtual_channels and of the key that sets their number."""

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from fred_hw.mesh.spec import ChannelledProtocol, MeshSpec
from fred_hw.protocol import CONTROL, HEADER_FIELDS, ProtocolSpec
from fred_hw.spec import SwitchSpec
from fred_hw.virtual_channels import CLASS_BITS, DEFAULT_CHANNELS, VirtualChannels, class_number

PACKAGES = ("fred_hw", "gen", "synth", "testbench", "perfmodel", "fred_cli")
MENTION = re.compile(
    r"urgency_classes(?!=\d)|(DEFAULT|MOST)_CLASSES|[cC]hannels(_of\(\w+\))?\.classes"
    r"|len\([\w.]*channels\.names\)"
)
"""How a file can read the number of urgency classes. A specification of a number names no rule."""


def test_buffers_are_numbered_by_class_and_channel() -> None:
    channels = VirtualChannels(4, 2)
    assert channels.names == ("mp", "pp", "dp", "bulk")
    assert channels.buffers == tuple(f"{name}_{k}" for name in channels.names for k in range(2))
    assert [channels.buffers_of(number) for number in range(4)] == [
        range(first, first + 2) for first in (0, 2, 4, 6)
    ]
    assert (channels.channel_bits, channels.buffer_bits) == (1, CLASS_BITS + 1)


def test_one_channel_of_each_class_has_its_name() -> None:
    assert DEFAULT_CHANNELS.buffers == DEFAULT_CHANNELS.names == ("mp", "pp", "dp")
    assert [class_number(name) for name in VirtualChannels(4).names] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("classes", "each", "text"),
    [
        (0, 1, "urgency classes must be 1 to 4, not 0"),
        (5, 1, "urgency classes must be 1 to 4, not 5"),
        (3, 3, "virtual channels of a class must be 1 or 2, not 3"),
    ],
)
def test_impossible_channels_are_refused(classes: int, each: int, text: str) -> None:
    with pytest.raises(ValueError, match=f"^{text}$"):
        VirtualChannels(classes, each)


def test_unknown_class_is_refused() -> None:
    text = "urgency class must be one of mp, pp, dp, bulk, not 'tp'"
    with pytest.raises(ValueError, match=f"^{text}$"):
        class_number("tp")


def test_header_has_a_number_for_each_buffer_and_control() -> None:
    buffers = ChannelledProtocol(urgency_classes=4, each=2).buffers
    assert len(buffers) == 8 < CONTROL
    for name in ("circuit", "credit_circuit"):
        assert (1 << HEADER_FIELDS[name].bits) - 1 == CONTROL


def test_links_with_other_numbers_of_classes_do_not_connect() -> None:
    digests = [
        SwitchSpec(ports=2, protocol=ProtocolSpec(urgency_classes=n)).digest for n in (1, 2, 3, 4)
    ]
    assert len({*digests}) == 4
    assert digests[2] == SwitchSpec(ports=2).digest


def test_names_of_units_have_the_number_unless_it_is_the_default() -> None:
    assert ProtocolSpec(urgency_classes=4).suffix == f"{ProtocolSpec().suffix}_u4"
    both = ChannelledProtocol(urgency_classes=4, each=2)
    assert both.suffix == f"{ProtocolSpec().suffix}_u4_v2"
    assert "urgency_classes" not in ProtocolSpec().model_dump()
    assert ProtocolSpec(urgency_classes=2).model_dump()["urgency_classes"] == 2


@pytest.mark.parametrize("classes", [0, 5])
def test_key_out_of_range_is_refused(classes: int) -> None:
    with pytest.raises(ValidationError, match=rf"must be an integer from 1 to 4, not {classes}"):
        ProtocolSpec(urgency_classes=classes)


def test_buffers_of_four_classes_are_as_large_as_those_of_three() -> None:
    assert ProtocolSpec(urgency_classes=4, buffer_packets=31).buffer_flits == 248


def test_programs_of_fabrics_need_three_classes() -> None:
    text = "protocol.urgency_classes: must be 3 or more for programs of MP, PP and DP, not 2"
    with pytest.raises(ValidationError, match=re.escape(text)):
        MeshSpec(width=2, height=2, protocol=ProtocolSpec(urgency_classes=2))


def test_few_files_know_the_number_of_classes() -> None:
    root = Path(__file__).parents[2]
    found = sorted(
        str(path.relative_to(root))
        for package in PACKAGES
        for path in (root / package).rglob("*.py")
        if MENTION.search(path.read_text())
    )
    assert found == [
        "fred_hw/control/phase_entry.py",
        "fred_hw/fabric_spec.py",
        "fred_hw/per_class.py",
        "fred_hw/protocol.py",
        "fred_hw/virtual_channels.py",
    ]
