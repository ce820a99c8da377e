"""Tests of `fred records`: every shipped record is of today, and each reason why one is not."""

import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fred_cli.records.networks import NetworksMeasurement
from fred_cli.records.registry import ENTRIES
from fred_cli.records.state import CURRENT, STALE, check, record_path
from fred_hw.files import FileModel, load_model, validate
from perfmodel.switch_timing import record as timing
from perfmodel.switch_timing.networks import NetworkRecord
from testbench.characterize_mesh import RouterMeasurement
from testbench.measurement import Measurement
from tests.fred_cli.fred import Fred
from tests.records import shipped
from tests.written import written

ROUTER = "mesh-5x4"


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.xdist_group("records")  # they have switches in common
@pytest.mark.parametrize("name", ENTRIES)
def test_every_shipped_record_is_of_today(name: str) -> None:
    """`fred records update NAME` mends it."""
    state = check(name, ENTRIES[name])
    assert (state.state, state.why) == (CURRENT, ())
    assert "measured on sources that are no commit" not in state.notes


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder with copies of the records, whose designs are those of the records."""
    folder = tmp_path / "records"
    shutil.copytree(timing.RECORDS, folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    monkeypatch.setattr(timing, "RECORDS", folder)

    def hashes(measurement: Measurement) -> dict[str, str]:
        name = ROUTER if isinstance(measurement, RouterMeasurement) else "endpoint"
        return {"verilog_sha256": of(name)["source"]["verilog_sha256"]}

    monkeypatch.setattr(Measurement, "hashes", hashes)
    return folder


SHIPPED = timing.RECORDS


def of(name: str) -> Any:
    return json.loads((SHIPPED / f"{name}.json").read_text("utf-8"))


def changed(folder: Path, change: Callable[[Any], object]) -> None:
    record = of(ROUTER)
    change(record)
    written(folder / f"{ROUTER}.json", record)


def test_records_are_listed_with_what_they_measure(fred: Fred) -> None:
    said = {one["record"]: one for one in fred.json("records", "list")["records"]}
    assert list(said) == list(ENTRIES)
    router = said[ROUTER]
    assert router["measures"] == "router of a mesh" and router["by"].startswith("icarus ")
    assert router["minutes"] > 0 and router["git_commit"] == of(ROUTER)["source"]["git_commit"]
    status, out, _ = fred("records", "list")
    assert status == 0 and all(name in out for name in ENTRIES)


def test_records_are_listed_with_their_commands_and_what_makes_them_stale(fred: Fred) -> None:
    said = {one["record"]: one for one in fred.json("records", "list", "--verbose")["records"]}
    assert said[ROUTER]["command"] == f"fred records update {ROUTER}"
    assert said[ROUTER]["stale_with"] == ["Verilog of router", "spec", "measured_spec", "seed"]
    status, out, _ = fred("records", "list", "-v")
    assert status == 0
    for one in said.values():
        assert one["command"] in out and one["stale_with"][0] in out


def test_a_record_of_today_is_current(fred: Fred, records: Path) -> None:
    said = fred.json("records", "check", ROUTER)
    assert said["records"][0]["state"] == CURRENT and said["designs_generated"] == 0


def other_hash(record: Any) -> None:
    record["source"]["verilog_sha256"] = "0" * 64


STALE_BY: list[tuple[Callable[[Any], object], str]] = [
    (other_hash, "design changed: verilog_sha256"),
    (lambda record: record.update(seed=2), "input changed: seed"),
]


@pytest.mark.parametrize(("change", "why"), STALE_BY)
def test_a_stale_record_says_why(
    change: Callable[[Any], object], why: str, fred: Fred, records: Path
) -> None:
    changed(records, change)
    status, out, _ = fred("records", "check", ROUTER, "--json")
    assert status == 1
    [state] = json.loads(out)["records"]
    assert (state["state"], state["why"]) == (STALE, [why])
    status, out, _ = fred("records", "check", ROUTER)
    assert status == 1 and why in out


def test_another_specification_makes_a_record_stale(
    fred: Fred, records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = ENTRIES[ROUTER].measure().spec
    other = RouterMeasurement(spec=spec.with_changes(routing="odd_even"))
    monkeypatch.setitem(ENTRIES, ROUTER, replace(ENTRIES[ROUTER], measure=lambda: other))
    status, out, _ = fred("records", "check", ROUTER, "--json")
    [state] = json.loads(out)["records"]
    assert status == 1
    assert state["why"] == [
        "input changed: spec: routing",
        "input changed: measured_spec: routing",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "changes", "why"),
    [
        ("wafer-20-a", {"strategies": ("MP2-DP5-PP2",)}, "strategy: MP20-DP1-PP1, MP3-DP3-PP2"),
        ("wafer-20-a", {"flits": (128, 512, 2048)}, "flits: 8192"),
        ("wafer-20-a", {"collectives": ("in-network",)}, "collectives: in-network, ring"),
        ("wafer-20-controllers", {"phases": ("load_0",)}, "phase: store_0"),
        ("mesh-5x4-phases", {"flits": (128, 512, 2048, 4096)}, "flits: 4096, 8192"),
        ("iteration-mesh-5x4", {"algorithm": "ring"}, "algorithm"),
        ("mesh-8x8-saturation", {"seed": 2}, "seed"),
    ],
)
def test_other_inputs_are_told_from_those_of_a_record(
    name: str, changes: dict[str, Any], why: str
) -> None:
    record = validate(ENTRIES[name].model, shipped(name), name)
    measurement = ENTRIES[name].measure()
    assert list(measurement.other_inputs(record)) == []
    assert why.partition(":")[0] in ENTRIES[name].kind.inputs
    assert why in list(replace(measurement, **changes).other_inputs(record))


OTHER = "another"


def with_others(record: Any, names: Iterable[str]) -> Any:
    """Return a record in which each of these inputs is another: keys of it, or of its first row."""
    top, first = dict[str, Any](), dict[str, Any]()
    for name in names:
        value = getattr(record, name, None)
        if isinstance(value, FileModel):
            key = next(iter(type(value).model_fields))
            top[name] = value.model_copy(update={key: OTHER})
        elif name == "curve":
            top["curves"] = record.curves[1:]
        else:
            (top if hasattr(record, name) else first)[name] = OTHER
    if first:
        row, *others = record.rows
        top["rows"] = (row.model_copy(update=first), *others)
    return record.model_copy(update=top)


@pytest.mark.slow
@pytest.mark.parametrize("name", ENTRIES)
def test_every_input_of_every_record_makes_it_stale(name: str) -> None:
    """Each input that `fred records list -v` lists is compared, and nothing else is."""
    entry, measurement = ENTRIES[name], ENTRIES[name].measure()
    record = load_model(entry.model, record_path(name, entry))
    assert list(measurement.other_inputs(record)) == []
    why = measurement.other_inputs(with_others(record, entry.kind.inputs))
    assert sorted(text.partition(":")[0] for text in why) == sorted(entry.kind.inputs)


@pytest.mark.slow
@pytest.mark.parametrize("name", ENTRIES)
def test_other_verilog_makes_every_record_stale(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    measurement = ENTRIES[name].measure()
    record: Any = load_model(ENTRIES[name].model, record_path(name, ENTRIES[name]))
    hashes = measurement.recorded_hashes(record)
    assert hashes and None not in hashes.values()
    monkeypatch.setattr(Measurement, "hashes", lambda _: dict.fromkeys(hashes, "0" * 64))
    state = check(name, ENTRIES[name])
    assert (state.state, state.why) == (STALE, tuple(f"design changed: {one}" for one in hashes))


@pytest.mark.parametrize("name", ["adders", "areas-int8x1"])
def test_inputs_of_a_synthesis_are_all_that_a_record_says_of_it(name: str) -> None:
    entry, measurement = ENTRIES[name], ENTRIES[name].measure()
    assert list(measurement.other_inputs(load_model(entry.model, record_path(name, entry)))) == []
    assert sorted({*measurement.head()} - {"tools"}) == sorted(entry.kind.inputs)


def test_another_version_of_a_simulator_is_noted(fred: Fred, records: Path) -> None:
    changed(records, lambda record: record["simulators"][0].update(version="10.9"))
    [state] = fred.json("records", "check", ROUTER)["records"]
    assert state["state"] == CURRENT
    assert any(note.startswith("icarus 10.9 measured, ") for note in state["notes"])


def test_sources_that_were_no_commit_are_noted(fred: Fred, records: Path) -> None:
    changed(records, lambda record: record["source"].update(git_commit="abc-dirty"))
    [state] = fred.json("records", "check", ROUTER)["records"]
    assert state["notes"][-1] == "measured on sources that are no commit"


@pytest.mark.parametrize("text", ["{", "{}", '{"schema": "fred-mesh-timing/2"}'])
def test_a_damaged_record_is_stale(text: str, fred: Fred, records: Path) -> None:
    (records / f"{ROUTER}.json").write_text(text)
    status, out, _ = fred("records", "check", ROUTER, "--json")
    [state] = json.loads(out)["records"]
    assert status == 1 and state["why"][0].startswith("damaged: ")
    [row] = [one for one in fred.json("records", "list")["records"] if one["record"] == ROUTER]
    assert row["date"] is None


def test_what_an_installation_lacks_makes_no_record_stale(
    fred: Fred, records: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("fred_cli.records.registry.ROOT", tmp_path)
    [state] = fred.json("records", "check", ROUTER)["records"]
    assert state["state"] == "unknown" and "mesh-5x4.yaml" in state["why"][0]


def test_wrong_names_are_refused(fred: Fred) -> None:
    for command in ("check", "update"):
        status, _, err = fred("records", command, "mesh-5x5")
        assert status == 2
        assert err == (
            f"error: NAME: must be one of the {len(ENTRIES)} names that 'fred records list' lists, "
            "not 'mesh-5x5'; did you mean 'mesh-5x4'?\n"
        )
    status, _, err = fred("records", "update")
    assert status == 2 and "must be given, or --stale, and not both" in err


def measured(self: RouterMeasurement, *_: object) -> Any:
    return of(ROUTER) | {"seed": 5, "date": "2026-01-01", "minutes": 0.5}


def test_an_update_replaces_the_record(
    fred: Fred, records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RouterMeasurement, "record", measured)
    assert fred.json("records", "update", ROUTER) == {"updated": [ROUTER]}
    record = json.loads((records / f"{ROUTER}.json").read_text())
    assert (record["seed"], record["minutes"]) == (5, 0.5)
    [row] = [one for one in fred.json("records", "list")["records"] if one["record"] == ROUTER]
    assert (row["minutes"], row["date"]) == (0.5, "2026-01-01")


def test_rows_of_unchanged_networks_are_kept(
    fred: Fred, records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = load_model(NetworkRecord, records / "networks-fp16x1.json")
    hashes = {f"{one.network} of {one.ports} ports": one.verilog_sha256 for one in known.networks}
    changed = next(iter(hashes))
    monkeypatch.setattr(NetworksMeasurement, "hashes", lambda _: {**hashes, changed: "0"})
    monkeypatch.setattr(NetworksMeasurement, "other_inputs", lambda *_: iter(()))
    row = {**known.networks[0].model_dump(), "area_um2": 1.0, "git_commit": ""}
    monkeypatch.setattr(NetworksMeasurement, "_measured", lambda *_: row)
    status, _, err = fred("records", "update", "--changed", "networks-fp16x1")
    assert status == 0, err
    first, *others = load_model(NetworkRecord, records / "networks-fp16x1.json").networks
    assert (first.area_um2, first.verilog_sha256) == (1, "0")
    kept = [one.model_copy(update={"git_commit": ""}) for one in known.networks[1:]]
    assert [one.model_copy(update={"git_commit": ""}) for one in others] == kept
    assert all(one.git_commit for one in others)


def test_rows_are_kept_only_where_a_record_has_some(fred: Fred, records: Path) -> None:
    status, _, err = fred("records", "update", "--changed", ROUTER)
    wanted = f"error: {ROUTER}: --changed: must be left out for a record without kept rows\n"
    assert (status, err.splitlines(keepends=True)[-1]) == (2, wanted)


def test_only_stale_records_are_updated(
    fred: Fred, records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [*ENTRIES]:
        if name not in (ROUTER, "endpoint"):
            monkeypatch.delitem(ENTRIES, name)
    monkeypatch.setattr(RouterMeasurement, "record", measured)
    assert fred.json("records", "update", "--stale") == {"updated": []}
    changed(records, other_hash)
    assert fred.json("records", "update", "--stale") == {"updated": [ROUTER]}


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError("no space")])
def test_an_update_that_is_cut_short_leaves_the_record(
    error: BaseException, fred: Fred, records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stops(*_: object) -> Any:
        raise error

    before = {path.name: path.read_bytes() for path in records.iterdir()}
    monkeypatch.setattr(RouterMeasurement, "figures", stops)
    status, _, _ = fred("records", "update", ROUTER)
    assert status != 0
    assert {path.name: path.read_bytes() for path in records.iterdir()} == before


def test_a_measurement_that_is_no_record_is_not_written(
    fred: Fred, records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (records / f"{ROUTER}.json").read_bytes()
    monkeypatch.setattr(RouterMeasurement, "record", lambda *_: of(ROUTER) | {"router": None})
    status, _, err = fred("records", "update", ROUTER)
    assert status == 2 and err.startswith(f"error: {ROUTER}: router")
    assert (records / f"{ROUTER}.json").read_bytes() == before


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_measured(
    fred: Fred, records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(records)
    records.write_text("a file")
    monkeypatch.setattr(RouterMeasurement, "figures", lambda *_: pytest.fail("measured"))
    status, _, err = fred("records", "update", ROUTER)
    assert status == 2 and err.startswith("error: ") and len(err.splitlines()) == 1
