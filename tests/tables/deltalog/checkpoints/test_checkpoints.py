import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tables.deltalog.read.problems import ProblemCode
from tests.tables.deltalog.conftest import paths
from tests.tables.deltalog.writing import CHECKPOINT, PROTOCOL, add, info, metadata, vector

STATE = (PROTOCOL, metadata(partition=["day"], delta__appendOnly="true"), {"txn": {"appId": "app", "version": 3}})


def file(name: str, **more):
    return add(name, partition={"day": "x"}, **more)


def check(snapshot, *expected: str) -> None:
    assert paths(snapshot) == sorted(expected)
    assert snapshot.metadata.partition_columns == ("day",)
    assert snapshot.metadata.configuration == {"delta.appendOnly": "true"}
    assert snapshot.set_transactions["app"].version == 3
    assert snapshot.files().column("partition.day").to_pylist() == ["x"] * len(expected)
    assert snapshot.num_records == 10 * len(expected)


def test_a_classic_checkpoint_stands_for_the_cleaned_log(writer, log, target):
    writer.checkpoint(10, *STATE, file("a"), file("b"), {"remove": {"path": "z", "dataChange": True}})
    snapshot = log.snapshot(target=target)
    check(snapshot, "a", "b")
    assert snapshot.version == 10
    assert snapshot.complete


def test_commits_after_a_checkpoint_change_its_files(writer, log, target):
    writer.checkpoint(10, *STATE, file("a"), file("b", deletionVector=vector("v", 2)))
    writer.commit(11, info(), {"remove": {"path": "b", "deletionVector": vector("v", 2)}}, file("c"))
    check(log.snapshot(target=target), "a", "c")


def test_a_remove_without_the_vector_is_of_another_file(writer, log, target):
    writer.checkpoint(10, *STATE, file("b", deletionVector=vector("v", 2)))
    writer.commit(11, info(), {"remove": {"path": "b"}})
    snapshot = log.snapshot(target=target)
    assert paths(snapshot) == ["b"]
    assert snapshot.num_records == 8


def test_a_multi_part_checkpoint_is_read_in_all_parts(writer, log, target):
    writer.multipart(10, [*STATE, file("a")], [file("b"), file("c")])
    check(log.snapshot(target=target), "a", "b", "c")


def test_an_incomplete_multi_part_checkpoint_is_passed_over(writer, log, target):
    writer.checkpoint(8, *STATE, file("a"))
    writer.commit(9, info(), file("b"))
    writer.commit(10, info(), file("c"))
    writer.multipart(10, [*STATE, file("a")], [file("b")])[1].unlink()
    run = log.sync(target)
    check(run.snapshot(), "a", "b", "c")
    assert [problem.code for problem in run.snapshot().problems] == [ProblemCode.MISSING]


@pytest.mark.parametrize("suffix", ["parquet", "json"])
def test_a_v2_checkpoint_is_read_with_its_sidecars(writer, log, target, suffix):
    sidecars = [writer.sidecar("one.parquet", file("a")), writer.sidecar("two.parquet", file("b"), file("c"))]
    writer.v2(10, *STATE, *sidecars, suffix=suffix)
    writer.commit(11, info(), file("d"), {"remove": {"path": "a"}})
    check(log.snapshot(target=target), "b", "c", "d")


def test_a_v2_checkpoint_may_hold_files_itself(writer, log, target):
    writer.v2(10, *STATE, file("a"), file("b"), suffix="json")
    check(log.snapshot(target=target), "a", "b")


def test_a_missing_sidecar_leads_to_the_older_checkpoint(writer, log, target):
    writer.checkpoint(9, *STATE, file("a"))
    writer.commit(10, info(), file("b"))
    writer.v2(10, *STATE, {"sidecar": {"path": "gone.parquet", "sizeInBytes": 1, "modificationTime": 1}})
    run = log.sync(target)
    assert [commit.version for commit in run.commits()] == [10]
    check(run.snapshot(), "a", "b")
    assert any("gone.parquet" in problem.reason for problem in run.snapshot().problems)


@pytest.mark.parametrize(
    "place", ["../../other/x.parquet", "/etc/x.parquet", "s3://bucket/x.parquet", "..", "%2e%2e/x.parquet"]
)
def test_a_sidecar_elsewhere_is_refused(writer, log, target, place):
    writer.v2(10, *STATE, {"sidecar": {"path": place, "sizeInBytes": 1, "modificationTime": 1}})
    snapshot = log.snapshot(target=target)
    assert snapshot.num_files == 0
    assert not snapshot.complete
    assert ProblemCode.OUTSIDE in [problem.code for problem in snapshot.problems]


def test_a_broken_checkpoint_leads_to_the_commits(writer, log, target):
    writer.commit(0, info(), *STATE, file("a"))
    writer.commit(1, info(), file("b"))
    (writer.log / f"{1:020d}.checkpoint.parquet").write_bytes(b"PAR1 but then rubbish PAR1")
    snapshot = log.snapshot(target=target)
    check(snapshot, "a", "b")
    assert snapshot.complete
    assert snapshot.problems[0].code is ProblemCode.UNREADABLE


def test_a_checkpoint_broken_in_the_middle_leads_to_the_commits(writer, log, target):
    writer.commit(0, info(), *STATE, file("a"))
    writer.commit(1, info(), *(file(f"b{n}") for n in range(40)))
    path = writer.checkpoint(1, *STATE, *(file(f"b{n}") for n in range(40)))
    content = bytearray(path.read_bytes())
    content[len(content) // 3 : len(content) // 2] = b"\xff" * (len(content) // 2 - len(content) // 3)
    path.write_bytes(content)
    snapshot = log.snapshot(target=target)
    assert snapshot.num_files == 41
    assert any("not used" in problem.reason for problem in snapshot.problems)


def test_odd_values_of_a_checkpoint_are_unknown_and_said(writer, log, target):
    writer.checkpoint(
        1, *STATE, file("a", size=-5), add("../b"), {"add": {"size": 1}}, {"add": {"path": "c", "stats": "{rubbish"}}
    )
    snapshot = log.snapshot(target=target)
    assert paths(snapshot) == ["../b", "a", "c"]
    assert snapshot.size_bytes is None
    reasons = " ".join(problem.reason for problem in snapshot.problems)
    for part in ("add.size", "outside", "without a path", "statistics"):
        assert part in reasons


def retyped(path: Path, column: str, member: str, values: pa.Array) -> None:
    """Writes a checkpoint's column anew with another member of that name."""
    table = pq.read_table(path)
    old = table.column(column).combine_chunks()
    members = {field.name: old.field(field.name) for field in old.type if field.name != member}
    members[member] = values if len(values) == len(table) else pa.repeat(values[0], len(table))
    new = pa.StructArray.from_arrays(list(members.values()), list(members), mask=old.is_null())
    pq.write_table(table.set_column(table.schema.get_field_index(column), column, new), path, store_schema=False)


def bad_text(count: int = 1) -> pa.Array:
    """Texts that are not UTF-8, as parquet can hold them."""
    return pa.Array.from_buffers(pa.string(), count, pa.array([b"\xff\xfe"] * count, pa.binary()).buffers())


UNUSABLE = {
    "paths in bad UTF-8": ("add", "path", bad_text()),
    "paths in bytes": ("add", "path", pa.array([b"\xff"])),
    "paths in lists": ("add", "path", pa.array([["a"]])),
    "partition values in an object": ("add", "partitionValues", pa.array([{"day": "x"}])),
    "partition values in bad UTF-8": (
        "add",
        "partitionValues",
        pa.MapArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array(["day"]), bad_text()),
    ),
    "a vector with an offset in text": ("add", "deletionVector", pa.array([{"storageType": "u", "offset": "here"}])),
    "a schema in bad UTF-8": ("metaData", "schemaString", bad_text()),
    "times in nanoseconds": ("txn", "lastUpdated", pa.array([1], pa.timestamp("ns"))),
    "times beyond all years": ("txn", "lastUpdated", pa.array([2**62], pa.timestamp("ms"))),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_checkpoint_of_odd_kinds_leads_to_the_commits(writer, log, target, name):
    writer.commit(0, info(), *STATE, file("a"))
    writer.commit(1, info(), file("b"))
    retyped(writer.checkpoint(1, *STATE, file("a"), file("b")), *UNUSABLE[name])
    run = log.sync(target)
    check(run.snapshot(), "a", "b")
    assert run.snapshot().complete
    assert [(problem.file[20:], problem.code) for problem in run.snapshot().problems] == [
        (".checkpoint.parquet", ProblemCode.UNREADABLE)
    ]


@pytest.mark.parametrize(
    ("member", "values", "told"),
    [
        ("size", pa.array(["many"]), "add.size"),
        ("size", pa.array([1.5]), "add.size"),
        ("size", pa.array([{"bytes": 1}]), "add.size"),
        ("modificationTime", pa.array([b"\xff"]), "add.modificationTime"),
        ("stats", bad_text(), "add.stats"),
        ("stats", pa.array([["numRecords"]]), "add.stats"),
    ],
)
def test_a_checkpoint_without_a_log_before_it_keeps_what_can_be_read(writer, log, target, member, values, told):
    retyped(writer.checkpoint(1, *STATE, file("a"), file("b")), "add", member, values)
    snapshot = log.sync(target).snapshot()
    assert paths(snapshot) == ["a", "b"]
    assert told in snapshot.problems[0].reason
    snapshot.files().to_pylist()


def test_a_configuration_of_other_than_texts_is_shown_as_far_as_it_can_be(writer, log, target):
    kind = pa.map_(pa.int32(), pa.binary())
    retyped(writer.checkpoint(1, *STATE, file("a")), "metaData", "configuration", pa.array([[(1, b"x")]], kind))
    assert log.sync(target).snapshot().metadata.configuration == {"1": "(not text)"}


def test_an_add_column_without_objects_is_said(writer, log, target):
    writer.commit(0, info(), *STATE, file("a"))
    table = pq.read_table(writer.checkpoint(0, *STATE))
    place = table.schema.get_field_index("add")
    table = table.set_column(place, "add", pa.array(range(len(table))))
    pq.write_table(table, writer.log / f"{0:020d}.checkpoint.parquet")
    snapshot = log.sync(target).snapshot()
    check(snapshot, "a")
    assert "add column" in snapshot.problems[0].reason


def test_statistics_kept_only_as_columns_become_text(writer, log, target):
    low = {
        "id": 1,
        "day": None,
        "at": datetime(2024, 1, 2, 3, 4, 5, 678901, UTC),
        "price": Decimal("1.50"),
        "x": float("-inf"),
    }
    high = {"id": 9, "day": "ü", "at": None, "price": Decimal("2.00"), "x": float("nan")}
    parsed = {"numRecords": 4, "minValues": low, "maxValues": high}
    rows = [
        {"protocol": PROTOCOL["protocol"]},
        {"metaData": {"id": "m", "schemaString": "{}", "partitionColumns": ["day"]}},
        {"add": {"path": "a", "partitionValues": [("day", "x")], "size": 1, "stats_parsed": parsed}},
    ]
    pq.write_table(
        pa.Table.from_pylist(rows, schema_with_parsed_statistics()), writer.log / f"{1:020d}.checkpoint.parquet"
    )
    snapshot = log.snapshot(target=target)
    assert snapshot.num_records == 4
    (text,) = snapshot.files().column("stats").to_pylist()
    assert json.loads(text) == {
        "numRecords": 4,
        "minValues": {"id": 1, "at": "2024-01-02T03:04:05.678901Z", "price": 1.5, "x": "-Infinity"},
        "maxValues": {"id": 9, "day": "ü", "price": 2, "x": "NaN"},
    }


@pytest.mark.parametrize("int96", [True, False])
def test_a_time_of_another_millennium_takes_no_other_statistics_away(writer, log, target, int96):
    """9999-12-31 stands for "open"; a time beyond that year, which Python doesn't have, is unknown alone."""
    times = [datetime(9999, 12, 31, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC), datetime(2262, 6, 1, tzinfo=UTC)]
    rows = [
        {"add": {"path": f"{at}", "size": 1, "stats_parsed": {"numRecords": at, "maxValues": {"id": at, "at": time}}}}
        for at, time in enumerate(times)
    ]
    table = pa.Table.from_pylist(
        [{"protocol": PROTOCOL["protocol"]}, metadata(), *rows], schema_with_parsed_statistics()
    )
    pq.write_table(table, writer.log / f"{1:020d}.checkpoint.parquet", use_deprecated_int96_timestamps=int96)
    snapshot = log.snapshot(target=target)
    found = [json.loads(text) for text in snapshot.files().column("stats").to_pylist()]
    assert snapshot.num_records == 3
    assert [value["maxValues"]["id"] for value in found] == [0, 1, 2]
    assert [value["maxValues"]["at"][:10] for value in found] == ["9999-12-31", "2024-01-02", "2262-06-01"]
    assert not [problem for problem in snapshot.problems if "stats" in problem.reason]


def test_a_time_that_python_doesnt_have_is_unknown_alone(writer, log, target):
    schema = schema_with_parsed_statistics()
    parsed = [{"numRecords": 5, "maxValues": {"id": at, "at": at}} for at in (0, 300_000_000_000_000_000)]
    actions = [{"protocol": PROTOCOL["protocol"]}, {"metaData": {"id": "m", "schemaString": "{}"}}]
    actions += [{"add": {"path": str(at), "size": 1, "stats_parsed": value}} for at, value in enumerate(parsed)]
    pq.write_table(pa.Table.from_pylist(actions, schema), writer.log / f"{1:020d}.checkpoint.parquet")
    snapshot = log.snapshot(target=target)
    found = [json.loads(text) for text in snapshot.files().column("stats").to_pylist()]
    assert [value["maxValues"] for value in found] == [
        {"id": 0, "at": "1970-01-01T00:00:00.000+00:00"},
        {"id": 300_000_000_000_000_000},
    ]
    assert snapshot.num_records == 10
    assert "add.stats_parsed holds values that can't be read" in "".join(p.reason for p in snapshot.problems)


def schema_with_parsed_statistics() -> pa.Schema:
    values = pa.struct(
        {
            "id": pa.int64(),
            "day": pa.string(),
            "at": pa.timestamp("us", "UTC"),
            "price": pa.decimal128(10, 2),
            "x": pa.float64(),
        }
    )
    parsed = pa.struct({"numRecords": pa.int64(), "minValues": values, "maxValues": values})
    fields = [field for field in CHECKPOINT.field("add").type if field.name != "stats"]
    return pa.schema({**{f.name: f.type for f in CHECKPOINT}, "add": pa.struct([*fields, ("stats_parsed", parsed)])})


@pytest.mark.parametrize("state", [[], [PROTOCOL], [metadata()], [PROTOCOL, metadata(schema="")]])
def test_a_checkpoint_without_protocol_metadata_or_schema_gives_way_to_the_commits(writer, log, target, state):
    writer.create(add("a"))
    writer.commit(1, info(), add("b"))
    name = writer.checkpoint(1, *state, add("a")).name
    snapshot = log.sync(target).snapshot()
    assert paths(snapshot) == ["a", "b"]
    assert snapshot.complete
    assert [(problem.file, problem.code) for problem in snapshot.problems if problem.file == name][-1:] == [
        (name, ProblemCode.MISSING)
    ]


def test_such_a_checkpoint_is_used_where_nothing_else_holds_the_files(writer, log, target):
    writer.checkpoint(1, add("a"))
    writer.commit(2, info(), PROTOCOL, metadata(), add("b"))
    snapshot = log.sync(target).snapshot()
    assert paths(snapshot) == ["a", "b"]
    assert snapshot.complete


def test_such_a_checkpoint_gives_way_to_an_older_whole_one(writer, log, target):
    writer.checkpoint(1, PROTOCOL, metadata(), add("a"))
    writer.commit(2, info(), add("b"))
    writer.checkpoint(2, PROTOCOL, add("a"))
    snapshot = log.sync(target).snapshot()
    assert paths(snapshot) == ["a", "b"]
    assert snapshot.complete
