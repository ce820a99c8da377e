"""Tests of perfmodel.endpoint.model and perfmodel.endpoint.file."""

from pathlib import Path

import pytest

from fred_hw.errors import InputError
from perfmodel.endpoint.model import endpoint_model, names
from tests.documented import documented_keys, read_keys
from tests.written import written

GOOD = """npu: {memory_bytes_per_s: 900e9, cores: 80, core_bytes_per_s: 80e9}
settings:
  - {name: some, memory_bytes_per_s: 450e9, cores: 5}
"""


def test_shipped_models() -> None:
    assert names() == (
        "ideal",
        "core-driven",
        "ace",
        "core-driven:comm-opt",
        "core-driven:comp-opt",
        "core-driven:no-overlap",
        "ace:comm-opt",
        "ace:comp-opt",
        "ace:no-overlap",
    )
    assert endpoint_model("ideal") is None
    for name in names()[1:]:
        assert endpoint_model(name) is not None


@pytest.mark.parametrize(
    ("name", "memory", "cores", "read", "overlap"),
    [
        ("core-driven:comm-opt", 1 / 2, 6 / 80, 450, True),
        ("core-driven:comp-opt", 128 / 900, 2 / 80, 128, True),
        ("core-driven:no-overlap", 0, 0, 900, False),
        ("ace:comp-opt", 128 / 900, 0, 128, True),
        ("ace:no-overlap", 0, 0, 900, False),
    ],
)
def test_settings_of_the_study(
    name: str, memory: float, cores: float, read: float, overlap: bool
) -> None:
    found = endpoint_model(name)
    assert found is not None and len(found.reservations) == 1
    (one,) = found.reservations
    assert (one.memory_share, one.core_share, one.overlap) == (memory, cores, overlap)
    assert one.read_share * 900 == pytest.approx(read, rel=1e-15)


def test_few_cores_read_less_than_the_bandwidth_that_they_have(tmp_path: Path) -> None:
    path = written(tmp_path / "own.yaml", GOOD)
    core, ace = (endpoint_model(f"{kind}:{path}") for kind in ("core-driven", "ace"))
    assert core and core.reservations[0].read_share == pytest.approx(5 * 80 / 900)
    assert ace and ace.reservations[0].read_share == 1 / 2
    assert ace.reservations[0].core_share == 0


@pytest.mark.parametrize(
    ("before", "after", "field", "message"),
    [
        ("450e9", "901e9", "rate", "at most npu.{}, which is 9e+11, not 9.01e+11"),
        ("450e9", "900e9", "rate", "below npu.{} with overlap, which is 9e+11, not 9e+11"),
        ("450e9", "-1", "rate", "a number from 1e+06 to 1e+18, not -1"),
        ("cores: 5", "cores: 81", "cores", "at most npu.{}, which is 80, not 81"),
        ("cores: 5", "cores: 80", "cores", "below npu.{} with overlap, which is 80, not 80"),
        ("cores: 5", "cores: -2", "cores", "an integer from 0 to 1048576, not -2"),
        ("cores: 5", "cores: 0", "cores", "1 or more for core-driven, not 0"),
    ],
)
def test_a_setting_that_an_npu_cannot_have_is_refused(
    tmp_path: Path, before: str, after: str, field: str, message: str
) -> None:
    path = written(tmp_path / "own.yaml", GOOD.replace(before, after))
    with pytest.raises(InputError) as caught:
        endpoint_model(f"core-driven:{path}")
    key = "memory_bytes_per_s" if field == "rate" else field
    assert str(caught.value) == f"{path}: settings.0.{key}: must be {message.format(key)}"


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        (" []", "settings: must have 1 or more entries, not []"),
        (
            2 * "\n  - {name: some, memory_bytes_per_s: 1e9}",
            "settings.1.name: must have each name ",
        ),
        ("\n  - {name: Bad_Name, memory_bytes_per_s: 1e9}", "settings.0.name: must "),
        ("\n  - {name: some, memory_bytes_per_s: 1e9, core: 1}", "settings.0.core: "),
    ],
)
def test_bad_settings_are_refused(tmp_path: Path, settings: str, field: str) -> None:
    head, _, _ = GOOD.partition("settings:")
    path = written(tmp_path / "own.yaml", f"{head}settings:{settings}\n")
    with pytest.raises(InputError) as caught:
        endpoint_model(f"ace:{path}")
    assert str(caught.value).startswith(f"{path}: {field}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("core-drive", "'core-driven'"),
        ("ace:compopt", "'ace:comp-opt'"),
        ("Ideal", "'ideal'"),
        ("ideal:", "'ideal'"),
        ("ace:", "'ace:comm-opt' or 'ace:comp-opt' or 'ace:no-overlap'"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(name: str, near: str) -> None:
    with pytest.raises(InputError) as caught:
        endpoint_model(name)
    assert caught.value.field == "endpoint"
    assert caught.value.message == (
        "must be one of the 9 names that 'fred estimate --help' lists or core-driven or ace with "
        f":FILE.yaml, not {name!r}; did you mean {near}?"
    )


def test_ranges_and_defaults_are_those_of_the_reference() -> None:
    assert read_keys("endpoint") == documented_keys("endpoint") != []
