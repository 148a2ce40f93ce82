"""What a checkpoint is made up of lies in the log, or is named before Delta's engine follows it."""

import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tables.deltalog.checkpoints.sidecars import foreign_sidecar
from tables.storage.store import StorageError
from tests.tables.deltalog.writing import PROTOCOL, add, metadata

STATE = (PROTOCOL, metadata(), add("a"))
UUID = "80a083e8-7026-4e79-81be-64bd76c43a11"
FOREIGN = ["/etc/x.parquet", "file:/etc/x.parquet", "../../x.parquet", "%2E%2E/x", "s3://b/x", "a/../../x"]


def sidecar(path):
    return {"sidecar": {"path": path, "sizeInBytes": 1, "modificationTime": 1}}


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_sidecars_of_its_own_are_fine(writer, log, suffix):
    writer.create(add("a"))
    writer.v2(0, *STATE, writer.sidecar("one.parquet", add("b")), suffix=suffix)
    writer.v2(0, *STATE, sidecar("gone.parquet"), suffix=suffix)
    assert foreign_sidecar(log.storage) is None


@pytest.mark.parametrize("path", FOREIGN)
@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_one_elsewhere_is_named(writer, log, suffix, path):
    writer.create(add("a"))
    writer.v2(0, *STATE, sidecar("one.parquet"), sidecar(path), suffix=suffix)
    assert foreign_sidecar(log.storage) == path


@pytest.mark.parametrize("name", ["{:020d}.checkpoint.parquet", "{:d}.checkpoint.x.parquet"])
@pytest.mark.parametrize("column", ["sidecar", "SideCar"])
def test_a_name_that_another_reader_takes_counts_too(writer, log, name, column):
    """Spark's readers know no case, and Delta takes any word where the protocol has a UUID."""
    writer.create(add("a"))
    kind = pa.struct([("PATH", pa.string())])
    pq.write_table(pa.table({column: pa.array([None, {"PATH": "../x"}], kind)}), writer.log / name.format(0))
    assert foreign_sidecar(log.storage) == "../x"


def test_what_the_last_checkpoint_names_counts(writer, log):
    writer.create(add("a"))
    last = writer.log / "_last_checkpoint"
    inner: dict[str, Any] = {"path": f"{0:020d}.checkpoint.{UUID}.parquet", "sidecarFiles": [{"path": "one.parquet"}]}
    last.write_text(json.dumps({"version": 0, "size": 1, "v2Checkpoint": inner}))
    assert foreign_sidecar(log.storage) is None
    inner["sidecarFiles"].append({"path": "/etc/x"})
    last.write_text(json.dumps({"version": 0, "size": 1, "v2Checkpoint": inner}))
    assert foreign_sidecar(log.storage) == "/etc/x"
    last.write_text(last.read_text() + " and more")
    with pytest.raises(StorageError, match="_last_checkpoint"):
        foreign_sidecar(log.storage)
    last.write_text("rubbish")  # Delta passes over it
    assert foreign_sidecar(log.storage) is None


@pytest.mark.parametrize("name", ["checkpoint.parquet", f"checkpoint.{UUID}.json", f"checkpoint.{UUID}.parquet"])
def test_what_can_not_be_read_is_not_taken_for_harmless(writer, log, name):
    writer.create(add("a"))
    (writer.log / f"{0:020d}.{name}").write_bytes(b"PAR1 rubbish {")
    with pytest.raises(StorageError, match="checkpoint"):
        foreign_sidecar(log.storage)
