"""Whatever a log contains, reading it ends with an answer: no input may raise anything."""

import json
import shutil
import tempfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tables.deltalog.read.problems import Problems
from tables.deltalog.replay.log import open_log
from tables.deltalog.rules.properties import settings as property_settings
from tables.deltalog.rules.schema import SchemaError, parse_schema, type_text, walk
from tables.deltalog.rules.schema_changes import compare_schemas
from tests.tables.deltalog.writing import CHECKPOINT, PROTOCOL, LogWriter, add, info, metadata, remove

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
MEMBERS = {
    "add": [
        "path",
        "partitionValues",
        "size",
        "modificationTime",
        "dataChange",
        "stats",
        "deletionVector",
        "tags",
        "baseRowId",
    ],
    "remove": ["path", "deletionTimestamp", "dataChange", "partitionValues", "size", "deletionVector", "stats"],
    "cdc": ["path", "partitionValues", "size"],
    "metaData": [
        "id",
        "name",
        "description",
        "format",
        "schemaString",
        "partitionColumns",
        "configuration",
        "createdTime",
    ],
    "protocol": ["minReaderVersion", "minWriterVersion", "readerFeatures", "writerFeatures"],
    "txn": ["appId", "version", "lastUpdated"],
    "domainMetadata": ["domain", "configuration", "removed"],
    "commitInfo": [
        "timestamp",
        "inCommitTimestamp",
        "operation",
        "operationParameters",
        "operationMetrics",
        "readVersion",
        "userMetadata",
    ],
    "sidecar": ["path"],
    "checkpointMetadata": ["version"],
}


def _arrow_holds(value: Any) -> bool:
    """Whether parquet has a column for it: Arrow refuses mixed lists, whole numbers beyond 64 bits and objects without members."""
    try:
        pq.write_table(pa.table({"x": pa.array([value])}), pa.BufferOutputStream())
    except (pa.ArrowException, OverflowError):
        return False
    return True


ACTIONS = st.sampled_from(sorted(MEMBERS)).flatmap(
    lambda name: st.fixed_dictionaries({name: JSON | st.dictionaries(st.sampled_from(MEMBERS[name]), JSON, max_size=6)})
)
GOOD_ACTIONS = (
    info(operationParameters={"a": "b"}),
    PROTOCOL,
    metadata(partition=["day"]),
    add("a", partition={"day": "x"}),
    remove("a"),
)
GOOD = "".join(json.dumps(action) + "\n" for action in GOOD_ACTIONS).encode()
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def read(content: bytes) -> None:
    """First sync, a second one over it, and the typed actions."""
    folder = Path(tempfile.mkdtemp())
    try:
        writer = LogWriter(folder / "table")
        writer.create(add("first", partition={"day": "x"}), partition=["day"])
        log = open_log(str(writer.table))
        base = log.sync(folder / "files.arrow").snapshot()
        writer.raw(1, content)
        for start in (base, None):
            run = log.sync(folder / "files.arrow", start)
            commits = list(run.commits())
            assert commits[-1].version == 1
            _use(run.snapshot(), commits)
        list(log.actions(1, Problems()))
        log.find_mark("a")
    finally:
        shutil.rmtree(folder)


def _use(snapshot, commits) -> None:
    snapshot.files().to_pylist()
    assert snapshot.features is not None
    assert snapshot.clustering_columns is not None
    assert snapshot.in_commit_timestamps is not None
    property_settings(snapshot.metadata.configuration if snapshot.metadata else {})
    for commit in commits:
        str(commit).encode()  # no lone surrogates: a database refuses them


@QUICK
@given(st.lists(ACTIONS, max_size=5))
def test_any_action_of_any_shape_is_read(actions):
    read("".join(json.dumps(action) + "\n" for action in actions).encode())


@QUICK
@given(st.binary(max_size=200))
def test_any_bytes_are_read(content):
    read(content)


@QUICK
@given(
    st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), min_size=1, max_size=6),
    st.integers(0, len(GOOD)),
)
def test_a_damaged_commit_is_read(damage, length):
    content = bytearray(GOOD)
    for place, byte in damage:
        content[place] = byte
    read(bytes(content[:length]))


ODD = st.one_of(
    st.just(pa.array([b"\xff\xfe"])),
    st.builds(lambda value: pa.array([value]), JSON.filter(_arrow_holds)),
    st.sampled_from(
        [pa.timestamp("ns"), pa.timestamp("us", "UTC"), pa.timestamp("ms"), pa.duration("ns"), pa.time64("us")]
    ).map(lambda kind: pa.array([2**60], pa.int64()).cast(kind)),
    st.just(pa.array([Decimal("1.5")])),
    st.just(pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())),
)
COLUMNS = [
    (name, member) for name in CHECKPOINT.names for member in [None, *(f.name for f in CHECKPOINT.field(name).type)]
]


@QUICK
@given(st.lists(st.tuples(st.sampled_from(COLUMNS), ODD), min_size=1, max_size=4))
def test_a_checkpoint_of_any_kinds_is_read_or_passed_over(changes):
    def harm(path: Path) -> None:
        for (name, member), odd in changes:
            replace_column(path, name, member, odd)

    read_checkpoint(harm)


@QUICK
@given(st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), min_size=1, max_size=8), st.integers(0, 5000))
def test_a_damaged_checkpoint_is_read_or_passed_over(damage, cut):
    def harm(path: Path) -> None:
        content = bytearray(path.read_bytes())
        for place, byte in damage:
            content[place % len(content)] = byte
        path.write_bytes(content[: len(content) - cut] if cut % 7 == 0 else content)

    read_checkpoint(harm)


def read_checkpoint(harm: Callable[[Path], object]) -> None:
    """A first sync over a checkpoint that was harmed, with and without the commits that it stands for."""
    folder = Path(tempfile.mkdtemp())
    try:
        writer = LogWriter(folder / "table")
        actions = (PROTOCOL, metadata(partition=["day"]), {"txn": {"appId": "a", "version": 1}}, add("a"), add("b"))
        writer.commit(0, info(), *actions)
        harm(writer.checkpoint(0, *actions))
        writer.commit(1, info(), add("c"))
        log = open_log(str(writer.table))
        for _ in range(2):
            run = log.sync(folder / "files.arrow")
            _use(run.snapshot(), list(run.commits()))
            assert "c" in run.snapshot().files().column("path").to_pylist()
            writer.file(0).unlink(missing_ok=True)
    finally:
        shutil.rmtree(folder)


def replace_column(path: Path, name: str, member: str | None, value: pa.Array) -> None:
    """Puts another value in each row of a column, or of one member of it."""
    table = pq.read_table(path)
    place, old = table.schema.get_field_index(name), table.column(name).combine_chunks()
    column = pa.repeat(value[0], len(table))
    if member is not None and pa.types.is_struct(old.type):
        members = {field.name: old.field(field.name) for field in old.type} | {member: column}
        column = pa.StructArray.from_arrays(list(members.values()), list(members), mask=old.is_null())
    pq.write_table(table.set_column(place, name, column), path, store_schema=False)


@settings(max_examples=200, deadline=None)
@given(JSON, JSON)
def test_any_schema_text_is_read_or_refused(one, two):
    schemas = []
    for value in (one, two):
        text = json.dumps(
            {
                "type": "struct",
                "fields": [{"name": "a", "type": "long", "metadata": value}, {"name": "b", "type": value}],
            }
        )
        try:
            schemas.append(parse_schema(text))
        except SchemaError:
            schemas.append(parse_schema('{"type":"struct","fields":[]}'))
    compare_schemas(*schemas)
    for schema in schemas:
        for path, column in walk(schema):
            assert path[-1] == column.name
            assert column.physical_name or not column.name
            str(
                (
                    type_text(column.type),
                    column.identity,
                    column.free_metadata,
                    column.default,
                    column.mapping_id,
                    column.comment,
                )
            )
