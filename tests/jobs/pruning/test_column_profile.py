"""What the log says of columns: never more than its statistics do, and partition columns exactly."""

import json
from types import MappingProxyType

import pytest

from jobs.domain.errors import CommandRefused
from jobs.pruning import column_profile, statistics
from jobs.pruning.column_profile import Value, profiled
from tables.deltalog.replay.log import open_log
from tables.deltalog.rules.schema import parse_schema
from tests.tables.deltalog.writing import PROTOCOL, LogWriter, add, info, metadata, vector

FIELDS: dict[str, object] = {
    "id": "long", "name": "string", "day": "date", "at": "timestamp", "local": "timestamp_ntz", "x": "double", "price": "decimal(10,2)",
    "ok": "boolean", "tags": {"type": "array", "elementType": "string", "containsNull": True},
    "s": {"type": "struct", "fields": [{"name": "in.ner", "type": "integer", "nullable": True, "metadata": {}}]}, "p": "integer",
}  # fmt: skip
LOW = {
    "id": 3, "name": "b", "day": "2026-01-02", "at": "2026-01-01T23:00:00.123-02:00", "local": "2026-01-02T03:04:05.000", "x": -1.5,
    "price": 1.10, "s": {"in.ner": 4},
}  # fmt: skip
HIGH = LOW | {"id": 9, "name": "z" * 32 + "\U0010ffff", "day": "2026-02-01", "at": "2026-01-02T02:00:00.500Z"}
NULLS = {"id": 0, "name": 1, "day": 2, "at": 0, "local": 0, "x": 0, "price": 0, "ok": 3, "tags": 4, "s": {"in.ner": 5}}


def stats(rows=10, low=LOW, high=HIGH, nulls=NULLS):
    return json.dumps({"numRecords": rows, "minValues": low, "maxValues": high, "nullCount": nulls})


@pytest.fixture
def profile(tmp_path):
    """The profile of a table with these files, its columns by name."""

    def made(*files, fields=FIELDS, partition=("p",), column_metadata=MappingProxyType({}), **configuration):
        struct = {
            "type": "struct",
            "fields": [
                {"name": name, "type": kind, "nullable": True, "metadata": column_metadata.get(name, {})}
                for name, kind in fields.items()
            ],
        }
        writer = LogWriter(tmp_path / "t")
        writer.commit(
            0, info(), PROTOCOL, metadata(schema=json.dumps(struct), partition=partition, **configuration), *files
        )
        snapshot = open_log(str(writer.table)).snapshot(target=tmp_path / "files.arrow")
        found, total = profiled(snapshot, parse_schema(json.dumps(struct)))
        assert total == len(found.columns)
        return found, {column.path: column for column in found.columns}

    return made


def bounds(column):
    return column.low, column.high, column.nulls, column.uncounted, column.unbounded


def test_each_type_has_its_bounds_as_spark_writes_them(profile):
    found, columns = profile(add("a", partition={"p": "1"}, stats=stats()))
    assert list(columns) == ["id", "name", "day", "at", "local", "x", "price", "ok", "tags", "s.`in.ner`", "p"]
    assert bounds(columns["id"]) == ("3", "9", 0, 0, 0)
    assert bounds(columns["day"]) == ("2026-01-02", "2026-02-01", 2, 0, 0)
    assert bounds(columns["at"]) == ("2026-01-02 01:00:00.123", "2026-01-02 02:00:00.500999", 0, 0, 0)
    assert bounds(columns["local"]) == ("2026-01-02 03:04:05", "2026-01-02 03:04:05.000999", 0, 0, 0)
    assert bounds(columns["x"]) == ("-1.5", "-1.5", 0, 0, 0)
    assert bounds(columns["price"])[:2] == ("1.10", "1.10")
    assert bounds(columns["s.`in.ner`"]) == ("4", "4", 5, 0, 0)
    for name, nulls in (("ok", 3), ("tags", 4)):
        assert (bounds(columns[name]), columns[name].has_bounds) == ((None, None, nulls, 0, 0), False)
    assert (found.version, found.files, found.rows, found.vectors, found.unread) == (0, 1, 10, 0, False)


def test_the_bounds_of_files_are_joined_and_a_file_that_does_not_tell_is_counted(profile):
    none = stats(5, {}, {}, {})
    empty = stats(7, {}, {}, NULLS | {"id": 7})
    _, columns = profile(
        add("a", partition={"p": "1"}, stats=stats()),
        add("b", partition={"p": "1"}, stats=stats(low=LOW | {"id": -4}, high=HIGH | {"id": 5})),
        add("c", partition={"p": "1"}, rows=None), add("d", partition={"p": "1"}, stats=none), add("e", partition={"p": "1"}, stats=empty),
    )  # fmt: skip
    assert bounds(columns["id"]) == ("-4", "9", 7, 2, 2)  # e holds nothing but NULL: it has no bounds to tell
    assert bounds(columns["name"])[2:] == (3, 2, 3)


def test_a_text_that_may_go_on_is_marked(profile):
    _, columns = profile(add("a", partition={"p": "1"}, stats=stats(low=LOW | {"name": "y" * 32})))
    name = columns["name"]
    assert (name.low, name.low_is_cut, name.high, name.high_is_cut) == ("y" * 32, True, "z" * 32, True)


def test_a_table_may_keep_shorter_texts(profile):
    short = {"delta.dataSkippingStringPrefixLength": "2"}
    _, columns = profile(add("a", partition={"p": "1"}, stats=stats(high=HIGH | {"name": "zz"})), **short)
    assert (columns["name"].low_is_cut, columns["name"].high_is_cut) == (False, True)


def one(kind, low, high, *, nulls=0, rows=10, name="v", **more):
    """The arguments for a table with one column, and one file with these statistics of it."""
    low, high = ({} if side is None else {name: side} for side in (low, high))
    file = add("a", stats=stats(rows, low, high, {} if nulls is None else {name: nulls}))
    return {"files": [file], "fields": {name: kind}, "partition": (), **more}


def only(profile, asked):
    files = asked.pop("files")
    return next(iter(profile(*files, **asked)[1].values()))


@pytest.mark.parametrize(
    ("kind", "low", "high", "shown"),
    [
        ("decimal(12,2)", 3.00, 1000, ("3.00", "1000.00")),
        ("decimal(38,2)", -1.1, 1.1, ("-1.10", "1.10")),
        ("decimal(4,4)", -0.0, 0.0001, ("0.0000", "0.0001")),
        ("decimal(3,1)", 1.25, 1.25, ("1.2", "1.3")),  # no values of the type: still outside
        ("decimal(3,1)", -1000, 1000, ("-99.9", "99.9")),
        ("decimal(38,0)", -(10**38) + 1, 10**38 - 1, ("-" + "9" * 38, "9" * 38)),
    ],
)
def test_decimals_have_the_digits_of_their_type(profile, kind, low, high, shown):
    column = only(profile, one(kind, low, high))
    assert (column.low, column.high) == shown


@pytest.mark.parametrize("value", [12345678901234567891, -12345678901234567891, 99999999999999999999, 9007199254740993])
def test_a_decimal_of_more_digits_than_a_double_has_stays_within_its_bounds(profile, value):
    column = only(profile, one("decimal(20,0)", value, value))
    assert int(column.low) <= value <= int(column.high)
    assert int(column.high) - int(column.low) <= abs(value) * 4e-15


def test_a_time_whose_offset_has_lost_its_seconds_moves_apart(profile):
    written = "1850-01-01T01:01:01.000+00:53"
    column = only(profile, one("timestamp", written, written))
    assert (column.low, column.high) == ("1850-01-01 00:07:02", "1850-01-01 00:09:00.000999")


@pytest.mark.parametrize(
    ("low", "high", "nulls"), [(9, 3, 0), (3, 9, -1), (3, 9, 11), (3, 9, 10), (3, None, 10)]
)  # fmt: skip
def test_statistics_that_contradict_themselves_tell_nothing(profile, low, high, nulls):
    column = only(profile, one("long", low, high, nulls=nulls))
    assert bounds(column) == (None, None, None, 1, 1)


def test_numbers_of_nulls_that_cannot_be_tell_nothing_of_a_column_without_bounds(profile):
    assert bounds(only(profile, one("boolean", None, None, nulls=11))) == (None, None, None, 1, 0)


@pytest.mark.parametrize(
    ("low", "high", "shown", "is_cut", "unbounded"),
    [
        ("a", "b", ("a", "b"), False, 0),
        ("a\ufffd", "b", (None, "b"), False, 1),
        ("a", "b\ufffd", ("a", "b"), True, 0),
        ("a", "b\ufffdc\nd", ("a", "b"), True, 0),
        ("a", "\ufffd", ("a", None), False, 1),
        ("a", "y" * 32 + "\ufffd", ("a", "y" * 32), True, 0),
        ("a", "y" * 32, ("a", "y" * 32), True, 0),
    ],
)
def test_a_text_with_characters_that_may_stand_for_others_is_no_bound(profile, low, high, shown, is_cut, unbounded):
    column = only(profile, one("string", low, high))
    assert (column.low, column.high) == shown
    assert (column.low_is_cut, column.high_is_cut, column.unbounded) == (False, is_cut, unbounded)


def test_a_text_that_may_go_on_is_above_one_that_begins_with_it(profile):
    files = [
        add(high, stats=stats(10, {"v": "a"}, {"v": high}, {"v": 0})) for high in ("ab\ufffd", "ab\U0001f600", "abc")
    ]
    column = only(profile, {"files": files, "fields": {"v": "string"}, "partition": ()})
    assert (column.high, column.high_is_cut) == ("ab", True)


def widened(before, after):
    return {"v": {"delta.typeChanges": [{"fromType": before, "toType": after}]}}


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (0.7, 0.7, ("0.699999988079071", "0.7")), (0.1, 0.1, ("0.1", "0.10000000149011612")),
        (0.7, 1e300, ("0.699999988079071", "1e+300")),
    ],
)  # fmt: skip
def test_a_float_that_was_widened_has_the_bounds_of_its_values_as_doubles(profile, low, high, shown):
    column = only(profile, one("double", low, high, column_metadata=widened("float", "double")))
    assert (column.low, column.high) == shown


@pytest.mark.parametrize("kind", ["double", "float"])
def test_a_real_number_that_was_never_widened_is_told_as_it_is_written(profile, kind):
    column = only(profile, one(kind, 0.1, 0.7))
    assert (column.low, column.high) == ("0.1", "0.7")


@pytest.mark.parametrize(("before", "told"), [("integer", ("3", "9", 0)), ("odd", (None, None, 1))])
def test_other_widened_types_keep_their_bounds_and_unknown_changes_none(profile, before, told):
    column = only(profile, one("long", 3, 9, column_metadata=widened(before, "long")))
    assert (column.low, column.high, column.unbounded) == told


def test_two_columns_under_one_name_in_the_files_are_refused(profile):
    mapped = {name: {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "c"} for name in ("v", "w")}
    with pytest.raises(CommandRefused) as refused:
        profile(
            fields={"v": "long", "w": "long"}, partition=(), column_metadata=mapped,
            **{"delta.columnMapping.mode": "name"},
        )  # fmt: skip
    assert refused.value.refusals[0].code == "unreadable"


def test_what_no_file_tells_is_unknown(profile):
    found, columns = profile(add("a", partition={"p": "1"}, rows=None))
    assert bounds(columns["id"]) == (None, None, None, 1, 1)
    assert found.rows is None
    assert columns["p"].values == (Value("1", None),)


def test_a_table_without_files_has_no_null(profile):
    _, columns = profile()
    assert bounds(columns["id"]) == (None, None, 0, 0, 0)
    assert (columns["p"].distinct, columns["p"].values, columns["p"].nulls) == (0, (), 0)


def test_partition_columns_are_exact_without_the_rows_that_vectors_hide(profile):
    found, columns = profile(
        add("a", rows=10, partition={"p": "2"}), add("b", rows=30, partition={"p": "1"}, deletionVector=vector("x" * 20, 4)),
        add("c", rows=5, partition={"p": None}), add("d", rows=6, partition={"p": ""}), add("e", rows=1, partition={"p": "2"}),
    )  # fmt: skip
    assert found.vectors == 1
    assert (columns["p"].distinct, columns["p"].nulls, columns["p"].is_partition) == (2, 11, True)
    assert columns["p"].values == (Value("1", 26), Value("2", 11))


def test_an_empty_text_is_a_value_of_a_text_column(profile):
    files = [add(str(number), rows=1, partition={"p": text}) for number, text in enumerate(["", "b", None])]
    _, columns = profile(*files, fields=FIELDS | {"p": "string"})
    assert (columns["p"].distinct, columns["p"].nulls) == (2, 1)
    assert {value.text for value in columns["p"].values} == {"", "b"}


@pytest.mark.parametrize(
    ("kind", "spellings", "distinct"),
    [
        ("timestamp", ["2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"], 2),
        ("timestamp", ["2026-01-01T00:00:00Z", "2026-01-01 00:00:00"], 2),  # of no certain moment
        ("timestamp_ntz", ["2026-01-01 00:00:00", "2026-01-01 00:00:00.000000"], 1),
        ("decimal(10,2)", ["1.1", "1.10", "1.01"], 2),
        ("integer", ["1", "01"], 1),
        ("string", ["1", "01"], 2),
        ("double", ["1", "1.0"], 2),
    ],
)
def test_values_of_a_partition_column_are_counted_whatever_their_spelling(profile, kind, spellings, distinct):
    files = [add(str(number), rows=3 - number, partition={"p": text}) for number, text in enumerate(spellings)]
    _, columns = profile(*files, fields={"p": kind})
    assert columns["p"].distinct == len(columns["p"].values) == distinct
    together = 3 + 2 if distinct < len(spellings) else 3
    assert columns["p"].values[0] == Value(spellings[0], together)


def test_a_spelling_with_unknown_rows_leaves_the_rows_of_its_value_unknown(profile):
    files = [add(text, rows=rows, partition={"p": text}) for text, rows in (("1.1", 3), ("1.10", None))]
    _, columns = profile(*files, fields={"p": "decimal(10,2)"})
    assert columns["p"].values == (Value("1.1", None),)


def test_the_values_with_most_rows_are_named(profile):
    files = [add(str(number), rows=number, partition={"p": str(number)}) for number in range(1, 31)]
    _, columns = profile(*files)
    assert columns["p"].distinct == 30
    assert [value.text for value in columns["p"].values] == [str(number) for number in range(30, 20, -1)]


def test_mapped_columns_are_known_by_their_names_in_the_files(tmp_path):
    kept = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}
    part = {"delta.columnMapping.id": 2, "delta.columnMapping.physicalName": "col-2"}
    fields = [
        {"name": "id", "type": "long", "nullable": True, "metadata": kept},
        {"name": "p", "type": "integer", "nullable": True, "metadata": part},
    ]
    schema = json.dumps({"type": "struct", "fields": fields})
    writer = LogWriter(tmp_path / "t")
    writer.commit(
        0, info(), PROTOCOL, metadata(schema=schema, partition=["p"], **{"delta.columnMapping.mode": "name"}),
        add("a", partition={"col-2": "7"}, stats=stats(low={"col-1": 1}, high={"col-1": 2}, nulls={"col-1": 0})),
    )  # fmt: skip
    snapshot = open_log(str(writer.table)).snapshot(target=tmp_path / "files.arrow")
    first, second = profiled(snapshot, parse_schema(schema))[0].columns
    assert bounds(first) == ("1", "2", 0, 0, 0)
    assert second.values == (Value("7", 10),)


def test_too_many_statistics_are_not_read_at_once(profile, monkeypatch):
    monkeypatch.setattr(column_profile, "MOST_STATISTICS", 10)
    found, columns = profile(add("a", partition={"p": "1"}, stats=stats()))
    assert found.unread
    assert (bounds(columns["id"]), columns["id"].has_bounds) == ((None, None, None, 1, 1), True)
    assert (bounds(columns["tags"]), columns["tags"].has_bounds) == ((None, None, None, 1, 0), False)
    assert columns["p"].distinct == 1


def test_statistics_are_left_alone_where_no_column_has_any(profile, monkeypatch):
    monkeypatch.setattr(statistics, "_joined", lambda *_: pytest.fail("They were read."))
    _, columns = profile(add("a", partition={"p": "1"}, stats=stats()), fields={"p": "integer"})
    assert columns["p"].distinct == 1


def test_a_part_of_the_columns_can_be_asked_for(tmp_path, profile):
    profile(add("a", partition={"p": "1"}, stats=stats()))
    snapshot = open_log(str(tmp_path / "t")).snapshot(target=tmp_path / "again.arrow")
    assert snapshot.metadata
    found, total = profiled(snapshot, parse_schema(snapshot.metadata.schema_json), 1, 2)
    assert ([column.path for column in found.columns], total) == (["name", "day"], 11)
