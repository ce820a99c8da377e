"""Tests of `fred explore`."""

import json
import re
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from studies.study.store import create_store
from tests.fred_cli.explore.stores import evaluated
from tests.fred_cli.fred import Fred


def test_a_folder_without_a_store_is_refused(fred: Fred, place: Path) -> None:
    (place / "other").mkdir()
    for name, said in (
        ("missing", r"missing: must be the store of a study, not without one"),
        ("other", r"other: must be the store of a study, not without one"),
        ("a-file", r"a-file: must be the store of a study, not a file"),
    ):
        status, out, err = fred("explore", name, "--no-browser")
        assert (status, out) == (2, "") and re.fullmatch(rf"error: {said}\n", err)


def test_an_empty_store_is_refused(fred: Fred, place: Path) -> None:
    create_store(place / "store")
    status, _, err = fred("explore", "store", "--no-browser")
    assert (status, err) == (2, "error: store: must have a point, not none\n")


def test_a_port_in_use_is_refused(fred: Fred, place: Path) -> None:
    evaluated(place / "study")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status, out, err = fred("explore", "study/store", "--no-browser", "--port", str(port))
    assert (status, out) == (2, "")
    assert re.fullmatch(rf"error: --port: must be a free port, not {port} \(.*\)\n", err)


@pytest.mark.slow
def test_page_is_served_until_an_interrupt(tmp_path: Path) -> None:
    store = evaluated(tmp_path / "study")
    command = [sys.executable, "-c", "from fred_cli.start import start; start()", "explore"]
    command += [str(store.path), "--port", "0", "--no-browser", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout and process.stderr
        said = ""
        while not said.endswith("}\n"):
            said += process.stdout.readline()
        found = json.loads(said)
        assert found["points"] == 16
        assert found["address"].startswith("http://127.0.0.1:")
        with urlopen(found["address"]) as answer:
            assert answer.status == 200
        process.terminate()
        assert process.stderr.read() == "terminated\n"
    assert process.returncode == 143
