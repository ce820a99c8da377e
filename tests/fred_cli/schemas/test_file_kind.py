"""Tests of fred_cli.schemas: schemas take and refuse what the readers do."""

import json
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from docs.generate.files import PACKAGES
from docs.generate.reference import EXAMPLES, files, models
from fred_cli.schemas.file_kind import FILES
from fred_hw.errors import InputError
from fred_hw.files import FileModel
from fred_hw.reading import read_data
from perfmodel.topology.files import KINDS as TOPOLOGIES
from perfmodel.workloads.file import KINDS as WORKLOADS
from perfmodel.workloads.workload import workload_path
from tests.bases import bases

SCHEMAS = {name: kind.schema() for name, kind in FILES.items()}
CHECKS = {name: Draft202012Validator(schema) for name, schema in SCHEMAS.items()}

VALUES: list[Any] = [None, True, 0, 1, -1, 2, 3, 12, 33, 65, 1.5, 4.0, 3e12, 1e25, 1 << 31]
VALUES += ["x", "2e9", "auto", "MP1-DP2-PP1", "MP0-DP2-PP1", "ring", [], {}, [1], [2, 2], ["x"]]
VALUES += [{"x": 1}]
"""What is tried in the place of each value of a file."""

ONLY_THE_READER = (
    r"(?:an integer|port numbers).* not \[?(?:\d+\.0|1e\+25)",  # which is an integer to JSON Schema
    r"must be (?:\d+ or more to cover|\d+ or more to send|31 or less in packets)",
    r"must have 2 (?:or more|to \d+) NPUs|must have at most 4096 NPUs|with \d+ or more ports",
    r"must be one of the records|must be l1-1|must be an existing file|must join \d+ L1 switches",
    r"must be a divisor of|must be ports from|must be disjoint|must be the name of a file",
    r"must be (?:at most|below) (?:experts|npu\.\w+)|must be 1 to \d+, the NPUs of",
    r"must have \d+ entries|must end with embedding|must have an EP|must have MP of 2",
    r"must be a number from \S+ to \S+, not '|must be above kmin_kb|must be at most t_high_us",
    r"must be one of (?:mesh:COLUMNSxROWS|wafer|the \d+ names).* or (?:a path ending|core-driven)",
    r"must be one of (?:mesh:2x2|first-principles, .*|.*(?=, not 'mesh:2x2)), not '",
    r"must be like MP2-DP5-PP2|must be given with strategies: all|must be 1 to 4, not",
    r"must be a number from \S+ to 1e\+\d+, not '|must have as many entries as t(?:opology|ables)",
    r"routing: must be .* with(?:out)? wrap|must be 1 or at least 3 with wrap",
    r"controllers: must be false with wrap|on links of 2 virtual channels per class",
    r"height: must give at most 128 NPUs|width: must be 2 or more in one row of routers",
    r"must be given and above 0 with roofline|must be given with expanded",
    r"is required with (?:PER|MEMORY|roofline)",
    r"must be at most \d+ NPUs in total|must be at most \d+, one for each NPU",
    r"must be given, as other dimensions have prices",
    r"must be left out with \w+_MEMORY",
    r"must be a number for \w+, not null|must be the \d+ NPUs of|must be null, as",
    r"switches\.\d\.\w+: must be|must connect every NPU with|npus: must each be connected to",
    r"lanes: must make flits|must have each NPU",
    r"must be \d+ or more, as each of fsms owns one|must be 0 or at most window_packets",
    r"must be npu_0 to npu_\d+|must lead from each NPU|must join nodes that no|must be two nodes",
    r"clock_ns: must be [\d.]+ or more with auto registers|must be given with baseline alone",
)
"""What a schema cannot say: that which binds values to each other and to files."""

FROM_OTHER_FILES = ("space", "zip", "constraints")
"""Keys of a study whose values the files that it names allow or refuse."""

FOUND = {name: bases(name) for name in FILES}
BASES: dict[str, Any] = {
    **{base: data for found in FOUND.values() for base, data in found.items()},
    "specification": {"ports": 8, "protocol": {"phases": 4, "window_packets": 64}},
    "flows": [{"inputs": [0, 1], "outputs": [0]}],
    "levels": {
        "kind": "fred",
        "l1": [{"count": 4, "npus": 2, "io_controllers": 1, "record": "l1-12"}],
        "levels": [{"fan_in": 4, "bytes_per_s": 1e12, "record": "l1-12"}],
        "in_network": True,
    },
    "grouped": read_data(EXAMPLES / "llama-2-70b.yaml"),
    "experts": read_data(workload_path("mixtral-8x7b")),
    "study": {
        "space": {
            "topology": ["mesh:2x2"],
            "workload": "resnet-152",
            "strategy.dp": {"range": [1, 3], "step": 1},
            "npu.peak_flops": {"log_range": [1e15, 3e15], "points": 2},
            "npu.hbm_bytes": {"distribution": "normal", "mean": 8e10, "std": 1e9, "samples": 1},
        },
        "zip": [["topology", "workload"]],
        "constraints": ["fits_memory"],
    },
}
"""The example of every kind, and files with what that lacks."""

KIND_OF = {base: name for name, found in FOUND.items() for base in found}
KIND_OF |= {"levels": "topology", "grouped": "workload", "experts": "workload"}


@pytest.mark.parametrize(("name", "kinds"), [("topology", TOPOLOGIES), ("workload", WORKLOADS)])
def test_every_kind_has_an_example_or_a_file_that_is_shipped(
    name: str, kinds: Mapping[str, Any]
) -> None:
    assert FOUND[name].keys() == kinds.keys()


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_schema_is_one(schema: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(schema)


@pytest.mark.slow
def test_every_file_that_is_shipped_is_of_one_kind() -> None:
    shipped = [path for kind in FILES.values() for path in kind.shipped()]
    paths = [*shipped, *EXAMPLES.glob("*.yaml")]
    assert len(paths) > 18
    for path in paths:
        data = read_data(path)
        fitting = [name for name, check in CHECKS.items() if check.is_valid(data)]
        assert len(fitting) == 1, (path, fitting)
        assert path in files(FILES[fitting[0]])


def changed(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield copies of a file with one value replaced, one key gone or one more, and which."""
    if isinstance(value, dict):
        yield "+bogus", {**value, "bogus": 1}
        for key in value:
            yield f"-{key}", {name: one for name, one in value.items() if name != key}
    places = value.items() if isinstance(value, dict) else enumerate(value)
    for place, inner in list(places):
        options = [(f"{place} = {one!r}", deepcopy(one)) for one in VALUES]
        if isinstance(inner, dict | list):
            options += [(f"{place}.{how}", one) for how, one in changed(inner)]
        for how, one in options:
            copy = deepcopy(value)
            copy[place] = one
            yield how, copy


def keys_of(data: Any, schema: dict[str, Any]) -> Any:
    """Return a file with every optional key of its outermost model that has a default."""
    kind = data["kind"] if isinstance(data, dict) and "kind" in data else None
    for model in models(schema).values() if isinstance(data, dict) else ():
        own = model["properties"].get("kind", {}).get("enum")
        if data.keys() <= model["properties"].keys() and own == (kind and [kind]):
            default = {key: one.get("default") for key, one in model["properties"].items()}
            return {key: one for key, one in default.items() if one is not None} | data
    return data


@pytest.mark.slow_after_first
@pytest.mark.filterwarnings("ignore::fred_hw.errors.InputWarning")  # keys without effect
@pytest.mark.parametrize("base", BASES)
def test_schema_takes_and_refuses_what_the_reader_does(base: str, tmp_path: Path) -> None:
    name = KIND_OF[base]
    check, kind = CHECKS[name], FILES[name]
    whole = keys_of(BASES[base], SCHEMAS[name])
    tried = taken = 0
    path = tmp_path / "file.json"
    for how, data in [("as it is", whole), *changed(whole)]:
        path.write_text(json.dumps(data))
        try:
            kind.read(path)
            refused = None
        except InputError as error:
            refused = error.message
        allowed = check.is_valid(data)
        if refused is None:
            assert allowed, (how, next(check.iter_errors(data)).message)
        elif allowed and not (name == "study" and how.startswith(FROM_OTHER_FILES)):
            assert any(re.search(one, refused) for one in ONLY_THE_READER), (how, refused)
        tried, taken = tried + 1, taken + (refused is None)
    assert tried > 50
    assert 1 < taken < tried


def test_every_key_says_what_it_means() -> None:
    for schema in SCHEMAS.values():
        for title, model in models(schema).items():
            for key, field in model["properties"].items():
                assert field.get("description", "").endswith("."), (title, key)
                if re.search(r"(_s|_bytes|_flops|_cycles)$", key):
                    assert re.search(r"\[(B/s|s|B|FLOP/s|cycles)\]", field["description"]), key


def descendants(model: type[FileModel]) -> Iterator[type[FileModel]]:
    for one in model.__subclasses__():
        yield one
        yield from descendants(one)


def test_every_model_of_files_that_users_write_has_a_schema() -> None:
    named = {title for schema in SCHEMAS.values() for title in models(schema)}
    named |= {"SwitchSpec", "MeshSpec", "WaferSpec", "Kind"}
    named |= {"ReducingMeshSpec"}  # its file is that of a mesh
    # No file has these: a mesh gives them to its links.
    named |= {"ChoosingProtocol", "ChannelledProtocol"}
    written_by_us = {
        "fred_hw.adder_delays",
        "fred_hw.certificate",
        "perfmodel.switch_timing",
        "studies.rtl",
        "studies.saturation",
        "fred_cli.report",
    }
    missing = [
        one.__name__
        for one in descendants(FileModel)
        if one.__module__.startswith(tuple(f"{package}." for package in PACKAGES))
        and not one.__module__.startswith(tuple(written_by_us))
        and not one.__abstractmethods__
        and not one.__name__.startswith("_")
        # What one of these is made of has its keys there.
        and named.isdisjoint(found.__name__ for found in (one, *descendants(one)))
    ]
    assert missing == []
