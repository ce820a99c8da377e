"""The file of a record is checked before the work that it is to record."""

from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path

import pytest

from testbench.campaigns import attack
from testbench.coverage import measure
from testbench.evidence.record_file import record_file
from testbench.formal import descriptor_queues

MESSAGE = "must be a file in a folder that exists, not"


def test_a_file_need_not_exist(tmp_path: Path) -> None:
    assert record_file(str(tmp_path / "new.json")) == tmp_path / "new.json"
    with pytest.raises(ArgumentTypeError, match=MESSAGE):
        record_file(str(tmp_path))
    with pytest.raises(ArgumentTypeError, match=MESSAGE):
        record_file(str(tmp_path / "no" / "new.json"))


@pytest.mark.parametrize("main", [attack.main, measure.main, descriptor_queues.main])
@pytest.mark.parametrize("path", ["no/such/file", "."])
def test_each_record_is_refused_before_the_work(
    main: Callable[[list[str]], int], path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--record", path])
    assert ended.value.code == 2
    assert f"--record: {MESSAGE} {path!r}" in capsys.readouterr().err
