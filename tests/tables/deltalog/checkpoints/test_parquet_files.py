"""A checkpoint's files are opened once, and read with as little as tells what they hold; bounds hold whatever way they are read."""

import io
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tables.deltalog.checkpoints import parquet_file, reading, sizes
from tables.deltalog.checkpoints.parquet_file import ParquetFile
from tables.deltalog.checkpoints.rows import Adds, grouped
from tables.deltalog.checkpoints.thrift import Malformed, read_struct
from tables.storage.local.files import LocalStorage
from tests.tables.deltalog.conftest import paths
from tests.tables.deltalog.writing import PROTOCOL, add, info, metadata

WANTED = {4: {1: {3: dict.fromkeys((3, 5, 6, 7, 9, 11))}, 3: None}}


def written(table, **options):
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def footer_of(content):
    length = int.from_bytes(content[-8:-4], "little")
    return content[-8 - length : -8]


def picked(value, wanted):
    if wanted is None or not isinstance(value, list | dict):
        return value
    if isinstance(value, list):
        return [picked(item, wanted) for item in value]
    return {number: picked(item, wanted[number]) for number, item in value.items() if number in wanted}


def table(count=50):
    return pa.table(
        {
            "n": range(count),
            "t": [f"{n}" * 20 for n in range(count)],
            "l": [[n, 2] for n in range(count)],
            "b": [True] * count,
        }
    )


@pytest.mark.parametrize("version", ["1.0", "2.6"])
def test_what_is_wanted_of_a_footer_is_what_it_says(version):
    footer = footer_of(written(table(), version=version, row_group_size=20))
    whole, length = read_struct(footer)
    assert read_struct(footer, WANTED) == (picked(whole, WANTED), length)
    assert read_struct(footer, {})[1] == length


def test_a_damaged_footer_is_refused_or_read_alike():
    chance = random.Random(20_261_128)
    sound, read = footer_of(written(table(), row_group_size=20)), 0
    for _ in range(2_000):
        content = bytearray(sound)
        for _ in range(chance.randint(1, 3)):
            content[chance.randrange(len(content))] = chance.choice(
                [0, 1, 0x15, 0x19, 0x1C, 0x7F, 0x80, 0xFF, chance.randrange(256)]
            )
        try:
            whole, _ = read_struct(bytes(content))
        except Malformed:
            continue  # of what isn't wanted less is asked
        read += 1
        assert picked(read_struct(bytes(content), WANTED)[0], WANTED) == picked(whole, WANTED)
    assert read > 100


@pytest.mark.parametrize(
    "data",
    [
        b"\x15\x02\x05\x02\x04\x00",
        b"\x1c" * 40,
        b"\x19\xfc\xff\xff\xff\xff\xff\x0f",
        b"\x18\xff\xff\xff\xff\x0f",
        b"\x1b\x01\x88\x01a\x01",
        b"\x19\x1e\x00",
        b"\x17\x00",
    ],
    ids=["a field twice", "deep", "a long list", "a long text", "half a map", "an unknown kind", "half a double"],
)
def test_what_is_no_thrift_is_refused_where_it_isnt_wanted(data):
    with pytest.raises(Malformed):
        read_struct(data, {9: None})


def test_fields_in_another_order_are_read():
    assert read_struct(b"\x25\x02\x05\x02\x04\x00", {1: None}) == ({2: 1, 1: 2}, 6)
    assert read_struct(b"\x1b\x01\x88\x01a\x01b\x15\x02\x00", {2: None})[0][2] == 1


@pytest.mark.parametrize("limit", [0, 1 << 30])
@pytest.mark.parametrize("whole", [True, False])
def test_rows_are_the_same_whatever_way_they_are_read(monkeypatch, limit, whole):
    monkeypatch.setattr(parquet_file, "SMALL", 1 << 20 if whole else 10)
    monkeypatch.setattr(parquet_file, "_holds_little", lambda most: most <= limit)
    content = written(table(), row_group_size=20)
    file = ParquetFile(lambda: io.BytesIO(content))
    batches = list(file.batches(["t", "l"]))
    found = pa.Table.from_batches(batches)
    assert found.column("t").cast(pa.string()).to_pylist() == table().column("t").to_pylist()
    assert found.column("l").to_pylist() == table().column("l").to_pylist()
    assert pa.types.is_dictionary(found.schema.field("t").type) == (limit == 0)
    assert list(file.columns) == ["n", "t", "l", "b"]


def test_texts_that_may_come_to_much_are_read_as_dictionaries():
    few, many = written(pa.table({"t": ["x" * 1000] * 50})), written(pa.table({"t": ["x" * 20_000] * 1000}))
    first = next(ParquetFile(lambda: io.BytesIO(few)).batches(["t"]))
    assert pa.types.is_string(first.schema.field("t").type)
    first = next(ParquetFile(lambda: io.BytesIO(many)).batches(["t"]))
    assert pa.types.is_dictionary(first.schema.field("t").type)


def test_a_page_that_says_it_has_more_values_than_are_read_at_once_is_refused(monkeypatch):
    content = bytearray(written(pa.table({"l": [[1, 2]]}), compression="none", use_dictionary=False))
    (group,) = sizes.read_groups(io.BytesIO(content))
    (chunk,) = group.chunks
    _, length = read_struct(bytes(content[chunk.start :]))
    at = content.index(b"\x15\x04", chunk.start, chunk.start + length) + 1  # the page's two values
    content[at] = 0x7E
    monkeypatch.setattr(sizes, "MOST_VALUES", 50)
    with pytest.raises(ValueError, match="lists are too long"):
        sizes.check_group(group, lambda path: True, io.BytesIO(content))


class Counted(LocalStorage):
    def __init__(self, root):
        super().__init__(root)
        self.opened = []

    def open(self, path):
        self.opened.append(path.rpartition("/")[2])
        return super().open(path)


@pytest.fixture
def counted(writer, log, monkeypatch):
    """The storage of a log with a checkpoint of three parts, its openings and the footers that are decoded."""
    writer.multipart(5, [PROTOCOL, metadata(), add("a")], [add("b"), add("c")], [add("d")])
    writer.commit(6, info(), add("e"))
    log.storage = Counted(str(writer.table))
    footers = []

    def read_groups(file):
        footers.append(file)
        return sizes.read_groups(file)

    monkeypatch.setattr(parquet_file, "read_groups", read_groups)
    return log.storage.opened, footers


def test_a_small_file_is_opened_once_and_its_footer_decoded_once(log, target, counted):
    opened, footers = counted
    assert paths(log.sync(target).snapshot()) == ["a", "b", "c", "d", "e"]
    assert sorted(opened) == sorted(set(opened))
    assert (len(opened), len(footers)) == (3, 3)


def test_of_many_files_only_some_are_held(log, target, counted, monkeypatch):
    monkeypatch.setattr(reading, "_HELD", 0)
    opened, footers = counted
    assert paths(log.sync(target).snapshot()) == ["a", "b", "c", "d", "e"]
    assert (len(opened), len(footers)) == (6, 6)


def test_a_large_file_is_not_read_as_a_whole(log, target, counted, monkeypatch):
    monkeypatch.setattr(parquet_file, "SMALL", 10)
    opened, footers = counted
    assert paths(log.sync(target).snapshot()) == ["a", "b", "c", "d", "e"]
    assert (len(set(opened)), len(footers)) == (3, 3)


def test_a_problem_of_one_part_is_that_parts_alone(writer, log, target):
    names = [
        part.name for part in writer.multipart(5, [PROTOCOL, metadata(), add("a")], [add("b", size=-1)], [add("c")])
    ]
    snapshot = log.sync(target).snapshot()
    assert paths(snapshot) == ["a", "b", "c"]
    assert [problem.file for problem in snapshot.problems if "add.size" in problem.reason] == [names[1]]


def test_small_pieces_of_one_kind_are_turned_into_rows_together():
    plain, other = pa.array([{"path": "a"}]), pa.array([{"path": "a", "size": 1}])
    kind = pa.struct([("path", pa.dictionary(pa.int32(), pa.string()))])
    coded = pa.array([{"path": "a"}], kind)  # stands for more than it takes
    pieces = [Adds(str(number), rows) for number, rows in enumerate([plain, plain, other, coded, coded, plain, plain])]
    assert ["".join(piece.file for piece in group) for group in grouped(pieces)] == ["01", "2", "3", "4", "56"]


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN"])
def test_texts_that_arrow_gives_no_dictionaries_of_are_read(writer, log, target, encoding):
    path = writer.checkpoint(1, PROTOCOL, metadata(), add("a"), add("b"))
    pq.write_table(pq.read_table(path), path, use_dictionary=False, column_encoding={"add.path": encoding})
    snapshot = log.sync(target).snapshot()
    assert paths(snapshot) == ["a", "b"]
    assert not snapshot.problems
