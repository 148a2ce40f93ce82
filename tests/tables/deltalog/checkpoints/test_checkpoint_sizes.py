"""What a checkpoint unfolds to is found out before it is unfolded; footers are read without Arrow, which some of them end."""

import io
import json
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tables.deltalog.checkpoints import sizes
from tables.deltalog.checkpoints.sizes import check_group, read_groups
from tables.deltalog.checkpoints.thrift import Malformed, read_struct
from tests.tables.deltalog.conftest import paths
from tests.tables.deltalog.writing import PROTOCOL, add, info, metadata

READER = """
import sys
from pathlib import Path
from tables.deltalog.replay.log import open_log
log = open_log(sys.argv[1])
place = Path(sys.argv[1], "_delta_log", f"{1:020d}.checkpoint.parquet")
sound = place.read_bytes()
length = int.from_bytes(sound[-8:-4], "little")
for at in range(len(sound) - 8 - length, len(sound) - 8):
    if sound[at] in (0x26, 0x36, 0x46):  # lists of 2 to 4 whole numbers: one less
        print(at, flush=True)
        footer = sound[len(sound) - 8 - length : at] + bytes([sound[at] - 0x10]) + sound[at + 2 : -8]
        place.write_bytes(sound[: len(sound) - 8 - length] + footer + (length - 1).to_bytes(4, "little") + b"PAR1")
        list(log.sync(Path(sys.argv[2])).commits())
"""


def written(table, **options):
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink


def rows(count=40):
    return pa.table({"n": list(range(count)), "t": [f"{n}" * 100 for n in range(count)], "l": [[1, 2, 3]] * count})


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "brotli", "lz4"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_the_footer_says_what_arrow_reads_in_it(codec, version):
    file = written(rows(), compression=codec, data_page_version=version, row_group_size=15, data_page_size=100)
    expected = pq.ParquetFile(file).metadata
    groups = read_groups(file)
    assert [group.rows for group in groups] == [15, 15, 10]
    for number, group in enumerate(groups):
        for place, chunk in enumerate(group.chunks):
            said = expected.row_group(number).column(place)
            assert (chunk.path, chunk.values, chunk.unfolded, chunk.size) == (
                said.path_in_schema,
                said.num_values,
                said.total_uncompressed_size,
                said.total_compressed_size,
            )


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "brotli", "lz4"])
def test_a_page_beyond_the_bound_is_refused(monkeypatch, codec):
    monkeypatch.setattr(sizes, "LARGEST_PAGES", 100_000)
    fine = written(rows(3_000), compression=codec, use_dictionary=False, data_page_size=10_000, write_batch_size=10)
    bomb = written(rows(3_000), compression=codec, use_dictionary=False, data_page_size=1 << 30)
    check_group(read_groups(fine)[0], lambda path: True, fine)
    check_group(read_groups(bomb)[0], lambda path: path == "n", bomb)
    with pytest.raises(ValueError, match="unfold to too much"):
        check_group(read_groups(bomb)[0], lambda path: True, bomb)


def test_a_list_beyond_the_bound_is_refused(monkeypatch):
    monkeypatch.setattr(sizes, "MOST_VALUES", 1_000)
    file = written(pa.table({"l": [[1] * 2_000, []]}))
    with pytest.raises(ValueError, match="lists are too long"):
        check_group(read_groups(file)[0], lambda path: True, file)
    flat = written(pa.table({"n": [1] * 2_000}))
    check_group(read_groups(flat)[0], lambda path: True, flat)


def test_a_checkpoint_that_unfolds_to_too_much_leads_to_the_commits(writer, log, target, monkeypatch):
    writer.create(add("a"))
    writer.commit(1, info(), add("b"))
    writer.checkpoint(1, PROTOCOL, metadata(), add("a"), add("b", stats=json.dumps({"x": "y" * 50_000})))
    monkeypatch.setattr(sizes, "LARGEST_PAGES", 10_000)
    snapshot = log.snapshot(target=target)
    assert paths(snapshot) == ["a", "b"]
    assert "ValueError" in snapshot.problems[0].reason


def test_no_footer_ends_the_process_that_reads_it(writer, target):
    """Arrow ends the process at a histogram of another length than the column's levels, so another process reads these."""
    writer.create(add("a"))
    writer.commit(1, info(), add("b"))
    writer.checkpoint(1, PROTOCOL, metadata(), *[add(str(n), partition={"day": "x"}) for n in range(5)])
    command = [sys.executable, "-c", READER, str(writer.table), str(target)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, f"it died of byte {found.stdout.split()[-1]}: {found.stderr[-2000:]}"
    assert len(found.stdout.split()) > 20


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x15",
        b"\x1c" * 40,
        b"\x19\xf8\xff\xff\xff\xff\x0f",
        b"\x18\xff\x7f",
        b"\x15" + b"\xff" * 12,
        b"\x1d\x00",
        b"\x17\x00",
    ],
    ids=["nothing", "half", "deep", "a long list", "a long text", "a long number", "a kind", "a double"],
)
def test_what_is_no_thrift_is_refused(data):
    with pytest.raises(Malformed):
        read_struct(data)


def test_what_is_no_parquet_is_refused():
    for content in (b"", b"PAR1", b"PAR1PAR1", b"\xff\xff\xff\x7fPAR1", b"x" * 100):
        with pytest.raises(ValueError, match="footer"):
            read_groups(io.BytesIO(content))
