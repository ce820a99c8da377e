"""Tests of fred_hw.switch.spec and of the table's entries."""

import re

import pytest

from fred_hw.errors import InputError
from fred_hw.files import validate
from fred_hw.spec import SwitchSpec
from fred_hw.switch.core import SwitchCore, phase_fields
from fred_hw.switch.spec import CoreSpec


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"phases": 0}, "phases: must be an integer from 1 to 64, not 0"),
        ({"packet_flits": 65}, "packet_flits: must be an integer from 1 to 64, not 65"),
        ({"buffer_packets": 1}, "buffer_packets: must be an integer from 2 to 64, not 1"),
        ({"lanes": 1}, "lanes: unknown key; allowed are phases, packet_flits, buffer_packets"),
    ],
)
def test_impossible_core_is_refused(given: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(f'core.yaml: {message}')}$"):
        validate(CoreSpec, given, "core.yaml")


def test_published_buffer() -> None:
    # 6 packets of 8 flits of 512 B are 24 KB.
    assert CoreSpec().buffer_flits * 512 == 24 * 1024


@pytest.mark.parametrize(("ports", "bits"), [(2, 2), (4, 3), (12, 4)])
def test_entry_numbers_every_flow_and_none(ports: int, bits: int) -> None:
    fields = phase_fields(SwitchSpec(ports=ports))
    assert fields["inputs"] == fields["outputs"] == ports * bits
    assert (1 << bits) > ports


def test_published_memory_holds_28_phases_of_the_largest_l1() -> None:
    # 1.5 KB, 435 bits each: the configuration, and the flow of every input and output.
    bits = sum(phase_fields(SwitchSpec(ports=12)).values())
    assert 1536 * 8 // bits == 28


def test_name_tells_sizes() -> None:
    core = SwitchCore(switch=SwitchSpec(ports=4), spec=CoreSpec(phases=3))
    assert core.unit_name == "fred_m3_p4_fp16x4_core_f3_k8_b6"
