"""Tests of tracemodel.chakra.files, and of the schema and encoding below it."""

import gzip
import json
import math
import os
import re
import struct
import tracemalloc
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fred_hw.errors import InputError
from fred_hw.progress import listening
from tests.examples import examples
from tests.written import written
from tracemodel.chakra.encoding import MAX_ATTRS, MAX_DEPS
from tracemodel.chakra.files import encode, encode_for, read, read_tasks, write
from tracemodel.chakra.json_files import HEAD_BYTES
from tracemodel.chakra.kinds import KINDS, CollectiveType, NodeType
from tracemodel.chakra.node import Attr, InOut, Metadata, Node, Task
from tracemodel.chakra.traces import ENDINGS
from tracemodel.chakra.wire import MAX_MESSAGE_BYTES

from .golden import ALL_REDUCE, LLAMA, LLAMA_SHA256

_WORDS = {"int32": 32, "sint32": 32, "sfixed32": 32, "int64": 64, "sint64": 64, "sfixed64": 64}
_NATURAL = {"uint32": 32, "fixed32": 32, "uint64": 64, "fixed64": 64}
_SINGLE: dict[str, st.SearchStrategy[Any]] = {
    "double": st.floats(allow_nan=False),
    "float": st.floats(width=32, allow_nan=False),
    **{kind: st.integers(-(1 << bits - 1), (1 << bits - 1) - 1) for kind, bits in _WORDS.items()},
    **{kind: st.integers(0, (1 << bits) - 1) for kind, bits in _NATURAL.items()},
    "bool": st.booleans(),
    "string": st.text(max_size=5),
    "bytes": st.binary(max_size=5),
}
VALUES = {
    **_SINGLE,
    **{f"{kind}_list": st.lists(of, max_size=4).map(tuple) for kind, of in _SINGLE.items()},
}
FLOAT_MAX = float.fromhex("0x1.fffffep127")
TENSORS = st.none() | st.builds(InOut, *[st.text(max_size=3)] * 3)
ATTRS = st.sampled_from(sorted(KINDS)).flatmap(
    lambda kind: st.builds(
        Attr, st.text(max_size=4), st.just(kind), VALUES[kind], st.text(max_size=2)
    )
)
_U64 = st.integers(0, (1 << 64) - 1)
_DEPS = st.lists(_U64, max_size=4).map(tuple)
NODES = st.builds(
    Node,
    _U64.filter(bool),
    st.text(max_size=4),
    st.integers(0, 20),
    _DEPS,
    _DEPS,
    _U64,
    _U64,
    TENSORS,
    TENSORS,
    st.lists(ATTRS | st.builds(Attr, st.text(max_size=3)), max_size=4).map(tuple),
)


def saved(folder: Path, data: bytes, name: str = "a.et") -> Path:
    return written(folder / name, data)


def message(*fields: tuple[int, int, bytes]) -> bytes:
    """Return a message of fields of a number, a wire type and what follows them."""
    return b"".join(varint(number << 3 | wire) + rest for number, wire, rest in fields)


def varint(number: int) -> bytes:
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*data, number])


def framed(*messages: bytes) -> bytes:
    return b"".join(varint(len(one)) + one for one in messages)


def test_golden_trace_is_what_it_says(tmp_path: Path) -> None:
    with read(saved(tmp_path, ALL_REDUCE)) as reader:
        assert reader.metadata == Metadata("0.0.4")
        attrs = (
            Attr("is_cpu_op", "bool", False),
            Attr("comm_type", "int64", CollectiveType.ALL_REDUCE),
            Attr("comm_size", "int64", 1_048_576),
        )
        node = Node(0, "all_reduce_8npus_1MB", NodeType.COMM_COLL_NODE, attrs=attrs)
        assert list(reader) == [node]


def test_golden_trace_is_written_byte_by_byte(tmp_path: Path) -> None:
    nodes = list(read(saved(tmp_path, ALL_REDUCE)))
    write(tmp_path / "b.et", nodes)
    assert (tmp_path / "b.et").read_bytes() == ALL_REDUCE
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.et", "b.et"]


@pytest.mark.parametrize("rank", range(4))
def test_real_trace_is_written_byte_by_byte(rank: int) -> None:
    reader = read(Path(f"{LLAMA}.{rank}.et.gz"))
    nodes = list(reader)
    assert len(nodes) == 184
    assert reader.metadata.attrs == (Attr("schema", "string", "symbolic_tensor_network"),)
    written = b"".join(encode(nodes, reader.metadata))
    assert sha256(written).hexdigest() == LLAMA_SHA256[rank]


def test_all_thirty_kinds_have_the_field_numbers_of_the_schema() -> None:
    numbers: dict[str, int] = {}
    for kind in KINDS:
        value: Any = {"string": "", "bytes": b"", "bool": False}.get(kind.split("_")[0], 0)
        attr = Attr("", kind, (value,) if kind.endswith("_list") else value)
        data = list(encode([Node(1, attrs=(attr,))], Metadata()))[1]
        # Length, node's id, then the attribute behind its tag and length; its tag comes first.
        tag = data[5] if data[5] < 0x80 else data[5] & 0x7F | data[6] << 7
        numbers[kind] = tag >> 3
    scalars = (
        *("double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32"),
        *("fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes"),
    )
    assert numbers == {
        **{name: 3 + 2 * place for place, name in enumerate(scalars)},
        **{f"{name}_list": 4 + 2 * place for place, name in enumerate(scalars)},
    }


@pytest.mark.slow_after_first
@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("ending", [".et", ".json"])
@examples(15)
@given(data=st.data())
def test_every_kind_of_value_comes_back(
    tmp_path_factory: pytest.TempPathFactory, kind: str, ending: str, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / f"kind{ending}"
    node = Node(1, attrs=(Attr("a", kind, data.draw(VALUES[kind]), "why"),))
    write(path, [node])
    assert list(read(path)) == [node]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, FLOAT_MAX, -FLOAT_MAX])
@pytest.mark.parametrize("kind", ["double", "float"])
@pytest.mark.parametrize("ending", [".et", ".json"])
def test_numbers_at_the_ends_come_back(
    tmp_path: Path, value: float, kind: str, ending: str
) -> None:
    path = tmp_path / f"a{ending}"
    attrs = (Attr("a", kind, value), Attr("b", f"{kind}_list", (value, 1.0)))
    write(path, [Node(1, attrs=attrs)])
    (node,) = read(path)
    one, several = node.attrs[0].value, node.attrs[1].value
    assert isinstance(several, tuple)
    assert struct.pack("2d", one, several[0]) == struct.pack("2d", value, value)


@pytest.mark.parametrize("ending", ENDINGS)
@examples(80)
@given(nodes=st.lists(NODES, max_size=4), version=st.text(max_size=3), attr=ATTRS)
def test_every_trace_comes_back(
    tmp_path_factory: pytest.TempPathFactory,
    ending: str,
    nodes: list[Node],
    version: str,
    attr: Attr,
) -> None:
    path = tmp_path_factory.getbasetemp() / f"trace{ending}"
    metadata = Metadata(version, (attr,))
    write(path, nodes, metadata=metadata)
    reader = read(path)
    assert (list(reader), reader.metadata) == (nodes, metadata)


@pytest.mark.parametrize("ending", [".et", ".json"])
def test_tasks_are_what_decides_how_nodes_run(tmp_path: Path, ending: str) -> None:
    attrs = (Attr("a", "string", "x" * 300), Attr("a", "int64", 3))
    nodes = [Node(7, "n", 4, (1,), (2, 3), 5, 6, InOut("v"), None, attrs), Node(8)]
    write(tmp_path / f"a{ending}", nodes)
    with read_tasks(tmp_path / f"a{ending}") as reader:
        first, second = reader
    assert (first, second) == (Task(7, 4, (2, 3), 6, attrs, (1,)), Task(8))
    assert first.integer("a") == nodes[0].integer("a") == 3


def test_attributes_that_come_again_are_there_once(tmp_path: Path) -> None:
    write(tmp_path / "a.et", [Node(i, attrs=(Attr("size", "int64", 1 << 40),)) for i in (1, 2)])
    first, second = read(tmp_path / "a.et")
    assert first.attrs[0] is second.attrs[0]


def test_dependencies_may_be_packed_or_not(tmp_path: Path) -> None:
    packed = message((1, 0, b"\x07"), (5, 2, b"\x03\x01\x02\x03"))
    single = message((1, 0, b"\x07"), *((5, 0, bytes([one])) for one in (1, 2, 3)))
    both = message((5, 0, b"\x01"), (5, 2, b"\x02\x02\x03"), (1, 0, b"\x07"))
    path = saved(tmp_path, framed(b"", packed, single, both))
    assert list(read(path)) == [Node(7, data_deps=(1, 2, 3))] * 3


@pytest.mark.parametrize("ending", [".et", ".json"])
def test_fields_that_the_schema_does_not_have_pass_untouched(tmp_path: Path, ending: str) -> None:
    new = (99, 2, b"\x03new")
    in_list = message((1, 2, b"\x01\x05"), new)
    attr = message((1, 2, b"\x01a"), (10, 2, varint(len(in_list)) + in_list), (33, 0, b"\x2a"))
    tensors = message((1, 2, b"\x01v"), new)
    node = message(
        (1, 0, b"\x07"),
        (8, 2, varint(len(tensors)) + tensors),
        (10, 2, varint(len(attr)) + attr),
        (11, 2, b"\x02\x08\x01"),
    )
    metadata = message((1, 2, b"\x050.0.9"), (77, 5, b"\1\2\3\4"))
    data = framed(metadata, node)
    reader = read(saved(tmp_path, data))
    nodes = list(reader)
    assert nodes[0].attrs[0].value == (5,)
    write(tmp_path / f"b{ending}", nodes, metadata=reader.metadata)
    again = read(tmp_path / f"b{ending}")
    assert list(again) == nodes
    assert b"".join(encode(nodes, again.metadata)) == data


def test_unknown_type_of_node_stays(tmp_path: Path) -> None:
    for name in ("a.et", "a.json"):
        write(tmp_path / name, [Node(1, type=10)])
        assert next(iter(list(read(tmp_path / name)))).type == 10


def test_gzip_is_found_by_what_the_file_begins_with(tmp_path: Path) -> None:
    path = saved(tmp_path, gzip.compress(ALL_REDUCE))
    assert b"".join(encode(list(read(path)), Metadata("0.0.4"))) == ALL_REDUCE


@pytest.mark.parametrize("ending", [".et", ".json", ".JSON"])
def test_name_that_ends_in_gz_is_a_compressed_file(tmp_path: Path, ending: str) -> None:
    nodes = [Node(number, f"{number * 0x9E3779B1:x}") for number in range(20_000)]
    names = (f"a{ending}", f"b{ending}.gz", f"c{ending}.gz")
    for name in names:
        write(tmp_path / name, nodes)
    plain, packed, again = ((tmp_path / name).read_bytes() for name in names)
    assert (gzip.decompress(packed), packed) == (plain, again)
    assert packed[:8] == b"\x1f\x8b\x08" + bytes(5)  # neither the file's name nor the time
    assert list(read(tmp_path / names[1])) == nodes


def test_compressed_trace_is_made_in_pieces() -> None:
    nodes = (Node(number, f"{number * 0x9E3779B1:x}") for number in range(20_000))
    pieces = list(encode_for(Path("a.et.gz"), nodes, Metadata("0.0.4")))
    assert len(pieces) > 2 and max(map(len, pieces)) < 2 * HEAD_BYTES
    assert gzip.decompress(b"".join(pieces)).startswith(b"\x07\x0a\x050.0.4")


def test_json_is_that_of_chakras_own_tools(tmp_path: Path) -> None:
    text = """{
  "version": "0.0.4"
}{
  "id": "3",
  "name": "a \\"{\\\\",
  "type": "COMP_NODE",
  "dataDeps": [ "1", "2" ],
  "durationMicros": "5",
  "attr": [ { "name": "is_cpu_op", "boolVal": false } ]
}"""
    (node,) = read(saved(tmp_path, text.encode(), "a.json"))
    attrs = (Attr("is_cpu_op", "bool", False),)
    assert node == Node(3, 'a "{\\', NodeType.COMP_NODE, (), (1, 2), 0, 5, attrs=attrs)
    lines = b"".join(encode([node], Metadata("0.0.4"), as_json=True)).splitlines()
    assert [json.loads(line) for line in lines] == [
        json.loads(part) for part in re.split(r"(?<=\})(?=\{)", text)
    ]


@pytest.mark.parametrize("cut", range(65_480, 65_500, 4))
def test_json_is_read_across_the_pieces_that_a_file_comes_in(tmp_path: Path, cut: int) -> None:
    node = Node(1, "x" * cut + '\\"{' * 40_000)
    write(tmp_path / "a.json", [node, node])
    assert list(read(tmp_path / "a.json")) == [node, node]


_GZIP = gzip.compress(ALL_REDUCE)
_WHOLE = "must be whole, as gzip compressed it"


def flipped(data: bytes, place: int, bits: int) -> bytes:
    """Return data of which some bits of a byte are others."""
    found = bytearray(data)
    found[place] ^= bits
    return bytes(found)


BAD = {
    "empty": (b"", "must be a trace, not an empty file"),
    "long message": (
        b"\0" + varint(MAX_MESSAGE_BYTES + 1),
        "byte 1: must be a message of at most 8,388,608 bytes, not of 8,388,609",
    ),
    "longest message": (
        b"\xff" * 9 + b"\x01",
        "byte 0: must be a message of at most 8,388,608 bytes, not of 18,446,744,073,709,551,615",
    ),
    "endless length": (
        b"\x80" * 40,
        "byte 0: must be the length of a message, not a number of more than 64 bits",
    ),
    "half a length": (
        ALL_REDUCE + b"\x80",
        "byte 81: must be the length of a message, not cut off",
    ),
    "half a message": (
        ALL_REDUCE[:-3],
        "byte 8: must be a message of 72 bytes, as its length says, not of 69",
    ),
    "zeros": (bytes(4000), "byte 1: must be a node, not a message with 0 bytes"),
    "no protobuf": (
        framed(b"", b"\xff\xff"),
        "byte 1: must be a node, not a message with not valid protobuf",
    ),
    "no metadata": (
        framed(b"\x0a\x05abc"),
        "byte 0: must be the metadata of a trace, not a message with not valid protobuf",
    ),
    "not UTF-8": (
        framed(b"", message((1, 0, b"\x01"), (2, 2, b"\x01\xff"))),
        "byte 1: must be a node, not a message with not valid protobuf",
    ),
    "many attributes": (
        framed(b"", message((1, 0, b"\x01")) + b"\x52\0" * (MAX_ATTRS + 1)),
        "byte 1: must be a node, not a message with 65,537 attributes, 65,536 at most",
    ),
    "many data dependencies": (
        framed(b"", message((1, 0, b"\x01")) + b"\x28\0" * (MAX_DEPS + 1)),
        "byte 1: must be a node, not a message with 65,537 data dependencies, 65,536 at most",
    ),
    "many control dependencies": (
        framed(b"", message((1, 0, b"\x01")) + b"\x20\0" * (MAX_DEPS + 1)),
        "byte 1: must be a node, not a message with 65,537 control dependencies, 65,536 at most",
    ),
    "half a gzip": (_GZIP[:-9], f"byte 81: {_WHOLE}"),
    "gzip of another sum": (flipped(_GZIP, -6, 1), f"byte 81: {_WHOLE}"),
    "gzip before junk": (_GZIP + b"junk", f"byte 81: {_WHOLE}"),
    "gzip of no kind of block": (flipped(gzip.compress(ALL_REDUCE, 0), 10, 6), f"byte 0: {_WHOLE}"),
    "no gzip": (b"\x1f\x8bxxxxxxxxxxxxxxxxxxx", f"byte 0: {_WHOLE}"),
}


BAD_JSON = {
    "a list": (b"[]", "byte 0: must be a JSON object, not other text"),
    "half": (b'{} {"id": 1', "byte 3: must be a whole JSON object, not cut off"),
    "between": (b'{},{"id": 1}', "byte 2: must be a JSON object, not other text"),
    "closed twice": (b"{}}", "byte 2: must be a JSON object, not other text"),
    "no JSON": (b'{}{"id": }', "byte 2: must be a node, not a message with an error at line 1: "),
    "no field": (b'{}{"ids": 1}', "byte 2: must be a node, not a message with "),
    "below zero": (b'{}{"id": -1}', "byte 2: must be a node, not a message with "),
    "surrogate": (b'{}{"name": "\\ud800"}', "byte 2: must be a node, not a message with "),
    "two values": (
        b'{}{"attr": [{"int64Val": 1, "boolVal": true}]}',
        "byte 2: must be a node, not a message with ",
    ),
    "large float": (
        b'{}{"attr": [{"floatVal": 3.5e38}]}',
        "byte 2: must be a node, not a message with ",
    ),
    "no list": (
        b'{}{"attr": [1, {"floatList": 1}]}',
        "byte 2: must be a node, not a message with ",
    ),
    "no base64": (
        b'{}{"unknownFields": "!"}',
        "byte 2: must be a node, not a message with unknownFields that are not base64",
    ),
    "no fields": (
        b'{}{"unknownFields": "/w=="}',
        "byte 2: must be a node, not a message with unknown fields that are not valid protobuf",
    ),
    "deep": (b'{}{"a":' * 3000, "byte 2: "),
    "a key twice": (
        b'{}{"id": 1, "id": 2}',
        "byte 2: must be a node, not a message with an error: the key 'id' must occur only once",
    ),
    "a key twice below": (
        b'{}{"attr": [{"name": "a", "name": "b"}]}',
        "byte 2: must be a node, not a message with an error: the key 'name' must occur only once",
    ),
    "nested": (
        b'{}{"attr":' + b"[" * 40 + b"]" * 40 + b"}",
        "byte 2: must be a node, not a message with an error: values may be nested at most 32 deep",
    ),
    "nested too deep to count": (
        b'{}{"attr":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        "byte 2: must be a node, not a message with an error: values may be nested at most 32 deep",
    ),
    "NaN": (b'{}{"attr": [{"floatVal": NaN}]}', "byte 2: must be a node, not a message with an "),
}


@pytest.mark.parametrize("what", BAD | BAD_JSON)
def test_bad_file_is_refused_in_a_line(tmp_path: Path, what: str) -> None:
    data, message = (BAD | BAD_JSON)[what]
    path = saved(tmp_path, data, "a.json" if what in BAD_JSON else "a.et")
    with pytest.raises(InputError, match=f"^{re.escape(f'{path}: {message}')}[^\n]*$"):
        list(read(path))


def test_no_regular_file_is_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.et")
    for name, what in (("pipe.et", "must be a regular file"), ("none.et", "must be an existing")):
        with pytest.raises(InputError, match=what):
            read(tmp_path / name)


@pytest.mark.parametrize("packed", [False, True])
def test_what_a_file_states_is_not_allocated(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "a.et"
    if packed:  # 64 MB of zeros in 64 kB
        path.write_bytes(gzip.compress(bytes(1 << 26)))
    else:
        with path.open("wb") as file:  # 2 GB of zeros, which take no room
            file.truncate(2 << 30)
    tracemalloc.start()
    with pytest.raises(InputError):
        list(read(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    node = Node(1, "x" * 1000)
    peaks: list[int] = []
    for count in (100, 5000):
        write(tmp_path / "a.et", (node for _ in range(count)))
        tracemalloc.start()
        assert sum(1 for _ in read(tmp_path / "a.et")) == count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 65_536


def test_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = saved(tmp_path, ALL_REDUCE)

    def broken() -> Any:
        yield Node(1)
        raise InputError("x", "", "bad")

    with pytest.raises(InputError, match=r"^x: bad$"):
        write(path, broken())
    with pytest.raises(ValueError, match=r"^Value out of range: -1$"):
        write(path, [Node(-1)])
    assert path.read_bytes() == ALL_REDUCE
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(InputError, match="must be a file that can be written to"):
        write(tmp_path / "none/a.et", [])


def test_value_of_another_kind_is_not_written(tmp_path: Path) -> None:
    for kind, value in (("int32", 1 << 31), ("bytes", "a"), ("int64_list", 1), ("string", 1)):
        with pytest.raises((ValueError, TypeError)):
            write(tmp_path / "a.et", [Node(1, attrs=(Attr("a", kind, value),))])
    with pytest.raises(ValueError, match=r"^kind must be one of double, .*, not 'int'$"):
        Attr("a", "int", 1)
    assert list(tmp_path.iterdir()) == []


def test_integer_of_any_kind_is_an_integer() -> None:
    kinds = ("int32", "int64", "uint32", "uint64", "sint32", "fixed64", "sfixed32")
    attrs = [Attr(kind, kind, 7) for kind in kinds]
    node = Node(1, attrs=(*attrs, Attr("f", "float", 1.0), Attr("b", "bool", True)))
    assert [node.integer(kind) for kind in kinds] == [7] * len(kinds)
    assert (node.integer("other", 3), node.flag("b"), node.flag("int32")) == (3, True, True)
    assert (node.flag("other"), node.flag("other", True)) == (False, True)
    for name in ("f", "b"):
        with pytest.raises(InputError, match=f"^node 1: {name}: must be an integer, not "):
            node.integer(name)


@pytest.mark.parametrize("packed", [False, True])
def test_whoever_listens_is_told_how_much_of_the_file_is_read(tmp_path: Path, packed: bool) -> None:
    data = b"".join(encode([Node(one, "n" * 50) for one in range(5_000)], Metadata("0.0.4")))
    path = written(tmp_path / "t.et", gzip.compress(data) if packed else data)
    told: list[tuple[str, int, int | None, int]] = []
    with listening(lambda *what: told.append(what)), read(path) as nodes:
        assert sum(1 for _ in nodes) == 5_000
    assert len(told) == 4
    assert {(what, total) for what, _, total, _ in told} == {("bytes", path.stat().st_size)}
    done = [one[1] for one in told]
    assert done == sorted(done) and done[0] > 0 and done[-1] <= path.stat().st_size
    assert packed or done[-1] < path.stat().st_size
