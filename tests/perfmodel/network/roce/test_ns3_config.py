"""Tests of perfmodel.network.roce.ns3_config."""

from pathlib import Path

import pytest

from docs.generate.reference import EXAMPLES
from fred_hw.errors import InputError
from fred_hw.files import load_model
from perfmodel.network.roce.ns3_config import config_text, read_config
from perfmodel.network.roce.parameters import SCHEMES, RoceFile

_PUBLISHED = """
ENABLE_QCN 1
USE_DYNAMIC_PFC_THRESHOLD 1
PACKET_PAYLOAD_SIZE 1000
CC_MODE 12
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
CLAMP_TARGET_RATE 0
RP_TIMER 900
EWMA_GAIN 0.00390625
FAST_RECOVERY_TIMES 1
RATE_AI 50Mb/s
RATE_HAI 100Mb/s
MIN_RATE 100Mb/s
DCTCP_RATE_AI 1000Mb/s
ERROR_RATE_PER_LINK 0.0000
L2_CHUNK_SIZE 4000
L2_ACK_INTERVAL 1
L2_BACK_TO_ZERO 0
HAS_WIN 1
GLOBAL_T 0
VAR_WIN 1
FAST_REACT 1
U_TARGET 0.95
MI_THRESH 0
INT_MULTI 1
MULTI_RATE 0
SAMPLE_FEEDBACK 0
PINT_LOG_BASE 1.05
PINT_PROB 1.0
RATE_BOUND 1
BUFFER_SIZE 32
KMAX_MAP 3 25000000000 400 40000000000 800 100000000000 1600
KMIN_MAP 3 25000000000 100 40000000000 200 100000000000 400
PMAX_MAP 3 25000000000 0.2 40000000000 0.2 100000000000 0.2
"""
"""mix/config.txt of astra-sim's ns-3 network: parameters, and the first three rates of marks.

Thresholds of all rates are in test_thresholds.py.
"""


def test_defaults_are_the_published_configuration(tmp_path: Path) -> None:
    path = tmp_path / "config.txt"
    path.write_text(_PUBLISHED)
    published, defaults = read_config(path), RoceFile()
    assert published.ecn == defaults.ecn[:3]
    assert published.model_dump(exclude={"ecn"}) == defaults.model_dump(exclude={"ecn"})


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_is_written_is_read_again(scheme: str, tmp_path: Path) -> None:
    path, given = tmp_path / "config.txt", RoceFile(congestion_control=scheme)
    path.write_text(config_text(given, "roce.yaml"))
    assert read_config(path) == given


def test_changed_values_are_written(tmp_path: Path) -> None:
    path, given = tmp_path / "config.txt", load_model(RoceFile, EXAMPLES / "roce.yaml")
    path.write_text(config_text(given, "roce.yaml"))
    assert read_config(path) == given.with_changes(train_packets=None)
    assert "KMAX_MAP 2 100000000000 1600 200000000000 2400\n" in path.read_text()


def test_rates_are_written_as_integers() -> None:
    """The simulator reads rates as integers, so none may have an exponent."""
    text = config_text(RoceFile(), "roce.yaml")
    assert " 2400000000000 3200\n" in text
    assert "e+" not in text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"header_bytes": 60}, "header_bytes: must be 48 in an ns-3 configuration, not 60"),
        ({"pfc": False}, "pfc: must be true in an ns-3 configuration, not false"),
        ({"timely": {"t_low_us": 7.0}}, "timely.t_low_us: must be 50 in an ns-3 configuration"),
        ({"buffer_mib": 0.5}, "buffer_mib: must be a whole number in an ns-3 configuration"),
        (
            {"ecn": [{"gbps": 100, "kmin_kb": 1.5, "kmax_kb": 9}]},
            "ecn.0.kmin_kb: must be a whole number in an ns-3 configuration, not 1.5",
        ),
    ],
    ids=["header", "pfc", "timely", "buffer", "marks"],
)
def test_what_the_format_cannot_hold_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        config_text(RoceFile().changed(**changes), "roce.yaml")
    assert str(caught.value).startswith(f"roce.yaml: {message}")


def test_other_numbers_of_cc_mode_are_pauses_alone(tmp_path: Path) -> None:
    path = tmp_path / "config.txt"
    path.write_text("CC_MODE 77\nRATE_AI 1Gb/s\nTOPOLOGY_FILE a b c\n\n")
    found = read_config(path)
    assert (found.congestion_control, found.additive_gbps) == ("pfc", 1.0)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("RATE_AY 50Mb/s", "must have a key of an ns-3 configuration, not 'RATE_AY'"),
        ("RATE_AI fast", "must be a rate such as 50Mb/s, not 'fast'"),
        ("HAS_WIN 2", "must be 0 or 1, not '2'"),
        ("U_TARGET x", "must have a number, not 'x'"),
        ("U_TARGET 1 2", "must have one value for U_TARGET, not 2"),
        ("MULTI_RATE 1", "must be MULTI_RATE 0, not 1"),
        ("KMIN_MAP 2 25000000000 100", "must be a count N and N pairs of a rate and a value"),
        ("KMIN_MAP 2 25000000000 1 25000000000 2", "must have each rate once, not 2.5e+10 twice"),
        ("LINK_DOWN 0 5 6", "must be LINK_DOWN 0 0 0, not 0 5 6"),
        ("LINK_DOWN 1 0 0", "must be LINK_DOWN 0 0 0, not 1 0 0"),
        ("LINK_DOWN", "must be LINK_DOWN 0 0 0, not nothing"),
    ],
)
def test_bad_lines_are_refused(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "config.txt"
    path.write_text(f"CC_MODE 1\n{line}\n")
    with pytest.raises(InputError) as caught:
        read_config(path)
    assert str(caught.value).startswith(f"{path}: line 2: {message}")


def test_a_configuration_without_a_link_that_fails_is_read(tmp_path: Path) -> None:
    path = tmp_path / "config.txt"
    path.write_text("LINK_DOWN 0 0 0\n")
    assert read_config(path) == RoceFile()


@pytest.mark.parametrize("kmin_kb", [100, 101])
def test_marks_that_begin_at_or_after_their_end_are_refused(kmin_kb: int, tmp_path: Path) -> None:
    path = tmp_path / "config.txt"
    path.write_text(f"KMAX_MAP 1 25000000000 100\nKMIN_MAP 1 25000000000 {kmin_kb}\n")
    with pytest.raises(InputError) as caught:
        read_config(path)
    message = f"ecn.0.kmax_kb: must be above kmin_kb, {kmin_kb}, not 100"
    assert str(caught.value) == f"{path}: {message}"


def test_values_out_of_range_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.txt"
    path.write_text("U_TARGET 7\n")
    with pytest.raises(InputError, match=r"hpcc\.target: must be"):
        read_config(path)
