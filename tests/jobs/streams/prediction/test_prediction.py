"""What a first batch does, each case as Spark 4.2.0 with Delta 4.4.0 did it when it was run."""

import json

import pytest

from jobs.commands.stream_round.rules import Definition, FileSource, Steps, TableSource
from jobs.domain.errors import Refusal
from jobs.streams.prediction.first_batch import predict
from jobs.streams.prediction.values import ExistingTable, StreamNote, StreamPrediction
from jobs.streams.source_schema import parse_source_schema

MISMATCH = "DELTA_METADATA_MISMATCH"
CLASH = "DELTA_FAILED_TO_MERGE_FIELDS"
OUTPUT_MODE = "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION"
MERGE = {"mergeSchema": "true"}
OVERWRITE = {"overwriteSchema": "true"}
COUNT = Steps(group_by=("a",), count_as="count")
CHANGE_FEED = {"delta.enableChangeDataFeed": "true"}
WIDENING = {"delta.enableTypeWidening": "true"}
MAPPED = {"delta.columnMapping.mode": "name"}


def given(kind):
    """A struct as JSON from DDL; variant and other types that no source of files may have are put in for `date`."""
    ddl, _, other = kind.partition(" / ")
    struct = json.dumps(parse_source_schema(ddl))
    return json.loads(struct.replace('"date"', other) if other else struct)


def target(ddl, *partitions, configuration=None, features=None, **metadata):
    """A table; `metadata` are its columns'."""
    struct = given(ddl)
    for field in struct["fields"]:
        field["metadata"] = metadata.get(field["name"], {})
    return ExistingTable(struct, partitions, configuration or {}, features)


def definition(mode="append", partition_by=(), options=None, steps=None, source=None):
    return Definition(
        source or FileSource("/in", "json", {}), "/t", "/c", mode, partition_by, options or {}, steps or Steps()
    )


def told(ddl, table=None, **changes):
    return predict(definition(**changes), given(ddl), table)


def refused(ddl, table=None, **changes):
    """The codes of the refusals."""
    found = told(ddl, table, **changes)
    assert (found.outcome == "refused") == bool(found.refusals)
    return [refusal.code for refusal in found.refusals]


def notes(ddl, table=None, **changes):
    found = told(ddl, table, **changes)
    assert found.refusals == ()
    return {note.code: note.text for note in found.notes}


IDENTITY = {"delta.identity.start": 1, "delta.identity.step": 1, "delta.identity.allowExplicitInsert": False}
BY_DEFAULT = {**IDENTITY, "delta.identity.allowExplicitInsert": True}
GENERATED = {"delta.generationExpression": "a + 1"}
DEFAULT = {"CURRENT_DEFAULT": "'z'"}


# The mode


@pytest.mark.parametrize(
    ("mode", "steps", "codes"),
    [
        ("complete", Steps(), [OUTPUT_MODE]),
        ("append", COUNT, [OUTPUT_MODE]),
        ("append", Steps(count_as="n"), [OUTPUT_MODE]),
        ("complete", COUNT, []),
        ("complete", Steps(count_as="n"), []),
        ("append", Steps(), []),
    ],
)
def test_modes_and_aggregation(mode, steps, codes):
    assert refused("a int", mode=mode, steps=steps) == codes


def test_outcomes():
    assert told("a int").outcome == "creates"
    assert told("a int", target("a int")) == StreamPrediction("appends")
    complete = told("a int", target("a int, `count` bigint"), mode="complete", steps=COUNT)
    assert complete == StreamPrediction("replaces")


def test_steps_are_taken_first():
    steps = Steps(rename={"b": "c"}, cast={"c": "int"}, select=("c",))
    assert told("a int, b string", target("c int"), steps=steps) == StreamPrediction("appends")


def test_a_step_that_can_not_be_taken():
    found = told("a int", target("a int"), steps=Steps(select=("no",)))
    assert found.outcome == "refused"
    assert [(refusal.code, refusal.place) for refusal in found.refusals] == [("step_refused", "select")]


# A table that the batch creates


@pytest.mark.parametrize(
    ("ddl", "partition_by", "codes"),
    [
        ("a int, b string", ("zz",), ["partition_column_unknown"]),
        ("a int, b array<string>", ("b",), ["DELTA_INVALID_PARTITION_COLUMN_TYPE"]),
        ("a int, b map<string,int>", ("b",), ["DELTA_INVALID_PARTITION_COLUMN_TYPE"]),
        ("a int, b struct<x: int>", ("b",), ["DELTA_INVALID_PARTITION_COLUMN_TYPE"]),
        ('a int, b date / "variant"', ("b",), ["DELTA_INVALID_PARTITION_COLUMN_TYPE"]),
        ("a int", ("a",), ["DELTA_CANNOT_USE_ALL_COLUMNS_FOR_PARTITION"]),
        ("a int, b int, c int", ("a", "A"), ["DELTA_DUPLICATE_COLUMNS_FOUND.PARTITION_COLUMNS"]),
        ("a int, B string", ("b",), []),
        ("a int, b binary", ("b",), []),
        ("a int, b double", ("b",), []),
        ("a int, b timestamp", ("b",), []),
        ("a int, b boolean", ("b",), []),
        ("`a b` int", (), ["DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"]),
        ("s struct<`a=b`: int>", (), ["DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"]),
        ("s array<struct<`a;b`: int>>", (), ["DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"]),
        ("`a.b-c` int", (), []),
        ("a int, _change_type string", (), []),
        ('a int, b date / "void"', (), ["DELTA_NULL_SCHEMA_IN_STREAMING_WRITE"]),
        ('a int, b array<date> / "void"', (), ["DELTA_NULL_SCHEMA_IN_STREAMING_WRITE"]),
        ('a int, b map<string, struct<x: date>> / "void"', (), ["DELTA_NULL_SCHEMA_IN_STREAMING_WRITE"]),
    ],
)
def test_creating(ddl, partition_by, codes):
    assert refused(ddl, partition_by=partition_by) == codes


@pytest.mark.parametrize("character", list(" ,;{}()=\t\n"))
def test_every_character_that_delta_refuses(character):
    struct = given("a int")
    struct["fields"][0]["name"] = f"x{character}y"
    found = predict(definition(), struct, None)
    assert [refusal.code for refusal in found.refusals] == ["DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"]


def test_a_new_table_has_no_not_null_and_may_need_a_feature():
    found = notes("a int not null, s struct<x: int not null>, t array<timestamp_ntz>")
    assert set(found) == {"not_null_dropped", "needs_feature"}
    assert found["not_null_dropped"].startswith("a, s.x may be NULL")
    assert notes("a int", mode="complete", steps=COUNT) == {}  # the count, which Spark knows to be there


# Types


@pytest.mark.parametrize(
    ("source", "table", "words"),
    [
        ("boolean", "string", "becomes its text"),
        ("int", "string", "becomes its text"),
        ("binary", "string", "becomes its text"),
        ("date", "string", "becomes its text"),
        ('date / "variant"', "string", "becomes its text"),
        ("string", "binary", "bytes of its text"),
        ("string", "date", "no date fails the batch (TASK_WRITE_FAILED inside STREAM_FAILED) with CAST_INVALID_INPUT."),
        ("string", "timestamp", "no timestamp fails"),
        ("string", "int", "no int fails the batch (TASK_WRITE_FAILED inside STREAM_FAILED) with CAST_INVALID_INPUT."),
        ("string", "double", "no double fails"),
        (
            "string",
            "decimal(10,2)",
            "too large with CAST_OVERFLOW_IN_TABLE_INSERT. Digits beyond the scale are rounded.",
        ),
        (
            "bigint",
            "int",
            "too large fails the batch (TASK_WRITE_FAILED inside STREAM_FAILED) with CAST_OVERFLOW_IN_TABLE_INSERT.",
        ),
        ("int", "tinyint", "CAST_OVERFLOW_IN_TABLE_INSERT"),
        ("decimal(10,4)", "decimal(6,2)", "CAST_OVERFLOW_IN_TABLE_INSERT. Digits beyond the scale are rounded."),
        ("decimal(6,4)", "decimal(6,2)", "Digits beyond the scale are rounded."),
        ("decimal(6,2)", "decimal(6,3)", "CAST_OVERFLOW_IN_TABLE_INSERT"),
        ("double", "int", "Digits after the point are cut off."),
        ("decimal(5,2)", "bigint", "Digits after the point are cut off."),
        ("double", "decimal(38,10)", "Digits beyond the scale are rounded."),
        ("bigint", "decimal(10,0)", "CAST_OVERFLOW_IN_TABLE_INSERT."),
        ("int", "float", "near to it"),
        ("bigint", "double", "near to it"),
        ("double", "float", "near to it"),
        ("decimal(10,2)", "double", "near to it"),
        ("int", "bigint", "Every value fits."),
        ("int", "double", "Every value fits."),
        ("smallint", "float", "Every value fits."),
        ("float", "double", "Every value fits."),
        ("bigint", "decimal(20,1)", "Every value fits."),
        ("decimal(6,2)", "decimal(8,4)", "Every value fits."),
        ("date", "timestamp", "midnight"),
        ("timestamp", "date", "time of day"),
        ("timestamp", "timestamp_ntz", "session’s"),
        ("array<string>", "array<int>", "c.element: string → int"),
        ("map<string,string>", "map<string,int>", "c.value: string → int"),
        ("map<int,string>", "map<string,string>", "c.key: int → string"),
        ("struct<x: string>", "struct<x: int>", "c.x: string → int"),
        ("struct<X: array<struct<Y: string>>>", "struct<x: array<struct<y: int>>>", "c.x.element.y: string → int"),
    ],
)
def test_a_cast(source, table, words):
    found = notes(f"c {source}", target(f"c {table}"))
    assert set(found) == {"implicit_cast"}
    assert words in found["implicit_cast"]


def test_how_a_cast_is_told():
    found = notes("price string", target("Price decimal(10,2)"))["implicit_cast"]
    assert found.startswith(
        "Price: string → decimal(10,2): values are cast as they are written. A text that is no number fails"
    )


@pytest.mark.parametrize(
    ("source", "table"),
    [
        ("string", "boolean"), ("boolean", "int"), ("int", "boolean"), ("int", "date"), ("timestamp", "bigint"), ("bigint", "timestamp"),
        ("binary", "int"), ("struct<a: int>", "string"), ("string", "struct<a: int>"), ("array<int>", "string"), ("int", "array<int>"),
        ("array<boolean>", "array<int>"), ("struct<x: boolean>", "struct<x: int>"), ("map<string,int>", "array<int>"),
        ("boolean", "binary"), ("date", "int"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("options", [{}, MERGE, OVERWRITE])
def test_types_that_do_not_go_together(source, table, options):
    found = told(f"c {source}", target(f"c {table}"), options=options)
    assert [refusal.code for refusal in found.refusals] == [CLASH]
    assert "step “cast”" in (found.refusals[0].remedy or "")


def test_nothing_is_cast_to_variant():
    assert refused("c string", target('c date / "variant"')) == [CLASH]
    assert told('c date / "variant"', target('c date / "variant"')) == StreamPrediction("appends")


def test_a_type_that_is_not_known_is_left_to_delta():
    for source, table in (("c int", 'c date / "geometry"'), ('c date / "interval day"', "c string")):
        assert "Delta decides when the batch runs" in notes(source, target(table))["type_unsure"]


def test_the_same_types_need_nothing():
    ddl = "a int, b decimal(5,2), c array<struct<x: map<string,date>>>, d timestamp_ntz"
    assert told(ddl.upper(), target(ddl)) == StreamPrediction("appends")
    assert told("c struct<y: int, x: int>", target("c struct<x: int, y: int>")) == StreamPrediction("appends")


@pytest.mark.parametrize(
    ("source", "table", "options", "configuration", "code"),
    [
        ("bigint", "int", MERGE, WIDENING, "may_widen"),
        ("date", "timestamp_ntz", MERGE, WIDENING, "may_widen"),
        ("bigint", "int", {}, WIDENING, "implicit_cast"),
        ("bigint", "int", MERGE, {}, "implicit_cast"),
        ("int", "bigint", MERGE, WIDENING, "implicit_cast"),
        ("string", "int", MERGE, WIDENING, "implicit_cast"),
    ],
)
def test_type_widening(source, table, options, configuration, code):
    found = notes(f"c {source}", target(f"c {table}", configuration=configuration), options=options)
    assert set(found) == {code}


# Columns that the table doesn't have


@pytest.mark.parametrize(
    ("ddl", "table", "place"),
    [
        ("a int, b int", "a int", "b"),
        ("s struct<x: int, y: int>", "s struct<x: int>", "s.y"),
        ("s array<struct<x: int, y: int>>", "s array<struct<x: int>>", "s.element.y"),
    ],
)
def test_new_columns(ddl, table, place):
    for options in ({}, OVERWRITE):
        found = told(ddl, target(table), options=options)
        assert [(refusal.code, refusal.place) for refusal in found.refusals] == [(MISMATCH, place)]
        assert "mergeSchema" in (found.refusals[0].remedy or "")
        assert "overwriteSchema" not in (found.refusals[0].remedy or "")
    assert place in notes(ddl, target(table), options=MERGE)["columns_added"]


def test_new_columns_in_complete_mode():
    found = told("a int", target("a int"), mode="complete", steps=COUNT)
    assert [refusal.code for refusal in found.refusals] == [MISMATCH]
    assert "overwriteSchema" in (found.refusals[0].remedy or "")
    assert set(notes("a int", target("a int"), mode="complete", steps=COUNT, options=MERGE)) == {"columns_added"}


@pytest.mark.parametrize(
    ("ddl", "configuration", "codes"),
    [
        ("a int, `b c` int", {}, ["DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"]),
        ("a int, b struct<`c d`: int>", {}, ["DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"]),
        ("a int, s struct<x: int, `y z`: int>", {}, ["DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"]),
        ("a int, `b c` int", MAPPED, []),
        ("a int, _change_type string", {}, []),
        ("a int, _change_type string", CHANGE_FEED, ["RESERVED_CDC_COLUMNS_ON_WRITE"]),
        ("a int, _commit_version int, _commit_timestamp int", CHANGE_FEED, ["RESERVED_CDC_COLUMNS_ON_WRITE"]),
        ("a int, _Change_Type string", CHANGE_FEED, []),
        ("a int, s struct<x: int, _change_type: int>", CHANGE_FEED, []),
    ],
)
def test_names_of_new_columns(ddl, configuration, codes):
    table = target("a int, s struct<x: int>", configuration=configuration)
    assert refused(ddl, table, options=MERGE) == codes


@pytest.mark.parametrize(
    ("ddl", "configuration", "codes"),
    [
        ("a int", {}, []),
        ("a int, `b c` int", {}, []),
        ("a int, d int", {}, ["DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"]),
        ("a int, d int", MAPPED, []),
    ],
)
def test_a_table_that_has_such_a_name_already_takes_rows_and_no_new_column(ddl, configuration, codes):
    assert refused(ddl, target("a int, `b c` int", configuration=configuration), options=MERGE) == codes


NTZ = "DELTA_FEATURES_REQUIRE_MANUAL_ENABLEMENT"


@pytest.mark.parametrize(
    ("table", "codes", "note"),
    [
        (target("a int", features=("appendOnly",)), [NTZ], False),
        (target("a int", features=()), [NTZ], False),
        (target("a int", features=("timestampNtz",)), [], False),
        (target("a int, b timestamp_ntz", features=None), [], False),
        (target("a int, b timestamp_ntz", features=()), [NTZ], False),
        (target("a int"), [], True),
    ],
)
def test_a_new_column_that_takes_a_feature(table, codes, note):
    found = told("a int, t array<timestamp_ntz>", table, options=MERGE)
    assert [refusal.code for refusal in found.refusals] == codes
    assert any(item.code == "needs_feature" for item in found.notes) == note


def test_a_cast_to_a_feature_that_is_there_takes_nothing():
    assert set(notes("b string", target("b timestamp_ntz", features=("timestampNtz",)))) == {"implicit_cast"}


# Columns that the batch doesn't have


@pytest.mark.parametrize(
    ("table", "codes", "told_notes"),
    [
        (target("a int, b string"), [], {"filled_with_null"}),
        (target("a int, b string, c int"), [], {"filled_with_null"}),
        (target("a int, b string not null"), ["DELTA_MISSING_NOT_NULL_COLUMN_VALUE"], set()),
        (target("a int, s struct<x: int> not null"), ["DELTA_MISSING_NOT_NULL_COLUMN_VALUE"], set()),
        (target("a int, s struct<x: int not null>"), ["DELTA_MISSING_NOT_NULL_COLUMN_VALUE"], set()),
        (target("a int, b string", b=DEFAULT), [], {"filled_with_default"}),
        (target("a int, b string not null", b=DEFAULT), [], {"filled_with_default"}),
        (target("a int, b string", "b", b=DEFAULT), [], {"filled_with_default"}),
        (target("a int, b string", "B"), ["DELTA_PARTITION_COLUMN_NOT_FOUND"], set()),
        (target("a int, b int", b=GENERATED), [], {"generated_computed"}),
        (target("a int, b int not null", b=GENERATED), [], {"generated_computed"}),
        (target("a int, b int", "b", b=GENERATED), [], {"generated_computed"}),
        (target("a int, b bigint", b=IDENTITY), [], {"identity_computed"}),
        (target("a int, b bigint not null", b=BY_DEFAULT), [], {"identity_computed"}),
    ],
)
def test_columns_that_are_missing(table, codes, told_notes):
    found = told("a int", table)
    assert [refusal.code for refusal in found.refusals] == codes
    assert {note.code for note in found.notes} == told_notes


def test_fields_of_a_struct_that_are_missing():
    assert "s.y" in notes("s struct<x: int>", target("s struct<x: int, y: int>"))["filled_with_null"]
    found = told("s struct<x: int>", target("s struct<x: int, y: int not null>"))
    assert [(item.code, item.place) for item in found.refusals] == [("DELTA_MISSING_NOT_NULL_COLUMN_VALUE", "s.y")]
    assert told("s array<struct<x: int>>", target("s array<struct<x: int, y: int>>")) == StreamPrediction("appends")


def test_a_generated_column_without_what_it_is_made_of():
    found = notes("c int", target("a int, c int, g int", g=GENERATED))
    assert set(found) == {"generated_unsure", "filled_with_null"}
    assert "doesn’t have a: Delta decides" in found["generated_unsure"]


# Values that Delta checks


def test_identity_columns():
    explicit = "DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED"
    assert refused("a int, I bigint", target("a int, i bigint", i=IDENTITY)) == [explicit]
    assert set(notes("a int, i bigint", target("a int, i bigint", i=BY_DEFAULT))) == {"identity_given"}
    for table in (target("i bigint", i=IDENTITY), target("a bigint", a=BY_DEFAULT)):  # it goes with the schema
        assert [note.code for note in overwriting(table).notes] == ["schema_replaced"]
    table = target("a bigint", a=IDENTITY)
    assert refused("a int", table, mode="complete", steps=COUNT, options=OVERWRITE) == [explicit]


def test_values_that_are_checked():
    table = target(
        "a int not null, g int, v string", g=GENERATED, v={"__CHAR_VARCHAR_TYPE_STRING": "varchar(2)"},
        configuration={"delta.constraints.positive": "a > 0", "delta.constraints.even": "a % 2 = 0"},
    )  # fmt: skip
    found = notes("a int, g int, v string", table)
    assert set(found) == {"generated_checked", "length_checked", "not_null_checked", "check_constraints"}
    assert "even, positive" in found["check_constraints"]
    assert "varchar(2)" in found["length_checked"]
    assert set(notes("a int", table)) >= {"generated_computed", "filled_with_null"}


# Partition columns


@pytest.mark.parametrize(
    ("partition_by", "partitions", "options", "codes"),
    [
        (("a",), ("p",), {}, [MISMATCH]),
        (("a",), ("p",), MERGE, [MISMATCH]),
        (("a",), (), {}, [MISMATCH]),
        (("a", "p"), ("p", "a"), {}, [MISMATCH]),
        (("p",), ("p",), {}, []),
        (("P",), ("p",), {}, []),
        (("p",), ("P",), {}, []),
        ((), ("p",), {}, []),
    ],
)
def test_partitioning(partition_by, partitions, options, codes):
    found = told(
        "a int, P string, b int",
        target("a int, p string, b int", *partitions),
        partition_by=partition_by,
        options=options,
    )
    assert [refusal.code for refusal in found.refusals] == codes
    assert all(refusal.place == "partition_by" for refusal in found.refusals)


def test_partitioning_by_a_column_that_is_missing():
    assert refused("a int", target("a int, p string", "p"), partition_by=("p",))[0] == "partition_column_unknown"


def test_spark_looks_at_mode_and_partition_columns_before_delta_looks_at_types():
    codes = refused('a int, b date / "void"', mode="complete", partition_by=("zz",))
    assert codes == [OUTPUT_MODE, "partition_column_unknown", "DELTA_NULL_SCHEMA_IN_STREAMING_WRITE"]


def test_with_another_partitioning_no_column_is_said_to_be_added():
    found = told("a int, b int", target("a int, c int", "c"), partition_by=("a",), options=MERGE)
    assert "columns_added" not in {note.code for note in found.notes}


# Complete


APPEND_ONLY = {"delta.appendOnly": "TRUE"}


@pytest.mark.parametrize("options", [{}, OVERWRITE])
def test_an_append_only_table(options):
    table = target("a int, `count` bigint", configuration=APPEND_ONLY)
    assert refused("a int", table, mode="complete", steps=COUNT, options=options) == ["DELTA_CANNOT_MODIFY_APPEND_ONLY"]
    assert told("a int", target("a int", configuration=APPEND_ONLY), options=options).outcome == "appends"


def overwriting(table, partition_by=(), ddl="a int", steps=COUNT):
    return told(ddl, table, mode="complete", steps=steps, options=OVERWRITE, partition_by=partition_by)


def test_a_schema_that_is_replaced():
    found = overwriting(target("a string, `count` int, z boolean not null"))
    assert found.outcome == "replaces"
    (note,) = found.notes
    assert note.code == "schema_replaced"
    assert note.text.endswith("Gone: z.")
    assert overwriting(target("z int")).notes[0].text.endswith("Gone: z. New: a, count.")


def test_the_same_schema_is_not_replaced():
    assert overwriting(target("a int, `count` bigint")) == StreamPrediction("replaces")
    for table in (
        target("a int not null, `count` bigint"),
        target("`count` bigint, a int"),
        target("a int, `count` bigint", a=GENERATED),
    ):
        assert [note.code for note in overwriting(table).notes] == ["schema_replaced"]


@pytest.mark.parametrize(
    ("partitions", "partition_by", "words"),
    [
        (("a",), (), "by a now and not at all after"),
        ((), ("A",), "not at all now and by a after"),
        (("count",), ("a",), "by count now and by a after"),
    ],
)
def test_partitioning_is_replaced_too(partitions, partition_by, words):
    (note,) = overwriting(target("a int, `count` bigint", *partitions), partition_by).notes
    assert note.code == "partitioning_replaced"
    assert words in note.text


def test_partitioning_that_stays():
    assert overwriting(target("a int, `count` bigint", "a"), ("A",)) == StreamPrediction("replaces")


@pytest.mark.parametrize(
    ("ddl", "configuration", "partition_by", "code"),
    [
        ("a int", {}, ("a", "count"), "DELTA_CANNOT_USE_ALL_COLUMNS_FOR_PARTITION"),
        ("a array<int>", {}, ("a",), "DELTA_INVALID_PARTITION_COLUMN_TYPE"),
        ("a struct<`x y`: int>", {}, (), "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES"),
        ("a timestamp_ntz", {}, (), NTZ),
    ],
)
def test_what_can_not_replace_a_schema(ddl, configuration, partition_by, code):
    found = overwriting(target("z int", configuration=configuration, features=()), partition_by, ddl)
    assert [refusal.code for refusal in found.refusals] == [code]


def test_reserved_names_can_not_replace_a_schema():
    steps = Steps(rename={"a": "_change_type"}, group_by=("_change_type",), count_as="count")
    found = overwriting(target("z int", configuration=CHANGE_FEED), (), steps=steps)
    assert [refusal.code for refusal in found.refusals] == ["RESERVED_CDC_COLUMNS_ON_WRITE"]
    mapped = overwriting(target("z int", configuration=MAPPED), (), "a struct<`x y`: int>")
    assert mapped.refusals == ()


def test_constraints_and_clustering_outlast_a_schema():
    table = target("a int, z int", configuration={"delta.constraints.c": "z > 0"}, features=("clustering",))
    assert {note.code for note in overwriting(table).notes} == {"schema_replaced", "clustering", "check_constraints"}


# The rest


def test_overwrite_schema_in_append_mode_is_said_to_do_nothing():
    assert set(notes("a int", target("a int"), options=OVERWRITE)) == {"overwrite_schema_ignored"}
    assert notes("a int", target("a int"), options={"overwriteSchema": "false"}) == {}


def test_a_stream_that_reads_its_own_target():
    found = notes("a int", target("a int"), source=TableSource("1", "/t", "x"))
    assert set(found) == {"reads_itself"}
    assert notes("a int", target("a int"), source=TableSource("1", "/other", "x")) == {}


def test_several_reasons_are_all_told():
    codes = refused(
        "a string, b int, i bigint", target("a boolean, i bigint, n int not null", "n", i=IDENTITY), partition_by=("b",)
    )
    assert codes == [
        "DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED", CLASH, MISMATCH, MISMATCH, "DELTA_PARTITION_COLUMN_NOT_FOUND",
    ]  # fmt: skip


def test_many_names_are_cut():
    found = notes("a int", target("a int, " + ", ".join(f"c{n} int" for n in range(1025))))["filled_with_null"]
    assert "c19 and 1,005 more: the new rows" in found


def test_it_can_be_stored():
    prediction = StreamPrediction("refused", (Refusal("X", "why", "here", "do"),), (StreamNote("n", "text"),))
    assert json.loads(json.dumps(prediction.as_json())) == {
        "outcome": "refused",
        "refusals": [{"code": "X", "message": "why", "place": "here", "remedy": "do", "engine": None}],
        "notes": [{"code": "n", "text": "text"}],
    }


LISTED = {"delta.dataSkippingStatsColumns": "a, gone"}


@pytest.mark.parametrize(
    ("ddl", "table", "changes"),
    [
        ("a int, c int", target("a int", configuration=LISTED), {"options": MERGE}),
        ("a int, c int", target("a int, b int", configuration=LISTED), {"mode": "complete", "options": OVERWRITE}),
        ("a int", target("a int, i bigint", configuration=LISTED, i=IDENTITY), {}),
    ],
)
def test_a_list_of_columns_that_does_not_fit_refuses_what_changes_the_schema(ddl, table, changes):
    found = told(ddl, table, **changes)
    assert "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA" in [refusal.code for refusal in found.refusals]


@pytest.mark.parametrize(
    ("ddl", "listed", "options"),
    [("a int", "a, gone", {}), ("a int, gone int", "a, gone", MERGE), ("a int, c int", "a b", MERGE)],
)
def test_it_refuses_no_batch_that_leaves_the_schema_or_makes_it_fit(ddl, listed, options):
    table = target("a int", configuration={"delta.dataSkippingStatsColumns": listed})
    assert refused(ddl, table, options=options) == []


@pytest.mark.parametrize(
    ("ddl", "table", "changes"),
    [
        ("a int, c int", target('a int, b date / "time(6)"'), {"options": MERGE}),
        ("a int, c int", target('a int, b date / "interval day"'), {"options": MERGE}),
        ('a int, b date / "interval"', None, {}),
        ('a int, b date / "string collate UNICODE"', target("a int"), {"options": MERGE}),
        ('a date / "interval day"', target("b int"), {"mode": "complete", "options": OVERWRITE}),
    ],
)
def test_a_type_that_delta_keeps_in_no_metadata_refuses_what_commits_some(ddl, table, changes):
    assert "DELTA_UNSUPPORTED_DATA_TYPES" in refused(ddl, table, **changes)


def test_such_a_type_of_the_table_lets_rows_in_that_leave_it_out():
    assert refused("a int", target('a int, b date / "time(6)"')) == []
