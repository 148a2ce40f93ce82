"""Who can read a table: every engine's facts have a source, and delta-rs's are those of the package itself."""

import json
import re
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder

from jobs.domain.delta.protocols import FEATURES, DeltaProtocol, protocol_with
from jobs.targets.engines import READERS, read, readers_of, stop_reading, stop_writing

PLAIN = DeltaProtocol(1, 2)
DELTA_RS = next(reader for reader in READERS if reader.name.startswith("delta-rs"))


def answer(name: str, protocol: DeltaProtocol, version: str = "") -> dict[str, object]:
    return next(r for r in readers_of(protocol) if r["name"].startswith(name) and r["version"].startswith(version))


def test_every_engine_reads_and_writes_a_plain_table():
    assert all(reader["reads"] for reader in readers_of(PLAIN))
    assert [r["name"] for r in readers_of(PLAIN) if r["writes"] is None] == ["DuckDB delta extension"]


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: f"{reader.name} {reader.version}")
def test_every_fact_is_dated_and_has_a_source(reader):
    assert reader.source
    assert re.fullmatch(r"20\d\d-\d\d", reader.seen)
    assert reader.reads <= {name for name, feature in FEATURES.items() if feature.for_readers}
    assert reader.writes is None or reader.writes <= set(FEATURES)


@pytest.mark.parametrize("name", ["Microsoft Fabric SQL analytics endpoint", "Snowflake"])
def test_an_engine_that_only_reads_says_so(name):
    found = answer(name, PLAIN)
    assert (found["reads"], found["writes"], found["why"]) == (True, False, "It only reads Delta tables.")
    later = protocol_with(PLAIN, ["timestampNtz"])
    assert answer(name, later)["why"] == "It doesn’t support timestampNtz."


ROW = """[[reader]]
name = "Own engine"
version = "7"
reads = ["deletionVectors"]
legacy = [2, 5]
source = "its manual"
seen = "2026-11"
"""


def test_anybody_may_add_an_engine_to_the_file(tmp_path):
    place = tmp_path / "engines.toml"
    place.write_text(ROW)
    [reader] = read(place)
    assert (reader.name, sorted(reader.reads), reader.writes) == ("Own engine", ["deletionVectors"], None)
    for wrong, error in (
        (ROW.replace("deletionVectors", "deletionVector"), ValueError),
        (ROW.replace("source", "sauce"), KeyError),
    ):
        place.write_text(wrong)
        with pytest.raises(error):
            read(place)


def test_deletion_vectors_are_beyond_the_flink_connector_alone():
    later = protocol_with(PLAIN, ["deletionVectors"])
    assert stop_reading(PLAIN, later) == ["Flink connector (Delta Standalone) 3.0"]
    assert answer("Flink", later)["why"] == "It doesn’t support reader version 3."


def test_a_writer_feature_stops_writers_and_no_reader():
    later = protocol_with(PLAIN, ["rowTracking"])
    assert stop_reading(PLAIN, later) == []
    assert "delta-rs (deltalake) 1.6.6" in stop_writing(PLAIN, later)
    assert answer("Trino", later)["why"] == "It can’t write: it doesn’t support domainMetadata, rowTracking."


def test_older_delta_needs_a_newer_release():
    later = protocol_with(PLAIN, ["typeWidening"])
    assert answer("Spark", later, "4.4")["reads"] is True
    assert (answer("Spark", later, "3.3")["reads"], answer("Spark", later, "3.3")["writes"]) == (False, False)


@pytest.mark.parametrize(
    ("feature", "since"),
    [
        ("typeWidening-preview", "3.2"),
        ("identityColumns", "3.3"),
        ("checkpointProtection", "3.3"),
        ("typeWidening", "4.0"),
        ("variantType", "4.0"),
        ("variantShredding-preview", "4.0"),
        ("catalogManaged", "4.1"),
        ("materializePartitionColumns", "4.1"),
        ("variantShredding", "4.1"),
        ("geospatial", "4.3"),
        ("icebergCompatV3", "4.3"),
        ("adaptiveMetadata-preview", "4.4.0"),
    ],
)
def test_delta_knows_a_feature_from_one_release_on(feature, since):
    releases = ["4.4.0", "4.3", "4.2", "4.1", "4.0", "3.3", "3.2", "2.4"]
    knowing = releases[: releases.index(since) + 1]
    spark = [reader for reader in READERS if reader.name.startswith("Spark")]
    assert [reader.version for reader in spark] == releases
    assert [reader.version for reader in spark if feature in (reader.writes or ())] == knowing
    assert [reader.version for reader in spark if feature in reader.reads] == (
        knowing if FEATURES[feature].for_readers else []
    )


@pytest.mark.parametrize("version", ["4.0", "4.1", "4.2", "4.3"])
def test_delta_4_takes_every_protocol_that_lists_no_features(version):
    found = answer("Spark", DeltaProtocol(2, 6), version)
    assert (found["reads"], found["writes"]) == (True, True)


@pytest.mark.parametrize("version", ["3.2", "3.3"])
def test_delta_since_3_2_knows_defaults_and_the_check_of_vacuum(version):
    later = protocol_with(PLAIN, ["vacuumProtocolCheck", "allowColumnDefaults"])
    found = answer("Spark", later, version)
    assert (found["reads"], found["writes"]) == (True, True)


def small(path: Path, feature: str) -> str:
    """A table of one file whose protocol lists one feature."""
    (path / "_delta_log").mkdir(parents=True)
    pq.write_table(pa.table({"id": [1]}), path / "a.parquet")
    fields = [{"name": "id", "type": "long", "nullable": True, "metadata": {}}]
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": [feature]}
    if FEATURES[feature].for_readers:
        protocol |= {"minReaderVersion": 3, "readerFeatures": [feature]}
    metadata = {
        "id": "t", "format": {"provider": "parquet", "options": {}}, "partitionColumns": [], "configuration": {},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
    }  # fmt: skip
    size = (path / "a.parquet").stat().st_size
    add = {"path": "a.parquet", "partitionValues": {}, "size": size, "modificationTime": 0, "dataChange": True}
    lines = [{"protocol": protocol}, {"metaData": metadata}, {"add": add}]
    (path / "_delta_log" / f"{0:020}.json").write_text("\n".join(map(json.dumps, lines)))
    return str(path)


def test_delta_rs_reads_and_writes_what_the_list_says(tmp_path):
    assert deltalake.__version__ == DELTA_RS.version, "try the new package, and date the list anew"
    reads, writes = set(), set()
    for feature in FEATURES:
        path = small(tmp_path / feature, feature)
        try:
            QueryBuilder().register("t", DeltaTable(path)).execute("SELECT id FROM t").read_all()
            reads.add(feature)
            deltalake.write_deltalake(path, pa.table({"id": [2]}), mode="append")
            writes.add(feature)
        except Exception:  # noqa: BLE001 - delta-rs raises many kinds; each is a no
            continue
    assert {name for name in reads if FEATURES[name].for_readers} == DELTA_RS.reads
    assert DELTA_RS.writes is not None
    assert writes == DELTA_RS.writes
