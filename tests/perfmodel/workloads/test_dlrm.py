"""Tests of perfmodel.workloads.dlrm."""

import re
from pathlib import Path

import pytest

from fred_hw.errors import InputError
from perfmodel.training.compute import Npu
from perfmodel.workloads.dlrm import dlrm
from perfmodel.workloads.workload import load_workload, workload_path

FEW, MANY = (f"must be an integer from 1 to {1 << bits}" for bits in (20, 30))


def test_small_model_worked_by_hand() -> None:
    network = dlrm(3, [5, 4], [10, 20], [1, 6], 4, [7, 1])
    bottom, tables, interaction, top = network.layers
    assert bottom.parameters == 3 * 5 + 5 + 5 * 4 + 4
    assert bottom.forward_flops == 2 * (3 * 5 + 5 * 4)
    assert tables.parameters == tables.shared_parameters == 30 * 4
    assert (tables.all_to_alls, tables.all_to_all_numbers) == (1, 2 * 4)
    assert tables.operators[0].moved_numbers == 7 * 4 + 2 * 4
    # Three vectors make three pairs, which go on with the first of them.
    assert (interaction.parameters, interaction.output_numbers) == (0, 3 + 4)
    assert top.parameters == 7 * 7 + 7 + 7 * 1 + 1
    assert network.input_bytes == 4 * 3 + 4 * 7
    assert network.shares and not network.splits and not network.has_sequence


def test_tables_are_read_where_they_are_looked_up_alone() -> None:
    npu = Npu(hbm_bytes_per_s=1e12)
    small, large = (dlrm(3, [4], [rows], [2], 4, [1]).layers[1] for rows in (10, 10**9))
    assert npu.layer_s(small, 5, 1) == npu.layer_s(large, 5, 1)
    assert npu.layer_s(small, 5, 1).forward_s == pytest.approx(5 * 2 * (2 * 4 + 4) / 1e12)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("dense: 13", "dense: 0", f"dense: {FEW}, not 0"),
        ("bottom: [512, 256, 128]", "bottom: []", "bottom: must have 1 or more entries, not []"),
        ("256, 128]", "256]", "bottom: must end with embedding, which is 128, not 256"),
        ("[40000000,", "[0,", f"tables.0: {MANY}, not 0"),
        (
            "lookups: [3,",
            "lookups: [",
            "lookups: must have as many entries as tables, which are 26, not 25",
        ),
        ("lookups: [3,", "lookups: [-1,", f"lookups.0: {MANY}, not -1"),
        ("embedding: 128", "embedding: 1.5", f"embedding: {FEW}, not 1.5"),
        ("512, 256, 1]", "x]", f"top.2: {MANY}, not 'x'"),
    ],
)
def test_bad_keys_are_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "d.yaml"
    text = workload_path("dlrm").read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))
    with pytest.raises(InputError, match=rf"d\.yaml: {re.escape(said)}$"):
        load_workload(str(path))


def test_a_row_of_each_table_is_looked_up_by_default(tmp_path: Path) -> None:
    path = tmp_path / "d.yaml"
    text = workload_path("dlrm").read_text()
    path.write_text(re.sub(r"lookups: .*\n", "", text))
    network = load_workload(str(path)).network
    assert network.input_bytes == 4 * 13 + 4 * 26
