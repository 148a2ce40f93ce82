"""A page whose header promises more bytes than are there is refused before Arrow makes room for them."""

import io
import random

import pyarrow.parquet as pq
import pytest

from tables.deltalog.checkpoints.sizes import check_group, read_groups
from tables.deltalog.checkpoints.thrift import Malformed, read_struct
from tests.soak.damage import Damage
from tests.soak.hostile import LOGS
from tests.tables.deltalog.read.test_malformed import sync_apart
from tests.tables.deltalog.writing import PROTOCOL, add, info, metadata

CODECS = ["none", "snappy", "gzip", "zstd", "lz4", "brotli"]
GIGABYTE = b"\x80\x80\x80\x80\x08"  # 2**30 as Thrift writes it


def damaged(content, column="add.path"):
    """The file, with a gigabyte as the size of the first page of a column."""
    chunk = next(chunk for chunk in read_groups(io.BytesIO(content))[0].chunks if chunk.path == column)
    header, _ = read_struct(content[chunk.start : chunk.start + chunk.size])
    assert set(header) >= {1, 2, 3}
    at = chunk.start + 1  # behind the mark of the first of three whole numbers, each of which begins with one
    for _ in range(2):
        while content[at] > 127:
            at += 1
        at += 2
    return content[:at] + GIGABYTE + content[at + len(GIGABYTE) :]


@pytest.fixture
def checkpoint(writer):
    """A log of two commits and a checkpoint in their middle, written with a codec; gives the checkpoint's file."""

    def write(codec):
        writer.create(add("a"))
        writer.commit(1, info(), add("good"))
        path = writer.checkpoint(0, PROTOCOL, metadata(), add("a"))
        pq.write_table(pq.read_table(path), path, compression=codec)
        return path

    return write


@pytest.mark.parametrize("codec", CODECS)
def test_a_page_beyond_its_column_is_refused(checkpoint, codec):
    content = damaged(checkpoint(codec).read_bytes())
    with pytest.raises(ValueError, match="reaches beyond its column"):
        check_group(read_groups(io.BytesIO(content))[0], lambda path: True, io.BytesIO(content))


def test_a_column_beyond_its_file_is_refused(checkpoint):
    content = checkpoint("none").read_bytes()
    group = read_groups(io.BytesIO(content))[0]
    with pytest.raises(ValueError, match="reach beyond its end"):
        check_group(group, lambda path: True, io.BytesIO(content[: max(chunk.start for chunk in group.chunks)]))


@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_a_page_that_promises_a_gigabyte_takes_no_memory(checkpoint, writer, target, codec):
    path = checkpoint(codec)
    path.write_bytes(damaged(path.read_bytes()))
    added_kib, count, names, problems = sync_apart(writer, target)
    assert added_kib < 100 * 1024
    assert (count, names) == (2, ["a", "good"])
    assert any("not used" in reason for reason in problems)


def test_the_checkpoint_that_a_soak_found_takes_no_memory(writer, target):
    chance = random.Random("3388356468 parsed 15")
    files, top = LOGS["parsed"](chance)
    files[top] = Damage(chance).of(files[top], list(files.values()))
    for name, content in files.items():
        (writer.log / name).write_bytes(content)
    added_kib, count, names, problems = sync_apart(writer, target)
    assert added_kib < 100 * 1024
    assert (count, names) == (1, ["part-20.parquet"])
    assert any("not used" in reason for reason in problems)


def test_a_field_that_is_named_twice_is_refused():
    assert read_struct(b"\x15\x02\x15\x04\x00") == ({1: 1, 2: 2}, 5)
    with pytest.raises(Malformed, match="twice"):
        read_struct(b"\x15\x02\x05\x02\x04\x00")
