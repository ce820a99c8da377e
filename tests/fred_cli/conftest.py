"""The command line run in this process, in an empty folder that holds some input files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fred_cli import progress
from tests.fred_cli.fred import Fred
from tests.kept_designs import keep_designs
from tests.records import give_records, router, whole_switch

NARROW = """npus: 4
switches:
- {name: l2, chiplets: 1, ports: 2}
- {name: l1_0, above: l2, chiplets: 1, ports: 3, uplinks: 1, npus: [0, 1]}
- {name: l1_1, above: l2, chiplets: 1, ports: 3, uplinks: 1, npus: [2, 3]}
"""
TEXTS = {
    "small.yaml": "ports: 4\nmiddle_switches: 3\nformat: int8\nlanes: 1\n",
    "no-link.yaml": "ports: 4\nprotocol: {link: false}\n",
    "unknown-key.yaml": "ports: 4\nbogus: 1\n",
    "one-router.yaml": "width: 1\nheight: 1\n",
    "one-port.yaml": "ports: 1\n",
    "empty.yaml": "",
    "not-yaml.yaml": "ports: [4\n",
    "a-list.yaml": "[1, 2]\n",
    "unit.v": "module unit; endmodule\n",
    "a-file": "a file, where a folder is wanted\n",
    "circular.yaml": "- {inputs: [0], outputs: [0]}\n- {inputs: [1, 2], outputs: [2]}\n"
    "- {inputs: [3], outputs: [1, 3]}\n",
    "overlap.yaml": "- {inputs: [0, 1], outputs: [0]}\n- {inputs: [1], outputs: [1]}\n",
    "out-of-range.yaml": "- {inputs: [0], outputs: [4]}\n",
    "slow.yaml": "kind: mesh\ncolumns: 2\nrows: 2\nlink_bytes_per_s: 0\n",
    "own.yaml": "kind: transformer\nlayers: 4\nhidden: 256\nheads: 4\nsequence: 128\n"
    "vocabulary: 1000\nstrategy: MP2-DP2-PP1\nmode: stationary\nmicrobatches: 1\n"
    "samples_per_replica: 4\n",
    "adaptive.yaml": "width: 5\nheight: 4\nrouting: odd_even_adaptive\n",
    "two-roots.yaml": "npus: 2\nswitches:\n- {name: a, chiplets: 1, ports: 2, npus: [0, 1]}\n"
    "- {name: b, chiplets: 1, ports: 2, controllers: 2}\n",
    "bare-leaf.yaml": "npus: 2\nswitches:\n- {name: a, chiplets: 1, ports: 4, npus: [0, 1]}\n"
    "- {name: b, above: a, chiplets: 1, ports: 2, uplinks: 2}\n",
    "narrow.yaml": NARROW,
    "few-phases.yaml": NARROW.replace("npus: [0, 1]", "npus: [0, 1], protocol: {phases: 1}"),
    "wafer.yaml": (Path(__file__).parents[2] / "examples/wafer-4.yaml").read_text(),
    "fives.yaml": "kind: fred\nl1:\n- {count: 4, npus: 5, io_controllers: 4, record: l1-12}\n"
    "l2_record: l2-10\nin_network: true\nl1_l2_bytes_per_s: 1.2e+13\n",
    "mesh.yaml": "width: 3\nheight: 2\nlanes: 1\n",
    "one-flow.yaml": "- {inputs: [0, 1, 2, 3], outputs: [0, 1, 2, 3]}\n",
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder that commands run in."""
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "binary.yaml").write_bytes(b"\x80\xff\x00\x81")
    (tmp_path / "folder.yaml").mkdir()
    monkeypatch.chdir(tmp_path)
    # However slow the machine, no progress unless a test is about that.
    monkeypatch.setattr(progress, "_QUIET_S", 600.0)
    return tmp_path


@pytest.fixture
def fred(place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Fred:
    """Return what runs `fred` in that folder."""
    return Fred(monkeypatch, capfd)


@pytest.fixture
def kept_designs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Generate no design twice, in this test or others that keep theirs."""
    keep_designs(monkeypatch)


@pytest.fixture
def refused(fred: Fred, place: Path) -> Callable[..., str]:
    """Return a function that runs `fred` on bad input and returns the one line that it ends in."""

    def run(*arguments: str) -> str:
        before = sorted(place.rglob("*"))
        status, out, err = fred(*arguments)
        assert (status, out) == (2, ""), err
        assert err.startswith("error: ") and err.count("\n") == 1 and err.endswith("\n"), err
        assert sorted(place.rglob("*")) == before, "something was written"
        return err.rstrip("\n")

    return run


@pytest.fixture
def half_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make up switches and routers that leave half of the link rate for payload, at no latency."""
    switch = whole_switch(0.5, 0, preemption_cycles=0)
    switches: dict[str, Any] = dict.fromkeys(("l1-11", "l1-12", "l2-10"), switch)
    give_records(tmp_path / "records", monkeypatch, switches, router(0.5))
