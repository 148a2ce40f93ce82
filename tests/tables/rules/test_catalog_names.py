"""Names of Levee's own catalog and what an entry declares: Spark's rules, and nothing else of the text gets through."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.domain.errors import CommandRefused
from jobs.engine.catalog import name_parts, plain_type
from tables.rules.catalog_names import CatalogEntry, InvalidEntry, InvalidName, canonical_name, declared


def column(name="id", kind="long", **more):
    return {"name": name, "type": kind, "nullable": False, "metadata": {}} | more


def struct(*columns):
    return {"type": "struct", "fields": list(columns)}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("shop.orders", "shop.orders"),
        ("Shop.ORDERS", "shop.orders"),
        ("orders", "default.orders"),
        ("spark_catalog.shop.orders", "shop.orders"),
        ("Spark_Catalog.shop.1_a", "shop.1_a"),
        ("a" * 128 + ".t", "a" * 128 + ".t"),
    ],
)
def test_a_name_has_one_spelling(text, name):
    assert canonical_name(text) == name
    assert canonical_name(name) == name


@pytest.mark.parametrize(
    "text",
    ["", ".", "a.", ".a", "a.b.c", "a b.c", "`a`.b", "a-b.c", "größe.t", "a.b;", "a\n.b", "a.b\n", "a" * 129,
     "parquet.t", "Delta.t", "global_temp.t", "other_catalog.a.b"],
)  # fmt: skip
def test_what_is_no_name_is_refused(text):
    with pytest.raises(InvalidName):
        canonical_name(text)


@given(st.text(alphabet="aZ09_.`ß ", max_size=8) | st.from_regex(r"\A[a-z]{1,3}(\.[A-Z0-9_]{1,3}){0,2}\Z"))
def test_the_engine_reads_every_name_that_the_catalog_takes(text):
    try:
        name = canonical_name(text)
    except InvalidName:
        with pytest.raises(CommandRefused):
            name_parts(text)
    else:
        assert ".".join(name_parts(text)) == name


def test_nothing_declared_is_nothing_kept():
    assert declared(None, None) == declared(None, []) == CatalogEntry(None, ())
    assert declared(None, None).as_json() is None


def test_a_declaration_is_put_together_again():
    hostile = {"CURRENT_DEFAULT": "(SELECT 1)", "comment": "it's", "delta.columnMapping.id": 4}
    nested = struct(column("x", "string", metadata=hostile))
    given = struct(
        column(metadata=hostile),
        column("p", "integer"),
        column("d", "decimal(10, 2)"),
        column("a", {"type": "array", "elementType": nested, "containsNull": False}),
        column("m", {"type": "map", "keyType": "string", "valueType": nested, "valueContainsNull": False}),
    )
    before = copy.deepcopy(given)
    entry = declared(given, ["P"])
    assert given == before
    assert entry.partition_columns == ("p",)
    assert entry.schema is not None
    assert entry.schema["fields"][0] == {
        "name": "id",
        "type": "long",
        "nullable": True,
        "metadata": {"comment": "it's"},
    }
    assert entry.schema["fields"][2]["type"] == "decimal(10,2)"
    assert "CURRENT_DEFAULT" not in str(entry.schema)
    assert plain_type(entry.schema) == entry.schema, "the engine finds nothing more to take away"
    assert declared(entry.schema, entry.partition_columns) == entry


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "array"},
        struct(),
        struct("id long"),
        struct({"type": "long"}),
        struct(column("")),
        struct(column("a\x00b")),
        struct(column("\ud800")),
        struct(column("a b")),
        struct(column("a" * 256)),
        struct(column("id", "bigint")),
        struct(column("id", "decimal(39,0)")),
        struct(column("id", "decimal(3,4)")),
        struct(column("id", "long) USING json --")),
        struct(column("id", {"type": "udt", "class": "java.lang.Runtime", "sqlType": "long"})),
        struct(column("id", ["long"])),
        struct(column("id"), column("ID")),
        struct(column("s", struct(column("x"), column("X")))),
        struct(column("a", {"type": "array", "elementType": struct(column("x"), column("x"))})),
    ],
)
def test_a_schema_that_spark_would_not_take_is_refused(schema):
    with pytest.raises(InvalidEntry) as caught:
        declared(schema, None)
    assert caught.value.field == "schema"


def test_a_schema_of_any_depth_ends():
    kind: object = "long"
    for _ in range(2_000):
        kind = {"type": "array", "elementType": kind, "containsNull": True}
    with pytest.raises(InvalidEntry):
        declared(struct(column("a", kind)), None)


@pytest.mark.parametrize("names", [["q"], ["p", "P"], ["id", "p", "b"], ["b"], ["a"]])
def test_partition_columns_are_columns_that_a_directory_can_tell(names):
    schema = struct(column(), column("p"), column("b", "binary"), column("a", struct(column())))
    with pytest.raises(InvalidEntry) as caught:
        declared(schema, names)
    assert caught.value.field == "partition_columns"


def test_partition_columns_alone_are_refused_as_spark_does():
    with pytest.raises(InvalidEntry) as caught:
        declared(None, ["p"])
    assert (caught.value.condition, caught.value.sqlstate) == ("SPECIFY_PARTITION_IS_NOT_ALLOWED", "42601")


def test_a_column_must_be_left():
    with pytest.raises(InvalidEntry) as caught:
        declared(struct(column()), ["id"])
    assert caught.value.condition == "ALL_PARTITION_COLUMNS_NOT_ALLOWED"
