"""Tests of `fred verify`, and of `fred route --certify`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fred_cli.fred import Fred

EXAMPLES = Path(__file__).parents[3] / "examples"


def test_a_wafer_is_certified_and_verified(fred: Fred, place: Path) -> None:
    wafer = str(EXAMPLES / "wafer-20.yaml")
    fred.out("route", wafer, "--strategy", "MP2-DP5-PP2", "--certify", "certificate.json")
    assert fred.out("verify", "certificate.json") == (
        "fabric: sound; 7 units\n"
        "phases: complete; strategy MP2-DP5-PP2\n"
        "mp_all_reduce: routed; 10 flows, 5 units\n"
        "dp_all_reduce: routed; 4 flows, 7 units\n"
        "pp_forward: routed; 5 flows, 5 units\n"
        "pp_backward: routed; 5 flows, 5 units\n"
        "valid certificate\n"
    )
    said = (EXAMPLES / "certificate.json").read_text()
    assert (place / "certificate.json").read_text() == said


def test_a_wrong_certificate_ends_in_1_and_says_why(fred: Fred, place: Path) -> None:
    fred.out("route", "demo-8", "--strategy", "MP2-DP2-PP2", "--certify", "c.json")
    data = json.loads((place / "c.json").read_text())
    words = data["sets"]["pp_forward"]["words"]
    words["switch"] = f"{int(words['switch'], 16) ^ 1:#x}"
    (place / "c.json").write_text(json.dumps(data))
    status, out, err = fred("verify", "c.json")
    assert (status, err) == (1, "")
    wrong, verdict = [line for line in out.splitlines() if "wrong" in line]
    assert wrong == "pp_forward: wrong; switch.middle_0 input 0 gets no data"
    assert verdict == "wrong certificate: pp_forward"
    status, out, _ = fred("verify", "c.json", "--json")
    found = json.loads(out)
    assert (status, found["valid"]) == (1, False)
    assert [x["name"] for x in found["findings"] if x["verdict"] == "wrong"] == ["pp_forward"]


def test_a_conflict_is_refuted_and_written_for_other_checkers(fred: Fred, place: Path) -> None:
    arguments = ("route", "demo-8", "circular.yaml", "--set", "middle_switches=2")
    assert fred(*arguments, "--certify", "c.json")[0] == 3
    assert (place / "c.json").read_text() == (EXAMPLES / "certificate-conflict.json").read_text()
    out = fred.out("verify", "c.json", "-o", "proofs")
    assert "flows: refuted; 3 flows cannot be active at once\nvalid certificate\n" in out
    formula = (place / "proofs/flows.cnf").read_text().splitlines()
    assert formula[:2] == ["p cnf 12 16", "1 2 0"]
    assert len(formula) == 17
    assert (place / "proofs/flows.drat").read_text() == "0\n"


def test_no_certificate_of_what_is_unknown(fred: Fred, place: Path) -> None:
    (place / "undecided.yaml").write_text(
        "- {inputs: [2, 5], outputs: [10, 11]}\n- {inputs: [0, 8], outputs: [4, 5]}\n"
        "- {inputs: [3, 4], outputs: [9]}\n- {inputs: [1], outputs: [2, 3]}\n"
        "- {inputs: [9], outputs: [1, 8]}\n"
    )
    arguments = ("route", "l1-12", "undecided.yaml", "--set", "middle_switches=2")
    status, _, err = fred(*arguments, "--max-conflicts", "0", "--certify", "c.json")
    warning = "warning: --certify: no file, as the search reached --max-conflicts\n"
    assert (status, err) == (4, warning)
    assert not (place / "c.json").exists()
    assert fred(*arguments, "--certify", "c.json")[0] == 3
    assert "flows: refuted" in fred.out("verify", "c.json")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("mesh.yaml --strategy MP2-DP1-PP1", "must be given with a switch or a wafer, not a mesh"),
        (
            "wafer.yaml --strategy MP4-DP1-PP1 --collectives ring",
            "collectives must be in-network, not ring",
        ),
        (
            "small-4 --strategy MP2-DP1-PP1-CP2",
            "strategy must be of MP, DP and PP only in a certificate, not MP2-DP1-PP1-CP2",
        ),
    ],
)
def test_what_has_no_certificate(
    refused: Callable[..., str], place: Path, line: str, message: str
) -> None:
    said = refused("route", *line.split(), "--certify", "c.json")
    assert said == f"error: route: --certify: {message}"
    assert not (place / "c.json").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"0x', '"0y', "sets.mp_all_reduce.words.l1_0: must be a hexadecimal number, like 0x1f"),
        ('"0x', '"0x' + 80_000 * "1", "sets.mp_all_reduce.words.l1_0: must be a hexadecimal"),
        ('"MP2-DP5', '"MP0-DP5', "strategy: must be of the form MP2-DP5-PP2"),
        ('"l1_0.0"', '"l1_0-0"', "endpoints.0: must be unit.port, like l1_0.3"),
        ("certificate/1", "certificate/2", "schema: must be one of fred-certificate/1"),
        ('"units"', '"unit"', "units: is required and was not given"),
        ('"ports": 10', '"ports": 65', "units.l2_p0.ports: must be an integer from 2 to 64"),
        ('"refutations": {}', '"refutations": {"x": {}}', "refutations.x.flows: is required"),
    ],
)
def test_bad_certificates_are_refused(
    refused: Callable[..., str], place: Path, old: str, new: str, message: str
) -> None:
    text = (EXAMPLES / "certificate.json").read_text()
    assert old in text
    (place / "c.json").write_text(text.replace(old, new, 1))
    assert f"error: c.json: {message}" in refused("verify", "c.json")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("wafer.yaml", "must be a routing certificate, not a wafer specification"),
        ("none.json", "must be an existing file, not a missing one"),
    ],
)
def test_other_files_are_refused(refused: Callable[..., str], name: str, message: str) -> None:
    assert refused("verify", name) == f"error: {name}: {message}"
