"""Tests of fred_cli.explore.server, by HTTP."""

import csv
import io
import json
import re
from collections.abc import Mapping
from html import unescape
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
import yaml

from fred_cli.explore.details import detail
from fred_cli.explore.server import open_server
from fred_cli.explore.table import Source, Table
from fred_hw.errors import InputError
from studies.study.store import Store, create_store, open_store

from .conftest import served
from .stores import SPACE, evaluated, table_of

EXAMPLES = Path(__file__).parents[3] / "examples"
LOCAL = "default-src 'none'; script-src 'self'; connect-src 'self';"


def got(
    address: str, path: str, headers: Mapping[str, str] = {}, method: str = "GET"
) -> tuple[int, Mapping[str, str], bytes]:
    """Return status, headers and body; the path is sent as it is."""
    connection = HTTPConnection(urlsplit(address).netloc, timeout=60)
    try:
        connection.putrequest(method, path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def test_page_is_served_with_all_that_it_loads(address: str) -> None:
    status, headers, body = got(address, "/")
    assert status == 200 and headers["Content-Security-Policy"].startswith(LOCAL)
    assert headers["Cache-Control"] == "no-store"
    text = body.decode()
    for path in ("/explore.css", "/explore.js"):
        assert path in text and got(address, path)[0] == 200
    script = "/bokeh-" + text.partition('"/bokeh-')[2].partition('"')[0]
    assert len(got(address, script)[2]) > 1_000_000
    assert "http" not in text.replace("http-equiv", "")


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "attacker.example"},
        {"Host": "attacker.example:80"},
        {"Host": "127.0.0.1"},
        {"Host": ""},
        {"Origin": "http://attacker.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1"},
    ],
    ids=lambda headers: "-".join(*headers.items()),
)
@pytest.mark.parametrize("path", ["/", "/view", "/points.csv", "/nothing"])
def test_other_hosts_and_origins_are_refused(
    address: str, path: str, headers: Mapping[str, str]
) -> None:
    status, _, body = got(address, path, headers)
    assert (status, body) == (403, b"forbidden\n")


def test_own_names_are_accepted(address: str) -> None:
    port = urlsplit(address).port
    for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
        assert got(address, "/", {"Host": host, "Origin": f"http://{host}"})[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        *("/store.json", "/rows-1/00000001.parquet", "/../store.json", "/..%2fstore.json"),
        *("//etc/passwd", "/etc/passwd", "/point/../topology.yaml", "/point/0/../../x.yaml"),
        *("/point/0/store.json", "/point/zz/topology.yaml", "/explore.js/..", "/bokeh.js"),
    ],
)
def test_no_path_leads_to_a_file(address: str, path: str) -> None:
    assert got(address, path)[0] == 404


def test_nothing_can_be_written(address: str) -> None:
    for method in ("POST", "PUT", "DELETE"):
        assert got(address, "/view", method=method)[0] == 501


def test_a_wrong_view_is_refused_in_one_line(address: str) -> None:
    for path, said in (
        ("/view?x=none", "x: must be a column of numbers that vary, not 'none'"),
        ("/points?point=77", "point: must be the key of a point in the store, not '77'"),
    ):
        status, _, body = got(address, path)
        assert (status, json.loads(body)) == (400, {"error": said})


def test_csv_has_the_points_of_the_view(address: str, table: Table) -> None:
    query = urlencode({"filter": "topology", "is.topology": "small.yaml"})
    _, headers, body = got(address, f"/points.csv?{query}")
    assert headers["Content-Disposition"] == 'attachment; filename="points.csv"'
    rows = list(csv.DictReader(io.StringIO(body.decode())))
    assert len(rows) == 4 and {row["topology"] for row in rows} == {"small.yaml"}
    times = [float(row["time_per_sample_s"]) for row in rows]
    assert times == sorted(times)
    assert times[0] == min(table.row(table.keys[row["key"]])["time_per_sample_s"] for row in rows)


def test_files_of_a_point_are_yaml(address: str, table: Table) -> None:
    row = table.row(8)
    status, headers, body = got(address, f"/point/{row['key']}/topology.yaml")
    assert status == 200 and headers["Content-Type"].startswith("application/yaml")
    assert yaml.safe_load(body)["io_bytes_per_s"] == row["topology.io_bytes_per_s"]
    assert got(address, f"/point/{row['key']}/workload.yaml")[0] == 404  # built in: no file


def test_all_links_of_the_page_and_of_a_point_are_answered(tmp_path: Path) -> None:
    space = {**SPACE, "topology": "small.yaml", "strategy": "MP1-DP4-PP1"}
    space |= {"energy": "e.yaml", "endpoint": "core-driven:a.yaml"}
    for name, example in (("e.yaml", "energy"), ("a.yaml", "endpoint")):
        (tmp_path / name).write_text((EXAMPLES / f"{example}.yaml").read_text())
    store = evaluated(tmp_path, space)
    key = next(iter(Source(store).table().keys))
    with served(store) as address:
        shown = [got(address, "/")[2].decode()]
        shown.append(json.loads(got(address, f"/points?x=npu.peak_flops&point={key}")[2])["html"])
        shown += [json.loads(got(address, "/view")[2])[part] for part in ("controls", "table")]
        links = [unescape(one) for one in re.findall(r'(?:href|src)="([^"]+)"', "".join(shown))]
        local = {one for one in links if one.startswith("/")}
        assert {one: got(address, one)[0] for one in local} == dict.fromkeys(local, 200)
    files = {one.rpartition("/")[2] for one in local if one.startswith("/point/")}
    assert files == {"topology.yaml", "energy.yaml", "endpoint.yaml"}


def test_a_point_has_its_charts_and_its_command_line(address: str, table: Table) -> None:
    first, second = table.row(0)["key"], table.row(8)["key"]
    found = json.loads(got(address, f"/points?x=npu.peak_flops&point={first}&pin={second}")[2])
    assert found["charts"].keys() == {
        *("chart-breakdown", "chart-timeline-point", "chart-timeline-pin")
    }
    assert "fred estimate --topology topology.yaml --workload resnet-50" in found["html"]
    assert "<td>topology</td>" in found["html"]
    assert found["html"].count('<svg class="loads"') > 2


def test_points_that_differ_in_their_npus_alone_have_a_bar_each(address: str, table: Table) -> None:
    rows = [row for row in map(table.row, range(16)) if "error" not in row]
    first, second = (
        next(row for row in rows if row["npu.peak_flops"] == peak) for peak in (1e15, 4e15)
    )
    query = f"x=npu.peak_flops&point={first['key']}&pin={second['key']}"
    found = json.loads(got(address, f"/points?{query}")[2])
    bars = json.dumps(found["charts"]["chart-breakdown"])
    assert "first point" in bars and "second point" in bars


def test_a_failed_point_has_its_reason(address: str, table: Table) -> None:
    key = table.row(1)["key"]
    found = json.loads(got(address, f"/points?x=npu.peak_flops&point={key}")[2])
    assert found["charts"] == {}
    assert "must have MP1, as the layers of resnet-50 do not split" in found["html"]


def test_a_point_that_cannot_be_simulated_here_has_the_reason(
    tmp_path: Path, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = table_of(tmp_path / "s", [{**table.row(0), "key": "0" * 32}])
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()  # paths of timing records are relative to it
    assert detail(shown, "0" * 32).problem.startswith("cannot be simulated again here: ")


def test_switches_are_shown(tmp_path: Path) -> None:
    base = {"specification": "tiny-2", "level": "switch", "clock_ns": 0.5}
    base |= {"liberty": "/cells.lib", "effort": "area", "verilog_sha256": "0"}
    rows = [{**base, "specification.lanes": lanes, "area_um2": 10.0 * lanes} for lanes in (1, 2)]
    table = table_of(tmp_path / "store", rows)
    with served(open_store(tmp_path / "store")) as address:
        assert "2 of 2 points" in json.loads(got(address, "/view")[2])["status"]
        key = table.row(0)["key"]
        html = json.loads(got(address, f"/points?point={key}")[2])["html"]
    assert "tiny-2, switch</h3>" in html and "<dd>10</dd>" in html
    assert "fred synth specification.yaml --level switch --liberty /cells.lib" in html


def test_points_without_varying_numbers_are_a_table(tmp_path: Path) -> None:
    rows = [{"topology": "mesh:2x2", "error": text} for text in ("must fit", "must divide")]
    table_of(tmp_path / "store", rows)
    with served(open_store(tmp_path / "store")) as address:
        found = json.loads(got(address, "/view?brush=0,1,0,1&front=1")[2])
    assert found["charts"] == found["data"] == {}
    assert found["status"].startswith("2 of 2 points shown, 2 failed; no numbers differ")
    assert found["table"].count("data-open") == 2
    assert 'name="x"' not in found["controls"] and "Pareto" not in found["table"]


def test_text_of_files_is_escaped(tmp_path: Path) -> None:
    name = "<img src=x onerror=alert(1)>.yaml"
    space = {**SPACE, "topology": ["small.yaml", name], "strategy": "MP1-DP4-PP1"}
    (tmp_path / name).write_text("kind: mesh\ncolumns: 2\nrows: 2\n")
    store = evaluated(tmp_path, space)
    with served(store) as address:
        view = "x=npu.peak_flops&column=topology&filter=topology"
        found = json.loads(got(address, f"/view?{view}")[2])
        key = next(iter(Source(store).table().keys))
        last = list(Source(store).table().keys)[-1]
        points = json.loads(got(address, f"/points?x=npu.peak_flops&point={key}&pin={last}")[2])
    for html in (found["controls"], found["table"], points["html"]):
        assert "<img" not in html and "&lt;img src=x" in html


def test_a_store_that_is_being_written_is_read(tmp_path: Path, table: Table) -> None:
    rows = [table.row(place) for place in range(16)]
    store = create_store(tmp_path / "written")
    store.append(rows[:8])
    with served(store) as address, store.locked():
        assert "4 of 8 points" in json.loads(got(address, "/view")[2])["status"]
        store.append(rows[8:])
        (store.path / "rows-1/00000003.parquet.part").write_bytes(b"half")
        assert "8 of 16 points" in json.loads(got(address, "/view")[2])["status"]


def test_a_marker_stays_that_of_its_point_while_failed_points_are_computed_again(
    tmp_path: Path, table: Table
) -> None:
    rows = [table.row(place) for place in range(16)]
    store = create_store(tmp_path / "written")
    store.append(rows)
    failed = [row["key"] for row in rows if "error" in row]
    with served(store) as address, store.locked():
        groups = json.loads(got(address, "/view?x=npu.peak_flops")[2])["data"]["chart-scatter"]
        keys = [key for name, one in groups.items() if "group" in name for key in one["key"]]
        assert keys
        store.remove_failed(failed)
        assert "8 of 8 points" in json.loads(got(address, "/view")[2])["status"]
        for key in keys:
            found = json.loads(got(address, f"/points?x=npu.peak_flops&point={key}")[2])
            row = table.row(table.keys[key])
            title = f"{row['workload']}, {row['strategy']}, {row['topology']}</h3>"
            assert title in found["html"]
        gone = json.loads(got(address, f"/points?x=npu.peak_flops&point={failed[0]}")[2])
    assert gone["error"] == f"point: must be the key of a point in the store, not {failed[0]!r}"


def test_a_port_in_use_is_refused(store: Store, address: str) -> None:
    port = urlsplit(address).port
    assert port
    with pytest.raises(InputError, match=rf"^--port: must be a free port, not {port} "):
        open_server(Source(store), "store", port)
