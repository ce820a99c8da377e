"""Tests of testbench.designs; those of all records are hashed in the tests of `fred records`."""

from pathlib import Path

import pytest

from fred_hw.mesh.spec import MeshSpec
from fred_hw.spec import SwitchSpec
from testbench import designs
from testbench.designs import MeasuredDesign, endpoint_design, interconnect_design, routers_design

SMALL = SwitchSpec(ports=2, lanes=1)


def test_hashes_are_kept_by_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRED_HW_CACHE", str(tmp_path))
    monkeypatch.setattr(designs, "source_digest", lambda *_: "sources")
    texts = ["module a(); endmodule"]

    def written_(spec: SwitchSpec) -> list[str]:
        return [texts.pop()]

    one = MeasuredDesign(written_, (SMALL,))
    assert one.sha256 == one.sha256 and not texts
    texts.append("module a(b); input b; endmodule")
    monkeypatch.setattr(designs, "source_digest", lambda *_: "others")
    assert one.sha256 == one.sha256 and not texts
    texts += ["module a(); endmodule"] * 2
    monkeypatch.setattr(designs, "source_digest", lambda *_: None)
    assert one.sha256 == one.sha256 and not texts


@pytest.mark.slow
def test_designs_are_told_apart_by_what_they_are_of() -> None:
    other = SMALL.with_changes(format="bf16")
    found = [one.sha256 for one in map(interconnect_design, (SMALL, other))]
    assert len({*found, endpoint_design(SMALL).sha256}) == 3
    assert interconnect_design(SMALL).sha256 == found[0]


def test_equal_meshes_have_one_router() -> None:
    mesh = MeshSpec(width=2, height=2, lanes=1)
    assert routers_design([mesh, mesh]) == routers_design([mesh])
